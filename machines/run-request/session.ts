/** What a run request tells an agent session that its runner reported: its owner, and what the event says about it. */
import type { SessionOwner } from '../agent-session/context.ts'
import { sessionNews } from '../agent-session/reports.ts'
import type { PreparedEvent } from '../events/envelope.ts'
import type { SendParams } from '../machine.ts'
import { SUBMITTED_ENTRY_EVENTS } from '../work-item/entry.ts'
import type { RunRequestContext, RunRequestMessage } from './context.ts'

/** Undefined if the event names no session. */
export function sessionOfRun(
  c: RunRequestContext,
  { at }: RunRequestMessage,
  event: PreparedEvent,
): SendParams | undefined {
  return sessionNews(event, ownerOf(c), at)
}

/** Only the ledger says what a run works for: a payload that somebody else wrote may name any campaign. */
function ownerOf({ id, project, attempt, offered_to, asked }: RunRequestContext): SessionOwner {
  const { work_item_id, entry_event, payload } = asked
  const isOfLedger = work_item_id !== undefined && !SUBMITTED_ENTRY_EVENTS.has(entry_event)
  const campaign = isOfLedger ? (payload as { campaign?: unknown }).campaign : undefined
  return {
    project,
    run_request_id: id,
    attempt,
    ...(offered_to === undefined ? {} : { runner_id: offered_to }),
    ...(work_item_id === undefined ? {} : { work_item_id }),
    ...(typeof campaign === 'string' ? { campaign } : {}),
  }
}
