/** What an initiative finds, and what becomes of its findings, when its own or its campaigns' cycles settle. */

import { hasLanded } from '../work-item/owner.ts'
import { withBody } from './bodies.ts'
import { shared } from './campaigns.ts'
import type { Conclusion } from './conclusion.ts'
import type { InitiativeContext, Of, SeenBy } from './context.ts'
import { findingConsumed, findingRecorded } from './facts.ts'
import { consumed, findingOf, reviewersFinding, withFinding } from './findings.ts'
import { own } from './moves.ts'

const NOTHING: readonly never[] = []

export function recordFinding(context: InitiativeContext, message: Of<'record_finding'>): Conclusion {
  const finding = findingOf(context, message, message.at)
  const next = withBody(own(context), message)
  return {
    context: { ...next, findings: withFinding(context, finding) },
    facts: [findingRecorded(finding)],
    sends: shared(finding),
  }
}

type OfCycle = Of<'item_settled'> | Of<'member_cycle_settled'>

/** One of the initiative's own cycles has settled. */
export function cycleSettled(context: InitiativeContext, message: Of<'item_settled'>): Conclusion {
  return forgetSeen(hear(context, message, context.internal.cycles[message.item_id]!), message)
}

/** A cycle of a member campaign has settled. */
export function memberCycleSettled(context: InitiativeContext, message: Of<'member_cycle_settled'>): Conclusion {
  return hear(context, message, message)
}

/** The same two for an ended initiative: landed cycles consume the findings they were shown; none are recorded. */
export function cycleSettledLate(context: InitiativeContext, message: Of<'item_settled'>): Conclusion {
  return forgetSeen(consume(nothing(own(context)), message, context.internal.cycles[message.item_id]!), message)
}

export function memberCycleSettledLate(context: InitiativeContext, message: Of<'member_cycle_settled'>): Conclusion {
  return consume(nothing(own(context)), message, message)
}

/** Forgets what the cycle's formation was shown, unless an item that continues its work may still land it. */
function forgetSeen(heard: Conclusion, { item_id, state }: Of<'item_settled'>): Conclusion {
  if (state !== 'landed' && state !== 'cancelled') return heard
  const { [item_id]: _over, ...cycles } = heard.context.internal.cycles
  return { ...heard, context: { ...heard.context, internal: { ...heard.context.internal, cycles } } }
}

/** Records what the reviewer reports as a finding; a landed cycle consumes the findings its formation was shown. */
function hear(context: InitiativeContext, message: OfCycle, seen: SeenBy): Conclusion {
  const { item_id, terminal, at, atMs } = message
  const said = terminal === undefined ? undefined : reviewersFinding(context, item_id, terminal)
  const isNew = said !== undefined && !context.findings.some(({ finding_id }) => finding_id === said.finding_id)
  const first = isNew ? recordFinding(context, { ...said, type: 'record_finding', at, atMs }) : nothing(own(context))
  return consume(first, message, seen)
}

function consume(before: Conclusion, message: OfCycle, seen: SeenBy): Conclusion {
  if (!hasLanded(message)) return before
  const { findings, now } = consumed(before.context, message.item_id, seen, message.at)
  const facts = now.map((one) => findingConsumed(one, seen.member, message.item_id))
  return { ...before, context: { ...before.context, findings }, facts: [...before.facts, ...facts] }
}

function nothing(context: InitiativeContext): Conclusion {
  return { context, facts: NOTHING, sends: NOTHING }
}
