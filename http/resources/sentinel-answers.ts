/** How a sentinel is served: its document, with the state of the item of the last time, which only that item knows. */
import type { Failing, Sentinel } from '../../machines/documents/sentinel.ts'
import type { WorkItemState } from '../../machines/documents/work-item.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { SentinelContext } from '../../machines/sentinel/context.ts'
import { sentinelModule } from '../../machines/sentinel.ts'
import { readable } from '../../runtime/reader.ts'
import type { ServiceContext } from '../route.ts'

/** An item that is still on its way, or cannot be read, has no state here. It is of the sentinel's own project. */
export function sentinelDocumentOf(
  { runtime }: ServiceContext,
  snapshot: SnapshotOf<SentinelContext>,
  failing?: Failing,
): Sentinel {
  const own = sentinelModule.document(snapshot) as Sentinel
  const document = failing === undefined ? own : { ...own, failing }
  const { last } = document
  const id = last?.item_id
  if (id === undefined) return document
  const item = readable(() => runtime.read({ kind: 'work_item', id }))
  return item === undefined ? document : { ...document, last: { ...last!, item_state: item.value as WorkItemState } }
}
