/** What a work item states about itself (SPEC 6.9): six events with one payload shape; the type names the point. */
import { isSettledItem, type WorkItemState } from '../documents/work-item.ts'
import type { OwnFact } from '../machine.ts'
import type { WorkItemContext } from './context.ts'

type WorkItemEventType =
  | 'work_item_submitted'
  | 'work_item_started'
  | 'work_item_settled'
  | 'work_item_cancelled'
  | 'work_item_held'
  | 'work_item_released'

/** `state` is the state the item has just entered. */
export function itemFact(type: WorkItemEventType, context: WorkItemContext, state: WorkItemState): OwnFact {
  const { asked, depends_on, disposition } = context
  const action = latestAction(context)
  return {
    type,
    payload: {
      ...(depends_on.length === 0 ? {} : { depends_on }),
      ...(disposition === undefined || !isSettledItem(state) ? {} : { disposition }),
      item_id: context.id,
      kind: asked.kind,
      lane: asked.lane,
      ...(asked.not_before === undefined ? {} : { not_before: asked.not_before }),
      objective: asked.objective,
      ...(action === undefined ? {} : { operator_action: action }),
      origin: asked.origin,
      project: context.project,
      reason: context.reason,
      state,
    },
  }
}

/** The members of SPEC 6.9. When and by whom are left out: they are in the envelope, and in the item's own history. */
function latestAction({ operator_actions }: WorkItemContext): object | undefined {
  const last = operator_actions.at(-1)
  if (last === undefined) return undefined
  const { at: _at, by: _by, ...action } = last
  return action
}
