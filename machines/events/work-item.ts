/**
 * The work-item ledger (SPEC 6.9): six events report one durable record at different points of its life, with one
 * payload shape; the type names the point, and `state` is the item's state (SPEC 3.1).
 */
import { OPERATOR_COMMANDS, SETTLED_STATES, WORK_ITEM_KINDS, WORK_ITEM_STATES } from '../documents/work-item.ts'
import { LANES } from '../run-request/lanes.ts'
import { never, onlyWith, openObject, stringEnum, Type, timestamp } from '../schema.ts'
import { serviceEvent } from './event-type.ts'

export const lane = stringEnum(LANES)

const state = stringEnum(WORK_ITEM_STATES)

const disposition = openObject({
  verdict: Type.Optional(Type.String({ description: "reviewer's typed verdict tag for a task-shaped settlement" })),
  landed_commit: Type.Optional(Type.String({ description: 'trunk commit the work landed as' })),
  preservation_ref: Type.Optional(Type.String({ description: 'branch or bundle:<path> holding unlanded work' })),
  worktree: Type.Optional(Type.String({ description: 'isolated worktree used' })),
  worktree_removed: Type.Optional(Type.Boolean({ description: 'worktree gone by settlement time' })),
})

const operatorAction = openObject({
  command: stringEnum(OPERATOR_COMMANDS),
  origin: Type.String({ description: 'hostname and context of the owner' }),
  previous_state: state,
  previous_reason: Type.String(),
  previous_settled_at: Type.Optional(timestamp()),
})

const fields = {
  item_id: Type.String({ pattern: '^wi_', description: 'stable id' }),
  project: Type.String({ description: 'registered project name' }),
  objective: Type.String({ description: 'task description or campaign objective' }),
  kind: stringEnum(WORK_ITEM_KINDS),
  lane,
  state,
  reason: Type.String({ description: 'one line: why the item is in that state' }),
  origin: Type.String({ description: 'opaque submitter text, never interpreted' }),
  depends_on: Type.Optional(
    Type.Array(Type.String(), { minItems: 1, description: 'items this one waits on; omitted when empty' }),
  ),
  not_before: Type.Optional(timestamp('earliest time the scheduler may start it')),
  disposition: Type.Optional(disposition),
  operator_action: Type.Optional(operatorAction),
}

const noDisposition = Type.Unsafe<never>(never('present only on a settlement'))

/** For events at which an item has not settled. */
const open = openObject({ ...fields, disposition: Type.Optional(noDisposition) })
/** For events at which an item has settled, or may have. */
const settled = openObject(fields, { rules: [onlyWith('state', SETTLED_STATES, 'disposition')] })

export const workItemEvents = {
  work_item_submitted: serviceEvent('6.9', 'a unit of work entered the ledger', open),
  work_item_started: serviceEvent('6.9', 'an agent started on an item', open),
  work_item_settled: serviceEvent('6.9', 'item reached a settled state, with its disposition', settled),
  work_item_cancelled: serviceEvent('6.9', 'an operator stopped an item', settled),
  work_item_held: serviceEvent('6.9', "an operator took a queued item out of the scheduler's hands", open),
  work_item_released: serviceEvent('6.9', 'an operator returned an item to the queue', open),
}
