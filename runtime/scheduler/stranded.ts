/** Items that wait for nothing but a runner, and that no registered one may take: worked out when somebody reads them. */
import type { ListRow } from '../api.ts'
import type { Stranding, Wanted } from '../dispatch/api.ts'
import { type FindRows, firstOf, newestFirst } from '../newest.ts'
import type { Entry } from './ledger.ts'
import { type Circumstances, waitsForRunnerAlone } from './rules.ts'

/** A page of those of the entries in the queue that `isMeant`. One walk; the fleet is asked once for each kind of wish. */
export function strandedItems(
  waiting: readonly Entry[],
  isMeant: (entry: Entry) => boolean,
  fleet: Pick<Stranding, 'strandedBecause'>,
  now: Circumstances,
): FindRows {
  const known = new Map<Wanted, boolean>()
  const isStranded = (entry: Entry): boolean => {
    let isWithout = known.get(entry.wanted)
    if (isWithout === undefined) {
      isWithout = fleet.strandedBecause(entry.wanted) !== undefined
      known.set(entry.wanted, isWithout)
    }
    return isWithout && waitsForRunnerAlone(entry, now)
  }
  return (limit, after) => {
    const isBehind = (entry: Entry): boolean =>
      isMeant(entry) && (after === undefined || newestFirst(rowOf(entry), after) > 0) && isStranded(entry)
    const { first, more } = firstOf(waiting, newest, limit, isBehind)
    return { rows: first.map(rowOf), more }
  }
}

function newest(a: Entry, b: Entry): number {
  return newestFirst(rowOf(a), rowOf(b))
}

function rowOf({ submittedAt, id }: Entry): ListRow {
  return { order: submittedAt, id }
}
