/** Items that wait for nothing but a runner, and that no registered one may take: worked out when somebody reads them. */
import type { ListRow } from '../api.ts'
import { type FindRows, newestFirst } from '../collections/newest.ts'
import type { Entry } from './ledger.ts'
import type { Lines } from './lines.ts'

/** Entries looked at for one page, some two milliseconds: where most of a line waits for a time or for others, a page is short. */
export const strandedLooksMax = 2_000

/** How the entries stand. */
interface Standing {
  /** Whether what is in the entry's line waits for nothing but a runner, and no registered one may take it. */
  isLineStranded(entry: Entry): boolean
  /** Whether nothing of its own keeps the entry from starting either. */
  waitsForRunnerAlone(entry: Entry): boolean
}

/** A page of those of the entries in the queue that `isMeant`, which is so of all in a line. The fleet is asked once a line. */
export function strandedItems(
  queued: Pick<Lines<Entry>, 'back'>,
  isMeant: (entry: Entry) => boolean,
  standing: Standing,
): FindRows {
  const isIn = (entry: Entry): boolean => isMeant(entry) && standing.isLineStranded(entry)
  return (limit, after) => {
    const isBehind = (entry: Entry): boolean => after === undefined || newestFirst(rowOf(entry), after) > 0
    const rows: ListRow[] = []
    let looks = 0
    let last: Entry | undefined
    for (const entry of queued.back(newest, isIn, isBehind)) {
      if (looks === strandedLooksMax) return { rows, next: rowOf(last!) }
      looks++
      last = entry
      if (!standing.waitsForRunnerAlone(entry)) continue
      if (rows.length === limit) return { rows, next: rows[limit - 1]! }
      rows.push(rowOf(entry))
    }
    return { rows }
  }
}

function newest(a: Entry, b: Entry): number {
  return newestFirst(rowOf(a), rowOf(b))
}

function rowOf({ submittedAt, id }: Entry): ListRow {
  return { order: submittedAt, id }
}
