/** What a campaign that an earlier version has stored is to this one. */
import type { SnapshotOf } from '../machine.ts'
import type { CampaignContext } from './context.ts'

/**
 * Whether a runner has begun its cycle was not heard: it counts, as it did. Paused with a question open it was escalated
 * when it was paused, and nobody has answered.
 */
export function toVersion7(snapshot: SnapshotOf<CampaignContext>): SnapshotOf<CampaignContext> {
  const { value, context } = snapshot
  const { work, paused, question } = context
  const begun = work?.role === 'cycle' ? { work: { ...work, begun: true } as const } : {}
  const isAsked = value === 'paused' && paused?.by === 'owner' && question !== undefined
  const asked = isAsked ? { paused: { ...paused, escalated: `its task needs a decision: ${question.finding}` } } : {}
  return { ...snapshot, context: { ...context, ...begun, ...asked } }
}
