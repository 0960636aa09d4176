/** The message that hands an item out: the run request that the item's own step makes, written out in full. */
import type { RunRequestCreate } from '../../machines/documents/run-request.ts'
import { deriveId } from '../../machines/ids.ts'
import type { WorkItemBody, WorkItemContext } from '../../machines/work-item/context.ts'
import { entryOf } from '../../machines/work-item/entry.ts'
import { isDecidedBySource, waitsForProvider } from '../../machines/work-item/results.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import { runRequestMessage } from '../entities/run-requests.ts'

/** Read-only work may be repeated: an agent that failed once is no reason to call a person. */
const LOOK_AGAIN: NonNullable<RunRequestCreate['retry']> = {
  max_attempts: 3,
  on: ['execution', 'dispatch'],
  backoff_seconds: 30,
}

/** Undefined if the item's project cannot be read now. */
export function handOut(runtime: Runtime, item: WorkItemContext): WorkItemBody | undefined {
  const project = committed(runtime, { kind: 'project', id: item.project_id })
  if (project === undefined) return undefined
  const { asked, internal, id, trace_id } = item
  const number = internal.hand_outs + 1
  const { payload, ...entry } = entryOf(item)
  const body: RunRequestCreate = {
    ...entry,
    payload: { ...payload },
    throttle: 'full',
    lane: asked.lane,
    trace_id,
    ...(isDecidedBySource(asked) ? { retry: LOOK_AGAIN } : {}),
    ...(asked.labels === undefined ? {} : { labels: [...asked.labels] }),
    ...(asked.runner_id === undefined ? {} : { runner_id: asked.runner_id }),
    ...(asked.timeout_seconds === undefined ? {} : { timeout_seconds: asked.timeout_seconds }),
  }
  const key = `work_item:${id}:${number}`
  const order = { project, body, idempotencyKey: key, by: asked.submitted_by, traceParent: undefined }
  const { by: _, ...message } = runRequestMessage(runtime, order)
  const run_request = {
    ...message,
    // Not derived from a key that a caller may choose, so nobody can claim it first. Derived from this log's epoch,
    // because a runner may still hold the hand-out of the same number from a log that was lost with a restore.
    id: deriveId('runreq', 'work_item', id, String(number), runtime.journal.epoch),
    work_item_id: id,
    ...(waitsForProvider(asked) ? ({ waits_for_provider: true } as const) : {}),
    ...(asked.told_of === undefined ? {} : { told_of: asked.told_of }),
    // Submitting an item approves its run.
    approved: true,
    parent_span_id: internal.span_id,
    causation_id: internal.causation_id,
    gather_id: internal.gather_id,
  }
  return { type: 'hand_out', run_request }
}
