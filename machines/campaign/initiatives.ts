/**
 * A campaign as a member of initiatives: what they have found is shown to its formations, and they hear how its cycles
 * settle, with what the formation of each had seen. Whether a finding was consumed is for the initiative to say.
 */

import type { CampaignContext, CampaignMessage, Of, SharedFinding } from './context.ts'
import type { Draft } from './draft.ts'

/** The newest ones are kept; each is shown in every prompt. */
const FINDINGS_MAX = 16
/** Initiatives that it tells. */
const INITIATIVES_MAX = 16
/** Cycles whose findings are remembered: preserved work may land later. */
const CYCLES_MAX = 16

type Internal = CampaignContext['internal']

export function join(draft: Draft, { initiative }: Of<'join_initiative'>): void {
  const { initiatives = [] } = draft.context.internal
  draft.keep({
    initiatives: [...initiatives.filter((name) => name !== initiative), initiative].slice(-INITIATIVES_MAX),
  })
}

/** What it had found is shown no more. */
export function leave(draft: Draft, { initiative }: Of<'leave_initiative'>): void {
  const { findings = [] } = draft.context.internal
  draft.keep({ findings: findings.filter((one) => one.initiative !== initiative) })
}

export function share(draft: Draft, { finding }: Of<'share_finding'>): void {
  const { findings = [] } = draft.context.internal
  const others = findings.filter(({ finding_id }) => finding_id !== finding.finding_id)
  draft.keep({ findings: [...others, finding].slice(-FINDINGS_MAX) })
}

export function isKnown({ internal }: CampaignContext, message: CampaignMessage): boolean {
  const { initiatives = [], findings = [] } = internal
  if (message.type === 'join_initiative') return initiatives.includes(message.initiative)
  return message.type === 'share_finding' && findings.some((one) => one.finding_id === message.finding.finding_id)
}

/** The formation that has just begun sees these. */
export function seenNow({ internal }: CampaignContext): { forming?: readonly SharedFinding[] } {
  const { findings = [] } = internal
  return findings.length === 0 ? {} : { forming: findings }
}

/** The cycle is told what its formation saw, and that is remembered until it has landed. */
export function handOn(draft: Draft, item_id: string): void {
  const { forming, seen = {} } = draft.context.internal
  if (forming === undefined) return
  const cycles = [...Object.entries(seen), [item_id, forming] as const].slice(-CYCLES_MAX)
  draft.keep({ seen: Object.fromEntries(cycles), forming: undefined })
}

export function toldOf({ forming }: Internal): { findings?: readonly SharedFinding[] } {
  return forming === undefined ? {} : { findings: forming }
}

/** Each of its initiatives hears of the end of a cycle. */
export function tellInitiatives(draft: Draft, message: CampaignMessage): void {
  const { initiatives = [], seen = {} } = draft.context.internal
  if (message.type !== 'item_settled' || message.role !== 'cycle') return
  const { item_id, state, terminal, on_trunk } = message
  for (const id of initiatives) {
    const ofIts = (seen[item_id] ?? []).filter(({ initiative }) => initiative === id)
    const news = {
      type: 'member_cycle_settled',
      item_id,
      member: { kind: 'campaign', ref: draft.context.name },
      finding_ids: ofIts.map(({ finding_id }) => finding_id),
      state,
      ...(terminal === undefined ? {} : { terminal }),
      ...(on_trunk === undefined ? {} : { on_trunk }),
    }
    draft.sends.push({ to: { kind: 'initiative', id }, message: news })
  }
}
