/**
 * A list made of several ranges of indexes, one behind the other: what is most pressing first, or what is found
 * under any of several values. Pages like every other list; its cursor names the section in which it goes on, and the moment
 * of the first page: what time alone moves from one section to another would be on no page, or on two.
 */

import type { ActorKind } from '../machines/machine.ts'
import type { ListResult, ListRow, SnapshotOf } from '../runtime/api.ts'
import type { FindRows } from '../runtime/collections/newest.ts'
import { readable } from '../runtime/reader.ts'
import { utcNow } from './clock.ts'
import { inTurns } from './later-turns.ts'
import { decodeListCursor, encodeListCursor, LIST_LIMIT_DEFAULT, lookingAhead, nextLink } from './lists.ts'
import { markCursor } from './replies.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

export type Section = IndexSection | MemorySection

interface Named {
  /** Names it in the cursor: without `|`, unique in the list. */
  readonly name: string
  readonly kind: ActorKind
  readonly document: (snapshot: SnapshotOf<any>) => object
}

export interface IndexSection extends Named {
  readonly index: string
  readonly value: string
  /** Only rows whose order is below this, and not below that. */
  readonly below?: string
  readonly downTo?: string
  readonly matches?: (snapshot: SnapshotOf<any>) => boolean
}

/** What stands in no index, since it is true of the moment: found in memory, and only the page is read. */
interface MemorySection extends Named {
  readonly find: FindRows
}

/** What a list consists of at a moment (UTC, milliseconds). */
type SectionsAt = (at: string) => readonly Section[]

interface Place {
  readonly section: Section
  readonly after?: ListRow
}

/** Read a page of the sections, in their order, and answer it. */
export function answerSections(service: ServiceContext, exchange: Exchange, sectionsAt: SectionsAt): void {
  exchange.await(page(service, exchange, sectionsAt))
}

async function page(service: ServiceContext, exchange: Exchange, sectionsAt: SectionsAt): Promise<void> {
  const { cursor, limit = LIST_LIMIT_DEFAULT } = exchange.query
  const mark = cursor === undefined ? undefined : markOf(cursor)
  const at = mark?.at ?? utcNow(service)
  const sections = sectionsAt(at)
  let place = cursor === undefined ? first(sections) : placeOf(sections, mark)
  if (cursor !== undefined && place === undefined) {
    return exchange.problem('invalid_cursor', 'The cursor is not one that this list answered.')
  }
  const items: object[] = []
  let sequence: number | undefined
  while (place !== undefined && items.length < limit) {
    const { section }: Place = place
    const found: ListResult = await read(service, exchange, place, limit - items.length)
    for (const snapshot of found.snapshots) items.push(section.document(snapshot))
    sequence ??= found.sequence
    if (found.next !== undefined) {
      // A page that was cut short by the bound on rows read is answered short.
      place = { section, after: found.next }
      break
    }
    const following: Section | undefined = sections[sections.indexOf(section) + 1]
    place = following === undefined ? undefined : { section: following }
  }
  if (exchange.done) return
  markCursor(service, exchange, sequence)
  if (place === undefined) return exchange.answer(200, { items })
  const next_cursor = cursorOf(at, place)
  exchange.setHeader('Link', nextLink(exchange, next_cursor)).answer(200, { items, next_cursor })
}

function first(sections: readonly Section[]): Place | undefined {
  const section = sections[0]
  return section === undefined ? undefined : { section }
}

async function read(
  service: ServiceContext,
  exchange: Exchange,
  { section, after }: Place,
  limit: number,
): Promise<ListResult> {
  if ('find' in section) return readRows(service, section, limit, after)
  const { kind, index, value, below, downTo, matches } = section
  const from = after ?? (below === undefined ? undefined : { order: below, id: '' })
  return service.runtime.list({
    kind,
    index,
    value,
    limit,
    ...(from === undefined ? {} : { after: from }),
    ...(downTo === undefined ? {} : { downTo }),
    ...(matches === undefined ? {} : { matches }),
    ...lookingAhead(exchange),
  })
}

async function readRows(
  { runtime }: ServiceContext,
  { kind, find }: MemorySection,
  limit: number,
  after?: ListRow,
): Promise<ListResult> {
  const sequence = runtime.journal.lastSequence
  const found = find(limit, after)
  const read = await inTurns(runtime.nature, found.rows, ({ id }) => readable(() => runtime.read({ kind, id })))
  const snapshots = read.filter((snapshot) => snapshot !== undefined)
  return { snapshots, sequence, ...(found.next && { next: found.next }) }
}

function cursorOf(at: string, { section, after }: Place): string {
  return encodeListCursor({ order: `${at}|${section.name}|${after?.order ?? ''}`, id: after?.id ?? '' })
}

/** What a cursor says: the moment of the first page, the section's name, and the row behind which to go on in it. */
interface Mark {
  readonly at: string
  readonly name: string
  readonly after?: ListRow
}

const MARK = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\|([^|]+)\|(.*)$/

function markOf(cursor: string): Mark | undefined {
  const row = decodeListCursor(cursor)
  const [, at, name, order] = MARK.exec(row?.order ?? '') ?? []
  if (row === undefined || at === undefined || Number.isNaN(Date.parse(at))) return undefined
  return { at, name: name!, ...(order === '' ? {} : { after: { order: order!, id: row.id } }) }
}

function placeOf(sections: readonly Section[], mark: Mark | undefined): Place | undefined {
  const section = sections.find(({ name }) => name === mark?.name)
  if (mark === undefined || section === undefined) return undefined
  return mark.after === undefined ? { section } : { section, after: mark.after }
}
