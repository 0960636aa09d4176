/** Projects whose work waits only because all suitable runners are away, so that somebody can start one. */
import { projectIdOf } from '../../machines/ids.ts'
import type { ListRow, SnapshotOf } from '../../runtime/api.ts'
import { type FindRows, firstOf } from '../../runtime/collections/newest.ts'
import type { Absence } from '../../runtime/dispatch/api.ts'
import type { Scheduler } from '../../runtime/scheduler/api.ts'

interface StalledProjects {
  readonly rows: FindRows
  /** Since when and why a found project is stalled. */
  moment(project: SnapshotOf<any>): Absence | undefined
}

/** Walks the ledger once. Rows are ordered by key, since the time and the work they show may change. */
export function stalledProjects({ waiting }: Scheduler, sees: (project: string) => boolean): StalledProjects {
  let walked: ReadonlyMap<string, Absence> | undefined
  const absences = (): ReadonlyMap<string, Absence> => {
    walked ??= waiting.absences(sees)
    return walked
  }
  const byKey = (a: ListRow, b: ListRow): number => (a.order < b.order ? -1 : Number(a.order > b.order))
  return {
    rows: (limit, after) => {
      const rows = [...absences().keys()].map((key) => ({ order: key, id: projectIdOf(key) }))
      const isBehind = (row: ListRow): boolean => after === undefined || byKey(row, after) > 0
      const { first, more } = firstOf(rows, byKey, limit, isBehind)
      return more ? { rows: first, next: first.at(-1)! } : { rows: first }
    },
    moment: ({ context }) => absences().get(context.key),
  }
}
