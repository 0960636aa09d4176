/** Projects whose work waits for nothing but runners that are all away, for whoever is to start one. */
import { projectIdOf } from '../../machines/ids.ts'
import type { ListRow, SnapshotOf } from '../../runtime/api.ts'
import { type FindRows, firstOf } from '../../runtime/collections/newest.ts'
import type { Absence } from '../../runtime/dispatch/api.ts'
import type { Scheduler } from '../../runtime/scheduler/api.ts'

interface StalledProjects {
  readonly rows: FindRows
  /** Since when, and why, of a project that was found. */
  moment(project: SnapshotOf<any>): Absence | undefined
}

/** The ledger is walked once. By key, since who was heard last changes, and of which work that is told. */
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
