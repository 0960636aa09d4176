/** What a hypothesis' events assert: its origin, its state, and what it became. */
import { members, type Testimony } from '../testimony.ts'
import type { HypothesisContext } from './context.ts'

export const hypothesisTestimony: Testimony<HypothesisContext> = {
  idMember: 'hypothesis_id',
  types: new Set(['opened', 'seen_again', 'accepted', 'relinked', 'rejected'].map((type) => `hypothesis_${type}`)),
  aspects: ({ event_type }) => (event_type === 'hypothesis_opened' ? ['creation', 'state'] : ['state']),
  claims: (aspect, { project, payload }) =>
    aspect === 'creation' ? { project, key: payload.key } : members(payload, 'state', 'intent_record_id', 'reason'),
  held: ({ value, context }) => ({
    state: value,
    key: context.says.key,
    ...members(context, 'project', 'intent_record_id', 'reason'),
  }),
  madeAt: ({ created_at }) => created_at,
}
