/**
 * The prompt of an assessment: the outcome sought, the state of everything, what owners decided, and the shape of the
 * answer. Pure, so that what the agent saw can be reproduced, and bounded: of every list the newest are told. Text
 * written by others is fenced.
 */
import type { Finding } from '../documents/finding.ts'
import type { OwnerDecision, Question } from '../documents/initiative.ts'
import { isSameMember, type Member, memberText } from '../documents/member.ts'
import { bullets, decisionBullets, document, fencedLines, lineOf, newest, paragraphs, section } from '../prompt-text.ts'
import type { EndedItem, InitiativeContext, Trigger, View } from './context.ts'
import { standingOf } from './members.ts'

/** How many of the newest findings are shown, and how much of each: a prompt must stay readable. */
const FINDINGS_SHOWN_MAX = 32
const TEXT_SHOWN_MAX = 1_000
const ASSESSMENTS_TOLD_MAX = 8
/** UTF-8, for all members: each is told, and of what it is about as much as fits. */
const MEMBERS_BYTES_MAX = 24_576
/** UTF-8, for each of the other lists. */
const LIST_BYTES_MAX = 8_192

/** The newest findings that are addressed to one of the members. */
export function findingsFor({ findings }: InitiativeContext, ...members: readonly Member[]): readonly Finding[] {
  const isFor = ({ to }: Finding): boolean => to.some((one) => members.some((member) => isSameMember(one, member)))
  return findings.filter(isFor).slice(-FINDINGS_SHOWN_MAX)
}

interface Scope {
  readonly context: InitiativeContext
  readonly view: View
}

/**
 * A pinned assessment belongs to its member's project and is shown nothing of other projects. An owner's decision about
 * all members binds it too; a question about no particular member is left out, since it may be another project's.
 */
function scopeOf(context: InitiativeContext, { member }: Trigger, view: View): Scope {
  if (member === undefined) return { context, view }
  const home = view.members.find((memberView) => isSameMember(memberView.member, member))?.project
  const members = view.members.filter(({ project }) => project === home)
  const isShown = (one: Member | undefined): boolean =>
    members.some((memberView) => isSameMember(memberView.member, one))
  const decided = (one: OwnerDecision): readonly OwnerDecision[] => {
    if (one.applicable_members === undefined) return one.question_id === undefined ? [one] : []
    const applicable_members = one.applicable_members.filter(isShown)
    return applicable_members.length === 0 ? [] : [{ ...one, applicable_members }]
  }
  const narrowed: InitiativeContext = {
    ...context,
    members: members.map((memberView) => memberView.member),
    questions: context.questions.filter((one) => isShown(one.member)),
    owner_decisions: context.owner_decisions.flatMap(decided),
    owner_actions: context.owner_actions.filter(({ member }) => member === undefined || isShown(member)),
    actions: context.actions.filter((one) => isShown(one.member)),
    assessments: [],
  }
  const isHome = ({ project }: { readonly project: string }): boolean => project === home
  const { items, ended = [] } = view
  return { context: narrowed, view: { members, items: items.filter(isHome), ended: ended.filter(isHome) } }
}

export function promptOf(whole: InitiativeContext, trigger: Trigger, all: View): string {
  const { context, view } = scopeOf(whole, trigger, all)
  const { name, outcome, budget, assessments_made, actions_applied } = context
  return document(
    `You steer the initiative ${name}. Assess it, and decide exactly one next step. Change nothing: this run is read-only.`,
    section('Outcome to be reached', paragraphs(outcome)),
    `Budget: assessment ${assessments_made + 1} of ${budget.max_assessments}; ${actions_applied} of ${budget.max_actions} actions used.`,
    trigger.member === undefined ? '' : `Decide only about ${memberText(trigger.member)}.`,
    trigger.follow_up_of === undefined
      ? ''
      : `This follows a ${trigger.follow_up_of.step} (${trigger.follow_up_of.steer_id}): is anything else to be done now?`,
    section('Members', memberLines(context, view)),
    section('Work that this initiative has started', newestFenced(view.items.map(itemLine), 'work items')),
    section('How work that it started last has ended', newestFenced((view.ended ?? []).map(endedLine), 'work items')),
    section(
      'Decisions of the owner: these are binding',
      decisionBullets(context.owner_decisions.map((one) => decisionLine(context, one))),
    ),
    section('Owner actions', newest(context.owner_actions.map(ownerLine), LIST_BYTES_MAX, bullets)),
    section('Open questions', newestFenced(context.questions.map(questionLine), 'assessments')),
    section('Findings', newestFenced(findingsFor(context, ...context.members).map(findingLine), 'findings')),
    section(
      'Previous assessments',
      newestFenced(
        context.assessments.slice(-ASSESSMENTS_TOLD_MAX).map((one) => assessedLine(context, one)),
        'assessments',
      ),
    ),
    ANSWER,
  )
}

const ANSWER = `Answer in the run's result, as {"decision": {...}, "agent_provider": "who you are"}. Members of the decision:
- decision: one of
  advance (a campaign continues, held work is released), dispatch (a task is started in a project),
  stage (a task is prepared in a project and held until a person releases it), hold (a campaign or waiting work stops),
  relay (a finding is passed on), ask (an owner must answer a question), escalate (an owner must judge),
  done (the outcome is reached: an owner is asked to confirm it), wait (there is nothing to do now)
- reason: why, in one sentence
- member {kind, ref}: for advance, dispatch, stage and hold; also for ask and escalate if they concern one member
- objective: for dispatch and stage; question, options[]: for ask; text, to[], refs[]: for relay`

function oneLine(text: string): string {
  return lineOf(text, TEXT_SHOWN_MAX)
}

function newestFenced(lines: readonly string[], origin: string): string {
  return newest(lines, LIST_BYTES_MAX, (kept) => fencedLines(kept, origin))
}

/** A line for each member; where all of them would take too much, less is told of what each is about. */
function memberLines(context: InitiativeContext, view: View, charsMax = TEXT_SHOWN_MAX): string {
  const lines = view.members.map((memberView) => memberLine(context, memberView, view, charsMax))
  const fits = Buffer.byteLength(lines.join('\n')) <= MEMBERS_BYTES_MAX
  if (!fits && charsMax > 0) return memberLines(context, view, Math.floor(charsMax / 2))
  const note = `(Of what each is about, ${charsMax} characters are told to limit the length of the prompt.)\n\n`
  return `${charsMax === TEXT_SHOWN_MAX ? '' : note}${fencedLines(lines, 'the members')}`
}

function memberLine(
  context: InitiativeContext,
  memberView: View['members'][number],
  view: View,
  charsMax: number,
): string {
  const standing = standingOf(context, memberView, view)
  const can = standing.is === 'able' ? 'can advance' : standing.why
  const about = memberView.about === undefined ? '' : `: ${lineOf(memberView.about, charsMax)}`
  return `${memberText(memberView.member)} in ${memberView.project} is ${memberView.state} (${can})${about}`
}

function itemLine({ item_id, project, state, objective }: View['items'][number]): string {
  return `${item_id} in ${project} is ${state}: ${oneLine(objective)}`
}

function endedLine(item: EndedItem): string {
  return `${itemLine(item)} (${oneLine(item.reason)})`
}

function questionLine({ kind, text }: Question): string {
  return `${kind}: ${oneLine(text)}`
}

/** The decision is told in full, since it is binding. The question is quoted: runs wrote it, and it is not. */
function decisionLine({ actions }: InitiativeContext, one: OwnerDecision): string {
  const { decision, reason, applicable_members, answers = [] } = one
  const whom = applicable_members === undefined ? '' : ` (${applicable_members.map(memberText).join(', ')})`
  const asked = actions.filter(({ action_id }) => answers.includes(action_id)).map((by) => by.question ?? by.reason)
  const question = asked.length === 0 ? '' : `, in answer to ${JSON.stringify(oneLine(asked.join(' / ')))}`
  return `${lineOf(decision)}${whom}${question}${reason === undefined ? '' : `, since ${oneLine(reason)}`}`
}

function ownerLine(one: InitiativeContext['owner_actions'][number]): string {
  const { action, member, reason, lifted, override } = one
  const what = [action, override, lifted === true ? 'lifted' : undefined].filter((word) => word !== undefined).join(' ')
  return `${what}${member === undefined ? '' : ` ${memberText(member)}`}: ${oneLine(reason)}`
}

function assessedLine({ actions }: InitiativeContext, one: InitiativeContext['assessments'][number]): string {
  const { steer_id, outcome, decision, detail } = one
  const member = actions.find((action) => action.steer_id === steer_id)?.member
  const about = member === undefined ? '' : ` ${memberText(member)}`
  return `${decision ?? 'no decision'}${about}, ${outcome}${detail === undefined ? '' : `: ${oneLine(detail)}`}`
}

function findingLine({ finding_id, kind, text }: Finding): string {
  return `${finding_id} (${kind}): ${oneLine(text)}`
}
