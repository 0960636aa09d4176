/** What each move of an initiative changes, states and sends: pure functions of (context, message). */

import { type InitiativeStatus, OWNER_WORDS_MAX, type OwnerAction, type Question } from '../documents/initiative.ts'
import { isSameMember, memberText } from '../documents/member.ts'
import { SYSTEM_ENVELOPE } from '../envelope.ts'
import { deriveId, projectIdOf } from '../ids.ts'
import { type Fact, SERVICE_BY, type SendParams, toEither } from '../machine.ts'
import { creationRecord } from '../repeated-create.ts'
import { saysNotBegun } from '../run-request/failure.ts'
import { openItem } from '../work-item/owner.ts'
import { bodyBefore, withBody } from './bodies.ts'
import { joined, left } from './campaigns.ts'
import { type Conclusion, conclude, discharge, end, seedOf } from './conclusion.ts'
import type { Assessment, InitiativeContext, Of, Trigger, View } from './context.ts'
import { assessmentIds, lifecycleFact, ownerActionFact, requestedFact, statedFor } from './facts.ts'
import { eligibleMembers, fingerprint, isMember, keptActions, whyNone } from './members.ts'
import { promptOf } from './prompt.ts'
import { verdictOf } from './verdict.ts'

const NOTHING: readonly never[] = []
/** The view of an initiative that has ended: the state of its members no longer matters. */
const NOBODY: View = { members: [], items: [] }

export function create(message: Of<'create'>): Conclusion {
  const { id, outcome, projects, intent_refs, members, homes, authorized_by, budget, by, at } = message
  const context: InitiativeContext = {
    name: id,
    outcome,
    projects,
    intent_refs,
    members,
    authorized_by,
    budget,
    assessments_made: 0,
    actions_applied: 0,
    waiting: [],
    questions: [],
    close_proposals: [],
    owner_decisions: [],
    owner_actions: [],
    assessments: [],
    actions: [],
    findings: [],
    created_by: by,
    created_at: at,
    internal: {
      creation: creationRecord(message),
      homes,
      requests: 0,
      over: [],
      bodies: {},
      cycles: {},
      envelope: SYSTEM_ENVELOPE,
    },
  }
  return { context, facts: [lifecycleFact('initiative_added', context, 'active')], sends: joined(id, members) }
}

/** Gives this step's facts the service's own envelope instead of an assessment's. */
export function own(context: InitiativeContext): InitiativeContext {
  return { ...context, internal: { ...context.internal, envelope: SYSTEM_ENVELOPE } }
}

/** Queues a request until no assessment is under way. An emitted request is already in the log. */
export function request(context: InitiativeContext, message: Of<'advance'>): Conclusion {
  const { trigger_id, unnamed, member, event_id, at, by = SERVICE_BY } = message
  const seed = seedOf(context)
  const asked = { trigger_id, member, seed, at, origin: by.origin ?? by.name, causation_id: null }
  const fact = event_id === undefined ? requestedFact(context, asked) : undefined
  const trigger: Trigger = {
    trigger_id,
    ...(unnamed && { unnamed }),
    ...(member && { member }),
    requested_at: at,
    by,
    seed,
    event_id: event_id ?? fact!.recorded.id,
  }
  const kept = withBody(context, message)
  const internal = { ...kept.internal, requests: kept.internal.requests + 1 }
  return {
    context: { ...kept, waiting: [...kept.waiting, trigger], internal },
    facts: fact === undefined ? NOTHING : [fact],
    sends: NOTHING,
  }
}

/** Turns the first waiting request into an assessment, or skips it if there is nothing to decide. */
export function assess(context: InitiativeContext, { view, at }: Of<'assess'>): Conclusion {
  const [trigger, ...waiting] = context.waiting as readonly [Trigger, ...Trigger[]]
  const why = skipReason(context, trigger, view)
  const opened: Assessment = {
    ...openedBy(context, trigger),
    prompt: why === undefined ? promptOf(context, trigger, view) : '',
    fingerprint: fingerprint(context, view),
    eligible: eligibleMembers(context, view, trigger.member),
  }
  const next = { ...context, waiting, assessment: opened }
  if (why === undefined) return { context: own(next), facts: NOTHING, sends: [openAssessment(next, opened, view)] }
  const ended = end(next, opened, { outcome: 'skipped', detail: why, begun: false, at })
  const open = openAssessment(next, opened, view, `steering precheck: ${why}`)
  return { ...ended, sends: [open, ...ended.sends] }
}

function openedBy({ name }: InitiativeContext, trigger: Trigger) {
  const { item_id } = assessmentIds(name, trigger.seed)
  return { ...trigger, item_id, steer_id: deriveId('steer', name, trigger.seed) }
}

/** The precheck: without a member that can advance, or without budget, there is nothing for an agent to decide. */
export function skipReason(
  context: InitiativeContext,
  trigger: Trigger,
  view: Of<'assess'>['view'],
): string | undefined {
  const { assessments_made, budget } = context
  if (assessments_made >= budget.max_assessments) return `its budget of ${budget.max_assessments} assessments is spent`
  const eligible = eligibleMembers(context, view, trigger.member)
  return eligible.length > 0 ? undefined : whyNone(context, view, trigger.member)
}

/** Opens the item in the pinned member's project, else in the first unarchived one, whose runner sees the others. */
function openAssessment(
  context: InitiativeContext,
  assessment: Assessment,
  { archived = [] }: View,
  reason?: string,
): SendParams {
  const { name, projects, internal } = context
  const first = projects.find((project) => !archived.includes(project)) ?? projects[0]!
  const { trigger_id, member, follow_up_of, by, prompt, seed, event_id } = assessment
  const others = member === undefined ? projects.filter((one) => one !== first) : []
  const project = member === undefined ? first : (internal.homes[memberText(member)] ?? first)
  return openItem({
    owner: { kind: 'initiative', ref: name, role: 'assessment' },
    seed,
    project,
    project_id: projectIdOf(project),
    objective: `Steer initiative ${name}${member === undefined ? '' : `: ${memberText(member)}`}`,
    submitted_by: by,
    payload: {
      initiative: name,
      prompt,
      ...(member === undefined ? {} : { member }),
      trigger_id,
      ...(follow_up_of === undefined ? {} : { follow_up_of }),
      operator_origin: by.origin ?? by.name,
    },
    causation_id: event_id,
    ...(others.length === 0 ? {} : { told_of: others }),
    ...(reason === undefined ? {} : { reason }),
  })
}

/** The run has answered; the guards judge the answer once the steward has read the current state. */
export function keepResult(context: InitiativeContext, { result = {} }: Of<'item_reported'>): Conclusion {
  return { context: { ...context, assessment: { ...context.assessment!, result } }, facts: NOTHING, sends: NOTHING }
}

/** The run failed or was cancelled. A run that never began costs no budget. */
export function fail(context: InitiativeContext, message: Of<'item_reported'>): Conclusion {
  const { outcome, failure, at } = message
  const code = failure?.code === undefined ? '' : `, ${failure.code}`
  const words = failure === undefined ? `its run was ${outcome}` : `${failure.message} (${failure.class}${code})`
  const begun = !saysNotBegun(failure?.class)
  return end(context, context.assessment!, { outcome: 'failed', detail: words, begun, at })
}

/** The assessment's work item was ended by somebody else: there is nothing left to settle. */
export function ended(context: InitiativeContext, { reason, started, at }: Of<'item_settled'>): Conclusion {
  const { result } = context.assessment!
  const begun = started || result !== undefined
  return { ...end(context, context.assessment!, { outcome: 'failed', detail: reason, begun, at }), sends: NOTHING }
}

export function judge(context: InitiativeContext, { view, at }: Of<'judge'>): Conclusion {
  return conclude(context, verdictOf('active', context, view), view, at)
}

/** The answer arrives after the initiative has ended: none of it is applied. */
export function judgeLate(context: InitiativeContext, status: InitiativeStatus, at: string): Conclusion {
  return conclude(context, verdictOf(status, context, NOBODY), undefined, at)
}

/** The owner decides: closes the questions about the members concerned or, if a question is named, only that one. */
export function decide(context: InitiativeContext, message: Of<'decide'>): Conclusion {
  const { decision, reason, question_id, by, at } = message
  const answered = context.questions.filter((one) => isAnswered(one, message))
  const asked = answered.find(({ id }) => id === question_id)?.member
  const applicable_members = message.applicable_members ?? (asked === undefined ? undefined : [asked])
  const word = {
    decision,
    ...(reason === undefined ? {} : { reason }),
    ...(applicable_members === undefined ? {} : { applicable_members: [...applicable_members] }),
    ...(question_id === undefined ? {} : { question_id }),
    ...(answered.length === 0 ? {} : { answers: answered.map(({ id }) => id) }),
    ...(by === undefined ? {} : { by }),
    at,
  }
  const isAboutAll = applicable_members === undefined && question_id === undefined
  const next = own({
    ...withBody(context, message),
    owner_decisions: [...context.owner_decisions, word].slice(-OWNER_WORDS_MAX),
    questions: context.questions.filter((one) => !answered.includes(one)),
    close_proposals: isAboutAll ? [] : context.close_proposals,
  })
  const fact = lifecycleFact('initiative_decided', next, 'active', { reason, decision, applicable_members })
  return { context: next, facts: [fact], sends: NOTHING }
}

/** Whether the decision answers this question, provided it is open. */
export function isAnswered({ id, member }: Question, { question_id, applicable_members }: Of<'decide'>): boolean {
  if (id === question_id) return true
  if (applicable_members === undefined) return question_id === undefined
  return member !== undefined && applicable_members.some((one) => isSameMember(one, member))
}

/** The owner affirms the outcome. Its members go on independently. */
export function complete(context: InitiativeContext, message: Of<'complete'>): Conclusion {
  return stopSteering(context, 'completed', message, left(context.name, context.members))
}

/** The owner stops the initiative, its members and what it has started. */
export function cancel(context: InitiativeContext, message: Of<'cancel'>): Conclusion {
  const { by, items } = message
  const reason = `initiative ${context.name} cancelled: ${message.reason}`
  const said = { reason, ...(by === undefined ? {} : { by }) }
  const stop = { type: 'cancel', with_initiative: context.name, ...said } as const
  const itemOf = (id: string) => ({ kind: 'work_item', id }) as const
  // `others` are items that had ended when the list was read, which ignore this message, and ones started since, which
  // are still waiting and are cancelled.
  const others = Object.keys(context.internal.cycles).filter((id) => !items.includes(id))
  return stopSteering(context, 'cancelled', message, [
    ...context.members.flatMap(({ kind, ref }) => (kind === 'project' ? [] : [toEither({ kind, id: ref }, stop)])),
    // `stop_only`: work that its own items have preserved meanwhile is for a person to give up.
    ...items.map((id) => ({ to: itemOf(id), message: { ...stop, stop_only: true } }) as const),
    ...others.map((id) => ({ to: itemOf(id), message: { type: 'cancel_waiting', ...said } }) as const),
    ...left(context.name, context.members),
  ])
}

/** Stops an assessment under way; if its answer is already there, rejects it at once. */
function stopSteering(
  context: InitiativeContext,
  status: 'completed' | 'cancelled',
  { reason, by, at }: Of<'complete'> | Of<'cancel'>,
  sends: readonly SendParams[],
): Conclusion {
  const type = status === 'completed' ? 'initiative_completed' : 'initiative_cancelled'
  const { context: stopped, ...turned } = turnAway({ ...context, reason, ended_at: at }, status, at)
  const facts = [lifecycleFact(type, stopped, status, { reason }), ...turned.facts]
  const failed = context.assessments.filter(({ outcome }) => outcome === 'failed')
  const closed = failed.map(({ item_id }) => discharge(item_id, `its initiative is ${status}`, by))
  const told = [...sends, ...closed, ...turned.sends]
  const { assessment } = stopped
  if (assessment === undefined) return { context: own(stopped), facts, sends: told }
  if (assessment.result !== undefined) {
    const late = judgeLate(stopped, status, at)
    return { context: late.context, facts: [...facts, ...late.facts], sends: [...told, ...late.sends] }
  }
  const withdrawal: SendParams = {
    to: { kind: 'work_item', id: assessment.item_id },
    message: { type: 'cancel', stop_only: true, reason: `its initiative is ${status}`, ...(by && { by }) },
  }
  return { context: own(stopped), facts, sends: [...told, withdrawal] }
}

/** Steering is over: ends every waiting request. */
function turnAway(context: InitiativeContext, status: 'completed' | 'cancelled', at: string): Conclusion {
  const facts: Fact[] = []
  const sends: SendParams[] = []
  let next = context
  for (const trigger of context.waiting) {
    const ended = endUnassessed(next, trigger, `the initiative is ${status}`, at)
    facts.push(...ended.facts)
    sends.push(...ended.sends)
    next = ended.context
  }
  return { context: { ...next, waiting: [] }, facts, sends }
}

/** Ends a request without an agent, as skipped; an assessment under way is not affected. */
function endUnassessed(context: InitiativeContext, trigger: Trigger, detail: string, at: string): Conclusion {
  const opened = { ...openedBy(context, trigger), prompt: '', fingerprint: '', eligible: [] }
  const ended = end(context, opened, { outcome: 'skipped', detail, begun: false, at })
  return {
    context: { ...ended.context, assessment: context.assessment },
    facts: ended.facts.map((fact) => statedFor(context, trigger, fact, at)),
    sends: [openAssessment(context, opened, NOBODY, `steering precheck: ${detail}`), ...ended.sends],
  }
}

/** Answers an emitted request that was let in before the initiative ended. */
export const requestLate = (status: 'completed' | 'cancelled') => {
  return (context: InitiativeContext, message: Of<'advance'>): Conclusion => {
    const asked = request(context, message)
    const turned = turnAway(asked.context, status, message.at)
    return { ...turned, context: own(turned.context), facts: [...asked.facts, ...turned.facts] }
  }
}

/** Answers an emitted request that was let in but that others preceded, saying why it is not assessed. */
export function requestRefused(context: InitiativeContext, message: Of<'advance'>): Conclusion {
  const isReused = bodyBefore(context, message) === 'other'
  const { context: asked } = request(context, message)
  const trigger = asked.waiting.at(-1)!
  const turned = endUnassessed(asked, trigger, whyRefused(context, message, isReused), message.at)
  // The trigger keeps standing for what it was first used for.
  const { bodies, over } = isReused ? context.internal : turned.context.internal
  const internal = { ...turned.context.internal, bodies, over }
  return { ...turned, context: own({ ...turned.context, waiting: context.waiting, internal }) }
}

function whyRefused(context: InitiativeContext, { member }: Of<'advance'>, isReused: boolean): string {
  if (isReused) return 'its trigger was already used for another member'
  if (member !== undefined && !isMember(context, member))
    return `${memberText(member)} is not a member of the initiative`
  return `${context.waiting.length} requests are already waiting`
}

export function recordOwnerAction(context: InitiativeContext, message: Of<'record_owner_action'>): Conclusion {
  const { action_id, action, member, reason, lifted, override, by, at } = message
  const word: OwnerAction = {
    action_id,
    action,
    ...(member === undefined ? {} : { member }),
    reason,
    ...(lifted === undefined ? {} : { lifted }),
    ...(override === undefined ? {} : { override }),
    operator_origin: by?.origin ?? by?.name ?? 'unknown',
    ...(by === undefined ? {} : { by }),
    at,
  }
  const next = withBody(own(context), message)
  return {
    context: { ...next, owner_actions: keptActions([...context.owner_actions, word], OWNER_WORDS_MAX) },
    facts: [ownerActionFact(context.name, word)],
    sends: NOTHING,
  }
}
