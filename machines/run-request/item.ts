/**
 * What a run request tells the work item it was created for: that a runner began, that the run is lost or queued again,
 * what its terminal event says, and how it ended. A run request without a work item sends nothing.
 */
import type { PreparedEvent } from '../events/envelope.ts'
import type { SendParams } from '../machine.ts'
import type { WorkItemBody } from '../work-item/context.ts'
import { concernsItems } from '../work-item/results.ts'
import type { RunRequestContext, RunRequestMessage } from './context.ts'

/** What it says beside which run it is. */
export type News<M> = M extends { readonly run_request_id: string } ? Omit<M, 'run_request_id' | 'attempt'> : never
export interface Step {
  readonly context: RunRequestContext
  readonly event: RunRequestMessage
}

function toItem(context: RunRequestContext, news: News<WorkItemBody>): SendParams {
  const { id: run_request_id, attempt, asked } = context
  const discarding = discards(context) ? ({ discard_work: true } as const) : {}
  const message = { ...news, run_request_id, attempt, ...discarding }
  return { to: { kind: 'work_item', id: asked.work_item_id! }, message }
}

function discards({ cancel }: RunRequestContext): boolean {
  return cancel?.discard_work === true
}

/** Builds an action for the chart; each goes after the move it reports. */
const telling = (news: (context: RunRequestContext, message: RunRequestMessage) => News<WorkItemBody>) => ({
  type: 'send' as const,
  params: ({ context, event }: Step): SendParams | undefined =>
    context.asked.work_item_id === undefined ? undefined : toItem(context, news(context, event)),
})
export const tellStarted = telling((c) => ({ type: 'run_started', runner_id: c.offered_to! }))
export const tellLost = telling((_, message) => ({ type: 'run_lost', reason: lossOf(message) }))
export const tellRequeued = telling(({ not_before, internal }, message) => {
  const { by } = message
  if (message.type !== 'failed')
    return { type: 'run_requeued', ...(by === undefined ? {} : { reason: `requeued by ${by.name}` }) }
  const { class: failureClass, code, message: words } = message
  const failure = { class: failureClass, ...(code === undefined ? {} : { code }), message: words }
  const kept = internal.outage?.preservation_ref
  const preserved = kept === undefined ? {} : { preservation_ref: kept }
  return { type: 'run_requeued', reason: `not before ${not_before}, since it failed: ${words}`, failure, ...preserved }
})
export const tellEnded = (outcome: 'completed' | 'failed' | 'cancelled') =>
  telling((c) => ({ type: 'run_ended', outcome, ...endOf(c, outcome) }))

/** The message that forwards an event to the work item. */
export function itemEvent(context: RunRequestContext, { id, event_type, payload }: PreparedEvent): SendParams {
  return toItem(context, { type: 'run_event', event: { id, event_type, payload } })
}

/** Whether the work item listens to this event of its run. */
export function concernsItem({ asked }: RunRequestContext, { event_type, payload }: PreparedEvent): boolean {
  return asked.work_item_id !== undefined && concernsItems(asked.entry_event, event_type, payload)
}

/** Why the runner lost its hold of the request, in words. */
export function lossOf(message: RunRequestMessage): string {
  if (message.type === 'runner_session_started') return message.reason ?? 'its runner started a new session'
  return message.type === 'restored' ? 'the service was restored from a backup' : 'its runner fell silent'
}

function endOf(context: RunRequestContext, outcome: string): object {
  const { failure, cancel, result } = context
  const isStopped = outcome !== 'completed' || discards(context)
  const stopped_by = isStopped ? cancel?.requested_by : undefined
  const stop_reason = isStopped ? cancel?.reason : undefined
  return {
    ...(failure === undefined ? {} : { failure }),
    ...(result === undefined ? {} : { result }),
    ...(stopped_by === undefined ? {} : { stopped_by }),
    ...(stop_reason === undefined ? {} : { stop_reason }),
  }
}
