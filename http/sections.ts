/**
 * A list made of several index ranges, one after the other: most urgent first, or everything found under any of several
 * values. It pages like every other list, bounded in rows and in characters. Its cursor holds the section to go on in
 * and the time of the first page: without that time, an entity that the clock alone moves from one section to another
 * could be on no page, or on two.
 */

import type { ActorKind } from '../machines/machine.ts'
import type { ListResult, ListRow, SnapshotOf } from '../runtime/api.ts'
import type { FindRows } from '../runtime/collections/newest.ts'
import { listCharsPerPageMax, listRowsPerTurnMax } from '../runtime/limits.ts'
import { readable } from '../runtime/reader.ts'
import { turn } from '../storage/platform.ts'
import { utcNow } from './clock.ts'
import {
  decodeListCursor,
  encodeListCursor,
  LIST_LIMIT_DEFAULT,
  listName,
  lookingAhead,
  nextLink,
  refuseCursor,
} from './lists.ts'
import { markCursor } from './replies.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

export type Section = IndexSection | MemorySection | GivenSection

interface Named {
  /** Names the section in the cursor: without `|`, unique in the list. */
  readonly name: string
  readonly kind: ActorKind
  readonly document: (snapshot: SnapshotOf<any>) => object
}

export interface IndexSection extends Named {
  readonly index: string
  readonly value: string | readonly string[]
  /** Only rows whose order is below `below` and not below `downTo`. */
  readonly below?: string
  readonly downTo?: string
  readonly matches?: (snapshot: SnapshotOf<any>) => boolean
}

/**
 * A section that no index holds because it depends on the current moment: found in memory; only the rows of the page
 * are read.
 */
interface MemorySection extends Named {
  readonly find: FindRows
}

/** A few items that belong to no entity: all of them are on one page. */
export interface GivenSection {
  /** As of the other sections. */
  readonly name: string
  readonly items: readonly object[]
}

/** The sections of a list at a moment (UTC, milliseconds). */
type SectionsAt = (at: string) => readonly Section[]

interface Place {
  readonly section: Section
  readonly after?: ListRow
}

/** Reads a page of the sections, in their order, and answers it. */
export function answerSections(service: ServiceContext, exchange: Exchange, sectionsAt: SectionsAt): void {
  exchange.await(page(service, exchange, sectionsAt))
}

async function page(service: ServiceContext, exchange: Exchange, sectionsAt: SectionsAt): Promise<void> {
  const { cursor, limit = LIST_LIMIT_DEFAULT } = exchange.query
  const list = listName(exchange)
  const mark = cursor === undefined ? undefined : markOf(list, cursor)
  const at = mark?.at ?? utcNow(service)
  const sections = sectionsAt(at)
  let place = cursor === undefined ? first(sections) : placeOf(sections, mark)
  if (cursor !== undefined && place === undefined) return refuseCursor(exchange)
  const items = new Items(limit)
  let sequence: number | undefined
  while (place !== undefined && items.room > 0) {
    const { section }: Place = place
    const found: Found = await read(service, exchange, place, items)
    sequence ??= found.sequence
    if (found.next !== undefined) {
      // A page cut short by a bound on what is read or answered is answered short.
      place = { section, after: found.next }
      break
    }
    const following: Section | undefined = sections[sections.indexOf(section) + 1]
    place = following === undefined ? undefined : { section: following }
  }
  if (exchange.done) return
  markCursor(service, exchange, sequence)
  if (place === undefined) return exchange.answer(200, items.page())
  const next_cursor = cursorOf(list, at, place)
  exchange.setHeader('Link', nextLink(exchange, next_cursor)).answer(200, items.page(next_cursor))
}

/** What a section has put on the page: where to go on in it, if rows are left. */
type Found = Pick<ListResult, 'next' | 'sequence'>

/** The items of a page as JSON texts, so that their total length is known as they are added. */
class Items {
  readonly #limit: number
  readonly #texts: string[] = []
  #chars = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many more items the page takes. */
  get room(): number {
    return this.#chars < listCharsPerPageMax ? this.#limit - this.#texts.length : 0
  }

  add(item: object): void {
    const text = JSON.stringify(item)
    this.#texts.push(text)
    this.#chars += text.length
  }

  page(next_cursor?: string): string {
    const next = next_cursor === undefined ? '' : `,"next_cursor":${JSON.stringify(next_cursor)}`
    return `{"items":[${this.#texts.join(',')}]${next}}`
  }
}

function first(sections: readonly Section[]): Place | undefined {
  const section = sections[0]
  return section === undefined ? undefined : { section }
}

/** Adds the rows after the place to the items. */
async function read(
  service: ServiceContext,
  exchange: Exchange,
  { section, after }: Place,
  items: Items,
): Promise<Found> {
  if ('items' in section) {
    for (const item of section.items) items.add(item)
    return { sequence: service.runtime.journal.lastSequence }
  }
  if ('find' in section) return readRows(service, section, items, after)
  const { kind, index, value, below, downTo, matches } = section
  const from = after ?? (below === undefined ? undefined : { order: below, id: '' })
  const found = await service.runtime.list({
    kind,
    index,
    value,
    limit: items.room,
    ...(from === undefined ? {} : { after: from }),
    ...(downTo === undefined ? {} : { downTo }),
    ...(matches === undefined ? {} : { matches }),
    ...lookingAhead(exchange),
  })
  for (const snapshot of found.snapshots) items.add(section.document(snapshot))
  return found
}

/** Reads rows in several turns, so that other work goes on. */
async function readRows(
  { runtime }: ServiceContext,
  { kind, find, document }: MemorySection,
  items: Items,
  after?: ListRow,
): Promise<Found> {
  const sequence = runtime.journal.lastSequence
  const { rows, next } = find(items.room, after)
  for (const [n, row] of rows.entries()) {
    if (n > 0 && n % listRowsPerTurnMax === 0) await turn(runtime.platform)
    const snapshot = readable(() => runtime.read({ kind, id: row.id }))
    if (snapshot !== undefined) items.add(document(snapshot))
    if (items.room === 0 && n < rows.length - 1) return { next: row, sequence }
  }
  return next === undefined ? { sequence } : { next, sequence }
}

function cursorOf(list: string, at: string, { section, after }: Place): string {
  return encodeListCursor(list, { order: `${at}|${section.name}|${after?.order ?? ''}`, id: after?.id ?? '' })
}

/** The content of a cursor: the time of the first page, the section's name, and the row after which to go on in it. */
interface Mark {
  readonly at: string
  readonly name: string
  readonly after?: ListRow
}

const MARK = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|([^|]+)\|(.*)$/

function markOf(list: string, cursor: string): Mark | undefined {
  const row = decodeListCursor(list, cursor)
  const [, at, name, order] = MARK.exec(row?.order ?? '') ?? []
  if (row === undefined || at === undefined || Number.isNaN(Date.parse(at))) return undefined
  return { at, name: name!, ...(order === '' ? {} : { after: { order: order!, id: row.id } }) }
}

function placeOf(sections: readonly Section[], mark: Mark | undefined): Place | undefined {
  const section = sections.find(({ name }) => name === mark?.name)
  if (mark === undefined || section === undefined) return undefined
  return mark.after === undefined ? { section } : { section, after: mark.after }
}
