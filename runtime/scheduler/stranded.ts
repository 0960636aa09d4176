/**
 * Items that lack nothing but a runner, and perhaps their repository, and that no registered runner may take: worked
 * out when somebody reads them.
 */
import type { ListRow } from '../api.ts'
import { type FindRows, newestFirst } from '../collections/newest.ts'
import type { Entry } from './ledger.ts'
import type { Lines } from './lines.ts'

/**
 * Entries looked at per page, some two milliseconds: a page is short if most of a line also waits for a time or for
 * other items.
 */
export const strandedScanMax = 2_000

/** Questions about an entry. */
interface Standing {
  /** Whether no registered runner may take the entry's line, and nobody has stopped it. */
  isLineStranded(entry: Entry): boolean
  /** Whether nothing specific to the entry keeps it from starting either. */
  waitsForRunnerAlone(entry: Entry): boolean
}

/** Pages of the stranded entries of lines for which `isMeant` holds. The fleet is asked once per line. */
export function strandedItems(
  queued: Pick<Lines<Entry>, 'back'>,
  isMeant: (entry: Entry) => boolean,
  standing: Standing,
): FindRows {
  const isIn = (entry: Entry): boolean => isMeant(entry) && standing.isLineStranded(entry)
  return (limit, after) => {
    const isBehind = (entry: Entry): boolean => after === undefined || newestFirst(rowOf(entry), after) > 0
    const rows: ListRow[] = []
    let scanned = 0
    let last: Entry | undefined
    for (const entry of queued.back(newest, isIn, isBehind)) {
      if (scanned === strandedScanMax) return { rows, next: rowOf(last!) }
      scanned++
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
