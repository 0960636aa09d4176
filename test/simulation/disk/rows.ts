/**
 * One table of a simulated environment: rows in the order of their keys, as storage/environments.ts asks for them.
 * Every change can be taken back, and a reader that holds a transaction sees the rows as they were.
 */
import { CorruptRow } from '../../../storage/checked-text.ts'
import type { Key, Range } from '../../../storage/environments.ts'

export type AnyKey = Key | string | number

export interface Row {
  readonly key: AnyKey
  readonly value: string
}

/** A row whose bytes do not match its checksum: in tables that have one, reading it throws. */
export const TORN = '\u0000torn'

const NUMBER_DIGITS = 16
const NEGATIVE_MAX = 9e15
const END = '\uffff'

/** One text for each key, in the same order: numbers before strings, a key before those that it is a prefix of. */
export function nameOf(key: AnyKey): string {
  if (typeof key === 'string') return `s${key}`
  if (typeof key === 'number') return nameOfNumber(key)
  let name = ''
  for (const part of key) {
    name += typeof part === 'string' ? `s${part}\u0000` : typeof part === 'number' ? `${nameOfNumber(part)}\u0000` : END
  }
  return name
}

function nameOfNumber(number: number): string {
  if (number === Number.POSITIVE_INFINITY) return 'o'
  if (!Number.isSafeInteger(number) || number < -NEGATIVE_MAX)
    throw new Error(`the key ${number} is no whole number, or too small`)
  // Times before 1970.
  if (number < 0) return `m${String(NEGATIVE_MAX + number).padStart(NUMBER_DIGITS, '0')}`
  return `n${String(number).padStart(NUMBER_DIGITS, '0')}`
}

export class Rows {
  private byName: Map<string, Row>
  /** Names in order. */
  private names: string[]

  constructor(byName: Map<string, Row> = new Map(), names: string[] = []) {
    this.byName = byName
    this.names = names
  }

  get size(): number {
    return this.names.length
  }

  copy(): Rows {
    return new Rows(new Map(this.byName), this.names.slice())
  }

  has(name: string): boolean {
    return this.byName.has(name)
  }

  find(name: string): Row | undefined {
    return this.byName.get(name)
  }

  /** Puts the row, or removes it. Returns what was there. */
  set(name: string, row: Row | undefined): Row | undefined {
    const before = this.byName.get(name)
    if (row !== undefined) {
      this.byName.set(name, row)
      if (before === undefined) this.insert(name)
    } else if (before !== undefined) {
      this.byName.delete(name)
      this.names.splice(this.place(name), 1)
    }
    return before
  }

  last(): Row | undefined {
    const name = this.names.at(-1)
    return name === undefined ? undefined : this.byName.get(name)
  }

  /** The rows of a range, as they are now. */
  range<K extends AnyKey>({ start, end, limit = Number.POSITIVE_INFINITY, reverse }: Range<K>): Row[] {
    const { names, byName } = this
    const stop = end === undefined ? undefined : nameOf(end)
    const rows: Row[] = []
    if (reverse === true) {
      let at = names.length - 1
      if (start !== undefined) {
        const first = nameOf(start)
        at = this.place(first)
        if (names[at] !== first) at--
      }
      for (; at >= 0 && rows.length < limit; at--) {
        if (stop !== undefined && names[at]! <= stop) break
        rows.push(byName.get(names[at]!)!)
      }
      return rows
    }
    for (let at = start === undefined ? 0 : this.place(nameOf(start)); at < names.length && rows.length < limit; at++) {
      if (stop !== undefined && names[at]! >= stop) break
      rows.push(byName.get(names[at]!)!)
    }
    return rows
  }

  private insert(name: string): void {
    const { names } = this
    if (names.length === 0 || names.at(-1)! < name) names.push(name)
    else names.splice(this.place(name), 0, name)
  }

  /** Index of the first name that is not before this one. */
  private place(name: string): number {
    const { names } = this
    let low = 0
    let high = names.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (names[middle]! < name) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The value as storage reads it. Throws CorruptRow. */
export function textOf(row: Row | undefined): string | undefined {
  if (row?.value === TORN) throw new CorruptRow('the row does not match its checksum')
  return row?.value
}
