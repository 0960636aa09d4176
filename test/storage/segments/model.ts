/** What a log must hold, in memory, and small random transactions that change both. */
import type { AppendedTable, LogTables, Range, ReadTransaction } from '../../../storage/environments.ts'
import type { Random } from '../../random.ts'

export const NAMES = ['events', 'redo'] as const
export type Name = (typeof NAMES)[number]

export interface Content {
  readonly events: readonly (readonly [key: number, text: string])[]
  readonly redo: readonly (readonly [key: number, text: string])[]
  readonly head: Readonly<Record<string, string>>
}

/** Every name under which `transact` puts a text. */
const HEAD_NAMES = ['last', 'floor', 'größe']
const TEXTS = ['', 'x', 'ä€😀', `long ${'y'.repeat(300)}`, `${'ü'.repeat(40)}\n${'z'.repeat(50)}`]

export class Model {
  readonly events = new Map<number, string>()
  readonly redo = new Map<number, string>()
  readonly head: Record<string, string> = {}
  readonly last = { events: 0, redo: 0 }

  content(): Content {
    const names = HEAD_NAMES.filter((name) => name in this.head)
    const head = Object.fromEntries(names.map((name) => [name, this.head[name]!]))
    return { events: [...this.events], redo: [...this.redo], head }
  }
}

/** The whole content, by each way of reading consecutive rows. Throws what a read throws. */
export function contentOf({ events, redo, head }: LogTables, transaction?: ReadTransaction): Content {
  const reading = transaction === undefined ? {} : { transaction }
  const texts = HEAD_NAMES.map((name) => [name, head.get(name, reading)] as const)
  return {
    events: rowsOf(events, reading),
    redo: rowsOf(redo, reading),
    head: Object.fromEntries(texts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
  }
}

function rowsOf(table: AppendedTable, range: Range<number>): [number, string][] {
  return [...table.getRange(range)].map(({ key, value }) => [key, value])
}

/** Applies one transaction of up to three rows of each kind to both. Each puts another text into the head. */
export function transact(random: Random, tables: LogTables, model: Model): void {
  const rows = NAMES.flatMap((name) =>
    Array.from({ length: random.below(4) }, () => {
      model.last[name] += 1 + random.below(3)
      return { name, key: model.last[name], text: `${model.last[name]} ${random.pick(TEXTS)}` }
    }),
  )
  const removals = NAMES.filter(() => random.chance(0.2)).map((name) => {
    const first = model[name].keys().next().value ?? model.last[name]
    return { name, before: first + random.below(model.last[name] - first + 2) }
  })
  const heads = HEAD_NAMES.filter((name) => name === 'last' || random.chance(0.3)).map(
    (name) => [name, `${name} ${random.next()}`] as const,
  )
  tables.env.transactionSync(() => {
    for (const { name, key, text } of rows) tables[name].append(key, [text])
    for (const [name, text] of heads) tables.head.put(name, text)
    for (const { name, before } of removals) tables[name].removeBefore(before)
  })
  for (const { name, key, text } of rows) model[name].set(key, text)
  for (const { name, before } of removals)
    for (const key of model[name].keys()) if (key < before) model[name].delete(key)
  for (const [name, text] of heads) model.head[name] = text
}

/** A random range, with keys that exist and keys that do not. */
export function someRange(random: Random, last: number): Range<number> {
  const key = () => random.below(last + 3)
  return {
    ...(random.chance(0.7) && { start: key() }),
    ...(random.chance(0.4) && { end: key() }),
    ...(random.chance(0.4) && { limit: random.below(4) }),
    ...(random.chance(0.5) && { reverse: true }),
  }
}

/** The rows that are in this range. */
export function inRange(rows: Content['events'], { start, end, limit, reverse }: Range<number>): Content['events'] {
  const ordered = reverse === true ? [...rows].reverse() : rows
  const isIn = (key: number) =>
    reverse === true
      ? (start === undefined || key <= start) && (end === undefined || key > end)
      : (start === undefined || key >= start) && (end === undefined || key < end)
  return ordered.filter(([key]) => isIn(key)).slice(0, limit)
}
