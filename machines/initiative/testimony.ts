/** What an initiative's events assert about it. Requests and actions may be emitted by others, and assert nothing. */
import type { SnapshotOf } from '../machine.ts'
import { members, type Testimony } from '../testimony.ts'
import type { InitiativeContext } from './context.ts'
import { statusOf } from './rules.ts'

const ADDED = ['outcome', 'projects', 'intent_refs', 'members', 'authorized_by', 'budget'] as const
const LIFECYCLE = ['initiative_added', 'initiative_decided', 'initiative_completed', 'initiative_cancelled']

export const initiativeTestimony: Testimony<InitiativeContext> = {
  idMember: 'initiative',
  types: new Set([
    ...LIFECYCLE,
    'initiative_steered',
    'initiative_owner_action_recorded',
    'finding_recorded',
    'finding_consumed',
  ]),
  aspects: ({ event_type }) => {
    if (event_type === 'initiative_added') return ['creation', 'state']
    if (LIFECYCLE.includes(event_type)) return ['state']
    return event_type === 'initiative_steered' ? ['run'] : []
  },
  claims: (aspect, { payload }) => {
    if (aspect === 'creation') return members(payload, ...ADDED)
    if (aspect === 'run') return { steer_id: payload.steer_id, steered: payload.outcome }
    return members(payload, 'status')
  },
  held: ({ value, context }: SnapshotOf<InitiativeContext>) => ({
    status: statusOf(value),
    ...members(context, ...ADDED),
    steer_id: context.assessments.at(-1)?.steer_id,
    steered: context.assessments.at(-1)?.outcome,
  }),
  madeAt: ({ created_at }) => created_at,
}
