/** Which members can advance, and why others cannot: first what an owner said about them, then their state. */
import { digestOf } from '../digest.ts'
import type { OwnerAction } from '../documents/initiative.ts'
import { isSameMember, type Member, memberText } from '../documents/member.ts'
import type { InitiativeContext, MemberView, View } from './context.ts'

/** States in which a member can advance when asked to. A held work item only if this initiative holds it. */
const ABLE_STATES: Readonly<Record<Member['kind'], readonly string[]>> = {
  campaign: ['staged', 'active'],
  work_item: ['held'],
  project: ['active'],
}

export function isMember({ members }: Pick<InitiativeContext, 'members'>, member: Member): boolean {
  return members.some((one) => isSameMember(one, member))
}

export function memberViewOf({ members }: View, member: Member): MemberView | undefined {
  return members.find((memberView) => isSameMember(memberView.member, member))
}

/** What the owner's actions, applied in order, say against the member; undefined if nothing. */
function ownersWord(actions: readonly OwnerAction[], member: Member): string | undefined {
  let isAllHeld = false
  let isHeld = false
  let override: OwnerAction['override']
  for (const one of actions) {
    const lifted = one.lifted === true
    if (one.action === 'hold' && one.member === undefined) isAllHeld = !lifted
    if (!isSameMember(one.member, member)) continue
    if (one.action === 'hold') isHeld = !lifted
    if (one.action === 'member_override') override = one.override
    if (override === 'include' && one.action === 'member_override') isHeld = false
  }
  if (override === 'exclude') return 'its owner excludes it'
  if (isHeld) return 'its owner holds it'
  return isAllHeld && override !== 'include' ? 'the owner holds the initiative' : undefined
}

/** Drops the oldest action without effect if there are more than `most`; a hold is kept until lifted, however old. */
export function keptActions(actions: readonly OwnerAction[], most: number): readonly OwnerAction[] {
  if (actions.length <= most) return actions
  const idle = actions.findIndex((_, i) => i < actions.length - 1 && !isLastWord(actions, i))
  return idle < 0 ? actions : actions.toSpliced(idle, 1)
}

function isLastWord(actions: readonly OwnerAction[], place: number): boolean {
  const { action, member } = actions[place]!
  const isSame = (one: OwnerAction): boolean => one.action === action && isSameMember(one.member, member)
  return action !== 'milestone' && !actions.slice(place + 1).some(isSame)
}

type Standing =
  | { readonly is: 'able' }
  /** What a decision would ask for is already under way. */
  | { readonly is: 'under_way'; readonly why: string }
  | { readonly is: 'barred'; readonly why: string }

const ABLE: Standing = { is: 'able' }

/** Whether the member can advance when asked to, and if not, why. */
export function standingOf(context: InitiativeContext, memberView: MemberView, { items }: View): Standing {
  const { member, state, busy, barred } = memberView
  const word = ownersWord(context.owner_actions, member)
  if (word !== undefined) return { is: 'barred', why: word }
  const open = context.questions.find((one) => isSameMember(one.member, member))
  if (open !== undefined) return { is: 'barred', why: `it waits for an owner’s decision (${open.kind})` }
  if (busy !== undefined) return { is: 'under_way', why: busy }
  if (barred !== undefined && member.kind !== 'project') return { is: 'barred', why: barred }
  if (!ABLE_STATES[member.kind].includes(state)) return { is: 'barred', why: `it is ${state}` }
  if (member.kind === 'work_item')
    return memberView.held_by_us === true ? ABLE : { is: 'barred', why: 'a person holds it' }
  const own = member.kind === 'project' ? items.find(({ project }) => project === member.ref) : undefined
  return own === undefined ? ABLE : { is: 'under_way', why: `${own.item_id} is ${own.state}` }
}

/** The members that can advance; if one is pinned, at most that one. */
export function eligibleMembers(context: InitiativeContext, view: View, pinned?: Member): readonly Member[] {
  return view.members
    .filter(({ member }) => pinned === undefined || isSameMember(member, pinned))
    .filter((memberView) => standingOf(context, memberView, view).is === 'able')
    .map(({ member }) => member)
}

/** One line saying why no member can advance. */
export function whyNone(context: InitiativeContext, view: View, pinned?: Member): string {
  const reasons = view.members
    .filter(({ member }) => pinned === undefined || isSameMember(member, pinned))
    .map((memberView) => [memberText(memberView.member), standingOf(context, memberView, view)] as const)
    .map(([member, standing]) => (standing.is === 'able' ? member : `${member}: ${standing.why}`))
  return `no member can advance (${reasons.join('; ')})`
}

/**
 * Hash of everything that a decision is based on: if it differs, something has changed meanwhile. Progress of work that
 * stays under way does not change it; the end of that work does.
 */
export function fingerprint(context: InitiativeContext, { members, items }: View): string {
  return digestOf({
    members: members.map(({ member, state, busy, barred, mark = null }) => [
      memberText(member),
      busy === undefined ? state : 'under way',
      mark,
      ...(barred === undefined ? [] : [barred]),
    ]),
    items: items.map(({ item_id }) => item_id).sort(),
    questions: context.questions.map(({ id }) => id),
    owner_decisions: context.owner_decisions.map(({ at }) => at),
    owner_actions: context.owner_actions.map(({ action_id }) => action_id),
    findings: context.findings.map(({ finding_id }) => finding_id),
    actions: context.actions_applied,
  })
}
