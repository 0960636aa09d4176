/** Sentinels whose items fail one after the other: found out when somebody asks, since each item knows how it ended. */
import type { Failing } from '../../machines/documents/sentinel.ts'
import { isOpenItem, isSettledItem } from '../../machines/documents/work-item.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { SentinelContext } from '../../machines/sentinel/context.ts'
import { FAILED_IN_A_ROW } from '../../machines/sentinel/needs.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { Runtime } from '../api.ts'
import { readable } from '../reader.ts'

/**
 * Its last items, apart from any that is under way, if they have all ended with something left to be done; undefined if
 * they have not. An item that was closed, or forgotten, owes nothing.
 */
export function failureOf(
  runtime: Pick<Runtime, 'read'>,
  { context }: SnapshotOf<SentinelContext>,
): Failing | undefined {
  const items = (context.internal.recent ?? []).map((id): SnapshotOf<WorkItemContext> | undefined =>
    readable(() => runtime.read({ kind: 'work_item', id })),
  )
  const ended = items.filter((item) => item === undefined || isSettledItem(item.value)).slice(-FAILED_IN_A_ROW)
  const isFailing =
    ended.length === FAILED_IN_A_ROW && ended.every((item) => item !== undefined && isOpenItem(item.value))
  if (!isFailing) return undefined
  return { since: ended.at(-1)!.context.settled_at!, items: ended.map((item) => failureIn(item!)) }
}

function failureIn({ value, context: { id, reason } }: SnapshotOf<WorkItemContext>): Failing['items'][number] {
  return { item_id: id, state: value as Failing['items'][number]['state'], reason }
}
