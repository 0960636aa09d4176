/**
 * A campaign as a member of initiatives: their findings are shown to its formations, and they hear how its cycles
 * settle and which findings the formation of each was shown. The initiative decides whether a finding was consumed.
 */

import type { Messages } from '../messages.ts'
import type { CampaignContext, CampaignMessage, Of, SharedFinding } from './context.ts'
import type { Draft } from './draft.ts'

/** How many findings are kept, the newest ones; each is shown in every prompt. */
const FINDINGS_MAX = 16
/** How many initiatives it is a member of, the newest. */
const INITIATIVES_MAX = 16
/** How many cycles' findings are remembered: preserved work may land later. */
const CYCLES_MAX = 16

type Internal = CampaignContext['internal']

export function join(draft: Draft, { initiative }: Of<'join_initiative'>): void {
  const { initiatives = [] } = draft.context.internal
  draft.keep({
    initiatives: [...initiatives.filter((name) => name !== initiative), initiative].slice(-INITIATIVES_MAX),
  })
}

/** An initiative it leaves shows it nothing more, and hears only of cycles whose formation saw what it had found. */
export function leave(draft: Draft, { initiative }: Of<'leave_initiative'>): void {
  const { initiatives = [], findings = [] } = draft.context.internal
  draft.keep({
    initiatives: initiatives.filter((name) => name !== initiative),
    findings: findings.filter((one) => one.initiative !== initiative),
  })
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

/** The findings that the formation just begun is shown. */
export function seenNow({ internal }: CampaignContext): { forming?: readonly SharedFinding[] } {
  const { findings = [] } = internal
  return findings.length === 0 ? {} : { forming: findings }
}

/** Gives the cycle the findings that its formation was shown, and remembers them until the cycle's work has landed. */
export function handOn(draft: Draft, item_id: string): void {
  const { forming, seen = {} } = draft.context.internal
  if (forming === undefined) return
  const cycles = [...Object.entries(seen), [item_id, forming] as const].slice(-CYCLES_MAX)
  draft.keep({ seen: Object.fromEntries(cycles), forming: undefined })
}

export function toldOf({ forming }: Internal): { findings?: readonly SharedFinding[] } {
  return forming === undefined ? {} : { findings: forming }
}

/** Tells its initiatives that a cycle has ended, and those it has left whose findings the cycle's formation saw. */
export function tellInitiatives(draft: Draft, message: CampaignMessage): void {
  const { initiatives = [], seen = {} } = draft.context.internal
  if (message.type !== 'item_settled' || message.role !== 'cycle') return
  const { item_id, state, terminal, on_trunk } = message
  const shown = seen[item_id] ?? []
  for (const id of new Set([...initiatives, ...shown.map(({ initiative }) => initiative)])) {
    const ofIts = shown.filter(({ initiative }) => initiative === id)
    const news: Messages['initiative'] = {
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
