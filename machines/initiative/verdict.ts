/**
 * What comes of an assessment's answer: one of the seven outcomes (SPEC 3.4). All guards are here, and nowhere else: an
 * answer is only advice until they have passed it.
 */
import { decisionIn } from '../agent-answer.ts'
import { type Decision, decisionSchema, QUESTIONS_MAX, type SteeringOutcome } from '../documents/initiative.ts'
import { isSameMember, type Member, memberText } from '../documents/member.ts'
import type { RunResult } from '../documents/run-result.ts'
import { compile } from '../schema.ts'
import type { Assessment, InitiativeContext, MemberView, View } from './context.ts'
import { recipientsLeft } from './findings.ts'
import { fingerprint, isMember, memberViewOf, standingOf } from './members.ts'

export interface Verdict {
  readonly outcome: Exclude<SteeringOutcome, 'skipped'>
  /** The guard's words, the failure, or the reason that the answer gives. */
  readonly detail: string
  /** Absent only if the outcome is `failed`. */
  readonly decision?: Decision
}

const checkDecision = compile(decisionSchema)

type Given = { readonly decision: Decision } | { readonly fault: string }

/** The decision in a Run Result, or what is wrong with it. */
function decisionOf(result: RunResult): Given {
  const given = decisionIn(result)
  if (given === undefined) return { fault: 'the run’s result has no decision' }
  const [fault] = checkDecision(given)
  if (fault === undefined) return { decision: given as Decision }
  return { fault: `the run’s result has no valid steering decision: ${fault.pointer} ${fault.detail}` }
}

/** `status` is the initiative's at the time the answer is judged. */
export function verdictOf(status: string, context: InitiativeContext, view: View): Verdict {
  const assessment = context.assessment!
  const given = decisionOf(assessment.result!)
  if ('fault' in given) return { outcome: 'failed', detail: given.fault }
  const { decision } = given
  const said = (outcome: Verdict['outcome'], detail: string): Verdict => ({ outcome, detail, decision })
  if (status === 'completed' || status === 'cancelled') return said('rejected', `the initiative is ${status}`)
  if (fingerprint(context, view) !== assessment.fingerprint) {
    return said('stale', 'the state it was decided on has changed since: it will be assessed again')
  }
  if (decision.decision === 'wait') return said('waited', decision.reason)
  const refused = refusedBy(context, assessment, decision, view)
  if (refused !== undefined) return said('rejected', refused)
  const inForce = inForceBy(context, decision, view)
  return inForce === undefined ? said('applied', decision.reason) : said('no_op', inForce)
}

/** The kinds of member that a decision must name one of. */
const MEMBER_NEEDED: Readonly<Partial<Record<Decision['decision'], readonly Member['kind'][]>>> = {
  advance: ['campaign', 'work_item'],
  dispatch: ['project'],
  stage: ['project'],
  hold: ['campaign', 'work_item'],
}

/** The words of the first guard that refuses the decision. */
function refusedBy(
  context: InitiativeContext,
  { member: pinned }: Assessment,
  decision: Decision,
  view: View,
): string | undefined {
  const { decision: step, member } = decision
  const { budget, actions_applied, authorized_by } = context
  if (authorized_by.trim() === '') return 'nobody has authorized the initiative'
  if (actions_applied >= budget.max_actions) return `its budget of ${budget.max_actions} actions is spent`
  const kinds = MEMBER_NEEDED[step]
  if (kinds !== undefined && member === undefined) return `${step} names no member`
  for (const one of [...(member === undefined ? [] : [member]), ...(decision.to ?? [])]) {
    if (!isMember(context, one)) return `${memberText(one)} is not a member of the initiative`
  }
  if (kinds !== undefined && !kinds.includes(member!.kind)) {
    return `${step} is for a ${kinds.join(' or a ')}, but ${memberText(member!)} is not one`
  }
  if (pinned !== undefined && member !== undefined && !isSameMember(pinned, member)) {
    return `the assessment is only about ${memberText(pinned)}, not ${memberText(member)}`
  }
  return lackOf(context, decision) ?? (kinds === undefined ? undefined : barredBy(context, decision, view))
}

/** What is missing that this kind of decision requires. */
function lackOf(
  context: InitiativeContext,
  { decision: step, objective, question, text }: Decision,
): string | undefined {
  switch (step) {
    case 'dispatch':
    case 'stage':
      return objective === undefined ? `${step} names no objective` : undefined
    case 'ask':
      return question === undefined ? 'ask has no question' : tooManyQuestions(context)
    case 'escalate':
      return tooManyQuestions(context)
    case 'relay':
      return text === undefined ? 'relay has no text' : undefined
    default:
      return undefined
  }
}

function tooManyQuestions({ questions }: InitiativeContext): string | undefined {
  return questions.length < QUESTIONS_MAX
    ? undefined
    : `${questions.length} questions are open: an owner must decide first`
}

/** States in which a member can be held. */
const HOLDABLE: readonly string[] = ['queued', 'held', 'staged', 'active', 'escalated', 'paused']

/** Why the named member cannot do what is decided. Being under way already is no obstacle: then it is in force. */
function barredBy(context: InitiativeContext, { decision: step, member }: Decision, view: View): string | undefined {
  const memberView = memberViewOf(view, member!)
  if (memberView === undefined) return `${memberText(member!)} cannot be read`
  if (step === 'hold') {
    return HOLDABLE.includes(memberView.state)
      ? undefined
      : `${memberText(member!)} is ${memberView.state}: it cannot be held`
  }
  const standing = standingOf(context, memberView, view)
  return standing.is === 'barred' ? `${memberText(member!)} cannot advance: ${standing.why}` : undefined
}

/** Whether the member stays stopped until somebody says otherwise. */
function isHeld({ state, resumes_by_itself }: MemberView): boolean {
  return state === 'held' || (state === 'paused' && resumes_by_itself !== true)
}

/** Why the decision changes nothing; undefined if it does change something. */
function inForceBy(context: InitiativeContext, decision: Decision, view: View): string | undefined {
  const { decision: step, member } = decision
  const memberView = member === undefined ? undefined : memberViewOf(view, member)
  switch (step) {
    case 'advance':
    case 'dispatch':
    case 'stage': {
      const standing = standingOf(context, memberView!, view)
      return standing.is === 'under_way' ? standing.why : undefined
    }
    case 'hold':
      return memberView !== undefined && isHeld(memberView)
        ? `${memberText(member!)} is ${memberView.state}`
        : undefined
    case 'relay':
      return recipientsLeft(context, decision).length === 0 ? 'it is already recorded' : undefined
    case 'ask':
      return context.questions.some((one) => one.text === decision.question && isSameMember(one.member, member))
        ? 'the question is already open'
        : undefined
    case 'escalate':
      return context.questions.some((one) => one.kind === 'escalate' && isSameMember(one.member, member))
        ? 'the owner has already been called'
        : undefined
    case 'done':
      return context.close_proposals.length > 0 ? 'its completion is already proposed' : undefined
    default:
      return undefined
  }
}
