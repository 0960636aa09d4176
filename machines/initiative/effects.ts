/** What an applied decision does: the action recorded, the changes to the initiative, and the messages sent. */

import type { Action, Decision, Question } from '../documents/initiative.ts'
import type { Member } from '../documents/member.ts'
import { deriveId, projectIdOf } from '../ids.ts'
import type { By, OwnFact, SendParams } from '../machine.ts'
import { SERVICE_BY } from '../machine.ts'
import type { WorkItemContext } from '../work-item/context.ts'
import { initiativeOrigin, openItem, ownedIds } from '../work-item/owner.ts'
import { isHeldFor } from '../work-item/rules.ts'
import { shared } from './campaigns.ts'
import type { Assessment, InitiativeContext } from './context.ts'
import { findingRecorded } from './facts.ts'
import { findingOf, recipientsLeft, withFinding } from './findings.ts'
import { findingsFor } from './prompt.ts'

type Change = Partial<InitiativeContext>

interface Effects {
  readonly action: Action
  readonly change: Change
  readonly facts: readonly OwnFact[]
  /** `causation_id` is the id of the action's own event. */
  sends(causation_id: string): readonly SendParams[]
}

interface Applied {
  readonly decision: Decision
  readonly provider?: string | undefined
  readonly at: string
}

/** The service as the cause, acting for the initiative. */
function initiativeBy({ name }: Pick<InitiativeContext, 'name'>): By {
  return { ...SERVICE_BY, origin: initiativeOrigin(name) }
}

/** Derives from the assessment, so that the same answer, delivered again, yields the same action. */
function actionIdOf(steer_id: string): string {
  return deriveId('act', 'action', steer_id)
}

export function effectsOf(context: InitiativeContext, assessment: Assessment, applied: Applied): Effects {
  const { decision, provider, at } = applied
  const { decision: step, reason, objective } = decision
  const member = plain(decision.member)
  const action_id = actionIdOf(assessment.steer_id)
  const action: Action = {
    action_id,
    steer_id: assessment.steer_id,
    decision: step,
    reason,
    ...(member === undefined ? {} : { member }),
    ...(objective === undefined ? {} : { objective }),
    ...(provider === undefined ? {} : { provider }),
    context_fingerprint: assessment.fingerprint,
    at,
  }
  switch (step) {
    case 'dispatch':
    case 'stage':
      return startWork(context, action)
    case 'relay':
      return relay(context, action, decision)
    case 'ask':
    case 'escalate':
      return call(context, action, decision)
    case 'done':
      return {
        ...told(action),
        change: { close_proposals: [...context.close_proposals, { id: action_id, reason, at }] },
      }
    default:
      return { ...told(action), sends: () => tellMember(context, action) }
  }
}

function told(action: Action): Effects {
  return { action, change: {}, facts: [], sends: () => [] }
}

/** Drops any members of the object that an engine may add to kind and ref. */
function plain(member: Member | undefined): Member | undefined {
  return member === undefined ? undefined : { kind: member.kind, ref: member.ref }
}

/** Opens a task in the member project, with the findings for that member; a staged task is held at once. */
function startWork(context: InitiativeContext, action: Action): Effects {
  const { name, created_at, internal } = context
  const { action_id, objective, member, decision } = action
  const project = member!.ref
  const owner = { kind: 'initiative', ref: name, role: 'cycle' } as const
  const seed = `${created_at}/${action_id}`
  const { item_id } = ownedIds(owner, seed)
  const seen = findingsFor(context, member!)
  const by = initiativeBy(context)
  const sends = (causation_id: string): readonly SendParams[] => {
    const shown = seen.map(({ finding_id, kind, text, refs }) => ({ finding_id, kind, text, refs }))
    const order = {
      owner,
      seed,
      project,
      project_id: projectIdOf(project),
      objective: objective!,
      submitted_by: by,
      context: { initiative: name, ...(shown.length === 0 ? {} : { findings: shown }) },
      causation_id,
      reason: decision === 'stage' ? `staged by initiative ${name}` : `dispatched by initiative ${name}`,
    }
    const open = openItem(order, 'task')
    return decision === 'stage' ? [open, { to: open.to, message: { type: 'hold', by } }] : [open]
  }
  const finding_ids = seen.map(({ finding_id }) => finding_id)
  const cycles = { ...internal.cycles, [item_id]: { member: member!, finding_ids } }
  return {
    action: { ...action, item_id },
    change: { internal: { ...internal, cycles } },
    facts: [],
    sends,
  }
}

function relay(context: InitiativeContext, action: Action, decision: Decision): Effects {
  const { action_id, steer_id, at } = action
  const finding_id = deriveId('find', 'finding', action_id)
  const given = {
    finding_id,
    from: { kind: 'assessment', id: steer_id },
    to: recipientsLeft(context, decision).map(plain) as Member[],
    kind: 'relay',
    text: decision.text!,
    refs: decision.refs ?? [],
  } as const
  const finding = findingOf(context, { ...given, refs: [...given.refs] }, at)
  return {
    action: { ...action, finding_id },
    change: { findings: withFinding(context, finding) },
    facts: [findingRecorded(finding)],
    sends: () => shared(finding),
  }
}

/** Asks an owner, or escalates to one. An escalated campaign stops until the owner has decided. */
function call(context: InitiativeContext, action: Action, decision: Decision): Effects {
  const { action_id, member, at } = action
  const isAsk = decision.decision === 'ask'
  const text = isAsk ? decision.question! : decision.reason
  const options = decision.options === undefined ? {} : { options: [...decision.options] }
  const question: Question = {
    id: action_id,
    kind: isAsk ? 'ask' : 'escalate',
    ...(member === undefined ? {} : { member }),
    text,
    ...options,
    at,
  }
  return {
    action: { ...action, ...(isAsk ? { question: text } : {}), ...options },
    change: { questions: [...context.questions, question] },
    facts: [],
    sends: () => (isAsk ? [] : tellMember(context, action)),
  }
}

/** The message that carries the action to the member; none if the member need not be told. */
function tellMember(context: InitiativeContext, { decision, member, reason }: Action): readonly SendParams[] {
  if (member === undefined || member.kind === 'project') return []
  const by = initiativeBy(context)
  if (member.kind === 'work_item') {
    const to = { kind: member.kind, id: member.ref }
    const released = `released by initiative ${context.name}`
    if (decision === 'advance') return [{ to, message: { type: 'release', by, reason: released } }]
    return decision === 'hold' ? [{ to, message: { type: 'hold', by } }] : []
  }
  const to = { kind: member.kind, id: member.ref }
  if (decision === 'advance') return [{ to, message: { type: 'advance', by } }]
  // The campaign is paused, so that the owner finds it unchanged.
  const why = `initiative ${context.name}: ${decision}: ${reason}`
  return [{ to, message: { type: 'pause', with_initiative: context.name, by, reason: why } }]
}

/** Whether the last action on a held item was this initiative's hold: nobody else's hold is lifted. */
export function isHeldBy(context: Pick<InitiativeContext, 'name'>, item: WorkItemContext): boolean {
  return isHeldFor(item, initiativeOrigin(context.name))
}
