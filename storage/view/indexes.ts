/**
 * Brings list rows and counts in line with the present machines: once, at the first start of a version whose machines
 * list their entities differently. Nothing else may use the view meanwhile. Every row is written as an absolute value,
 * and the versions are noted only at the end: if killed half way, the next start does it again.
 */
import { CorruptRow } from '../checked-text.ts'
import { type Key, LAST_PART, type ReadTransaction, type ViewTables } from '../environments.ts'
import type { LastingLists } from '../journal.ts'
import { paced } from '../paced.ts'
import { termKey } from './view.ts'

/** Key in the marker's table. */
export const NOTE = 'indexes'
const ROWS_PER_COMMIT_MAX = 5_000

type TermsOf = Parameters<LastingLists['rebuild']>[1]

export class Indexes implements LastingLists {
  readonly #view: ViewTables

  constructor(view: ViewTables) {
    this.#view = view
  }

  /**
   * The machine version, by kind, that produced the rows. Empty if it was never noted or cannot be read: the next
   * start then rebuilds them all.
   */
  versions(reading: { readonly transaction?: ReadTransaction } = {}): Readonly<Record<string, number>> {
    try {
      return JSON.parse(this.#view.marker.get(NOTE, reading) ?? '{}')
    } catch (error) {
      if (error instanceof CorruptRow || error instanceof SyntaxError) return {}
      throw error
    }
  }

  note(versions: Readonly<Record<string, number>>): Promise<void> {
    return this.#view.env.commit(() => {
      this.#view.marker.put(NOTE, JSON.stringify(versions))
    })
  }

  async rebuild(kind: string, termsOf: TermsOf): Promise<number> {
    const { wanted, added } = await this.#addMissing(kind, termsOf)
    const rows = this.#view.entities.getKeysCount(ofKind(kind))
    const removed = rows === wanted ? 0 : await this.#removeWrong(kind, termsOf)
    await this.#recount(kind)
    return added + removed
  }

  async #addMissing(kind: string, termsOf: TermsOf): Promise<{ wanted: number; added: number }> {
    const { snapshots, entities } = this.#view
    let wanted = 0
    const missing = new Writes(this.#view, (key) => entities.put(key, ''))
    for await (const { key, value } of paced(snapshots.getRange(ofKind(kind)))) {
      for (const term of termsOf(value) ?? []) {
        const row = termKey(kind, term, key[1] as string)
        wanted += 1
        if (!entities.doesExist(row)) await missing.add(row)
      }
    }
    return { wanted, added: await missing.end() }
  }

  async #removeWrong(kind: string, termsOf: TermsOf): Promise<number> {
    const { snapshots, entities } = this.#view
    const wrong = new Writes(this.#view, (key) => entities.remove(key))
    for await (const row of paced(entities.getKeys(ofKind(kind)))) {
      const id = row[4] as string
      const record = snapshots.get([kind, id])
      const terms = record === undefined ? [] : termsOf(record)
      if (terms === undefined || terms.some((term) => isSame(termKey(kind, term, id), row))) continue
      await wrong.add(row)
    }
    return wrong.end()
  }

  async #recount(kind: string): Promise<void> {
    const { entities, counts } = this.#view
    const found = new Map<string, { key: Key; rows: number }>()
    for await (const [, index, value] of paced(entities.getKeys(ofKind(kind)))) {
      const key: Key = [kind, index!, value!]
      const name = JSON.stringify(key)
      const count = found.get(name)
      if (count === undefined) found.set(name, { key, rows: 1 })
      else count.rows += 1
    }
    const stale: Key[] = []
    for (const key of counts.getKeys(ofKind(kind))) if (!found.has(JSON.stringify(key))) stale.push(key)
    await this.#view.env.commit(() => {
      for (const key of stale) counts.remove(key)
      for (const { key, rows } of found.values()) counts.put(key, String(rows))
    })
  }
}

/** Writes some thousand rows per commit. */
class Writes {
  readonly #view: ViewTables
  readonly #write: (key: Key) => unknown
  #keys: Key[] = []
  #count = 0

  constructor(view: ViewTables, write: (key: Key) => unknown) {
    this.#view = view
    this.#write = write
  }

  async add(key: Key): Promise<void> {
    this.#keys.push(key)
    if (this.#keys.length >= ROWS_PER_COMMIT_MAX) await this.end()
  }

  /** Resolves to the number of all rows written. */
  async end(): Promise<number> {
    const keys = this.#keys
    this.#keys = []
    this.#count += keys.length
    if (keys.length > 0) {
      await this.#view.env.commit(() => {
        for (const key of keys) this.#write(key)
      })
    }
    return this.#count
  }
}

function ofKind(kind: string): { start: Key; end: Key } {
  return { start: [kind], end: [kind, LAST_PART] }
}

function isSame(one: Key, other: Key): boolean {
  return one.length === other.length && one.every((part, i) => part === other[i])
}
