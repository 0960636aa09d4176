/** What a work item's six events assert: what was asked for, its state, and how it ended. */
import { isSettledItem } from '../documents/work-item.ts'
import type { SnapshotOf } from '../machine.ts'
import { members, type Testimony } from '../testimony.ts'
import type { WorkItemContext } from './context.ts'

const ASKED = ['objective', 'kind', 'lane', 'origin', 'not_before'] as const

export const workItemTestimony: Testimony<WorkItemContext> = {
  idMember: 'item_id',
  types: new Set(
    ['submitted', 'started', 'settled', 'cancelled', 'held', 'released'].map((name) => `work_item_${name}`),
  ),
  aspects: ({ event_type }) => (event_type === 'work_item_submitted' ? ['creation', 'state'] : ['state']),
  claims: (aspect, { project, trace_id, payload }) =>
    aspect === 'creation'
      ? { project, trace_id, ...members(payload, ...ASKED) }
      : members(payload, 'state', 'depends_on', 'disposition'),
  held: ({ value, context }: SnapshotOf<WorkItemContext>) => ({
    state: value,
    ...members(context, 'project', 'trace_id'),
    ...members(context.asked, ...ASKED),
    depends_on: context.depends_on.length === 0 ? undefined : context.depends_on,
    disposition: isAnnounced(value, context) ? context.disposition : undefined,
  }),
  madeAt: ({ announced_at }) => announced_at,
}

/**
 * Whether an event states the disposition. An item that ended before it began may still learn that the run it was taken
 * back from has landed; no event says so.
 */
function isAnnounced(state: string, { started_at }: WorkItemContext): boolean {
  return isSettledItem(state) && (started_at !== undefined || state === 'landed')
}
