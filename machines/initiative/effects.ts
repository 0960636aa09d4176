/** What an applied decision does: the action that is kept, what changes of the initiative, and whom it sends for. */

import type { Action, Decision, Question } from '../documents/initiative.ts'
import type { Member } from '../documents/member.ts'
import { deriveId, projectIdOf } from '../ids.ts'
import type { By, OwnFact, SendParams } from '../machine.ts'
import { SERVICE_BY } from '../machine.ts'
import type { WorkItemContext } from '../work-item/context.ts'
import { openItem, ownedIds } from '../work-item/owner.ts'
import { shared } from './campaigns.ts'
import type { Assessment, InitiativeContext } from './context.ts'
import { findingRecorded } from './facts.ts'
import { findingOf, untold, withFinding } from './findings.ts'
import { findingsFor } from './prompt.ts'

type Change = Partial<InitiativeContext>

interface Effects {
  readonly action: Action
  readonly change: Change
  readonly facts: readonly OwnFact[]
  /** `causation_id` is the action's own event. */
  sends(causation_id: string): readonly SendParams[]
}

interface Applied {
  readonly decision: Decision
  readonly provider?: string | undefined
  readonly at: string
}

/** The service does it, in the initiative's name. */
function initiativeBy({ name }: Pick<InitiativeContext, 'name'>): By {
  return { ...SERVICE_BY, origin: `initiative ${name}` }
}

/** Derives from the assessment: the same answer, heard again, is the same action. */
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

/** An engine may say more of a member than we keep. */
function plain(member: Member | undefined): Member | undefined {
  return member === undefined ? undefined : { kind: member.kind, ref: member.ref }
}

/** A task in the member project. It is told the findings that its forming saw; a staged one is held at once. */
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
    to: untold(context, decision).map(plain) as Member[],
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

/** An owner is asked, or called. A campaign that is called for stops until the owner has judged. */
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

/** The message that carries the action to the member; none for a member that has nothing to be told. */
function tellMember(context: InitiativeContext, { decision, member, reason }: Action): readonly SendParams[] {
  if (member === undefined || member.kind === 'project') return []
  const by = initiativeBy(context)
  const to = { kind: member.kind, id: member.ref } as SendParams['to']
  if (member.kind === 'work_item') {
    const released = `released by initiative ${context.name}`
    if (decision === 'advance') return [{ to, message: { type: 'release', by, reason: released } }]
    return decision === 'hold' ? [{ to, message: { type: 'hold', by } }] : []
  }
  if (decision === 'advance') return [{ to, message: { type: 'advance', by } }]
  // An owner who is called finds the campaign as it stands.
  return [{ to, message: { type: 'pause', by, reason: `initiative ${context.name}: ${decision}: ${reason}` } }]
}

/** The last that was done about a held item is that this initiative held it: nobody else's hold is lifted. */
export function isHeldFor(context: Pick<InitiativeContext, 'name'>, { operator_actions }: WorkItemContext): boolean {
  const last = operator_actions.at(-1)
  const { id, origin } = initiativeBy(context)
  return last?.command === 'hold' && last.by?.id === id && last.origin === origin
}
