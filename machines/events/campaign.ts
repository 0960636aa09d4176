/** Campaign formation (SPEC 6.8) and owners' moves. Engines and people state requests; the service states all else. */
import { count, exactlyWith, onlyWith, openObject, rule, stringEnum, Type } from '../schema.ts'
import { engineEvent, serviceEvent } from './event-type.ts'
import { gateResult } from './gates.ts'
import { taskRunCompleted } from './task.ts'

const campaign = Type.String({ description: 'campaign name' })
const project = Type.String({ description: 'registered project name' })
const reason = Type.String()
const cycles = {
  cycles_completed: count('tasks dispatched by the campaign'),
  cycles_landed: count('task results whose landed field was true'),
}

/** The members of every terminal campaign event. */
const terminal = { campaign, project, reason, ...cycles }

const advanceCompleted = openObject(
  {
    campaign,
    project,
    ...cycles,
    success: Type.Boolean({ description: 'true for a decision or a stand-down, false for a fault' }),
    decision: stringEnum(['done', 'advance', 'escalate', 'stood_down']),
    campaign_status: Type.Optional(
      stringEnum(['paused', 'cancelled', 'completed', 'escalated'], {
        description: 'status that stopped the advance',
      }),
    ),
    objective: Type.Optional(Type.String({ description: 'exactly one next task objective' })),
    reason: Type.String({ description: 'evidence or gap behind the decision, or why the advance stood down' }),
    prompt: Type.Optional(Type.String({ description: 'exact prompt shown to the formation agent' })),
    agent_provider: Type.Optional(Type.String({ description: 'provider used for the decision' })),
    gate_results: Type.Array(gateResult, { description: 'results of the campaign done-evidence gates' }),
  },
  {
    rules: [
      exactlyWith('decision', ['stood_down'], 'campaign_status'),
      exactlyWith('decision', ['advance'], 'objective'),
    ],
  },
)

const cancelled = openObject(
  {
    ...terminal,
    terminated_now: Type.Boolean({ description: 'the in-flight workflow was aborted rather than left to finish' }),
    discard_work: Type.Boolean({ description: "the terminated cycle's uncommitted work was thrown away" }),
    aborted_event_id: Type.Optional(Type.String({ description: 'root event of the aborted workflow' })),
    aborted_trace_id: Type.Optional(Type.String({ description: 'trace of the aborted workflow' })),
  },
  {
    rules: [
      onlyWith('terminated_now', [true], 'aborted_event_id', 'aborted_trace_id'),
      rule('discard_work', [true], {
        terminated_now: { const: true, description: 'only a terminated cycle has work to discard' },
      }),
    ],
  },
)

/** The members of an owner's move: the campaign, its status now, its budget, and who says why. */
const moved = {
  campaign,
  status: Type.String(),
  project: Type.Optional(project),
  reason: Type.Optional(reason),
  decision: Type.Optional(Type.String()),
  from_trunk: Type.Optional(Type.Boolean({ description: 'its next task starts from trunk, not from kept work' })),
  authorized_by: Type.Optional(Type.String()),
  budget: Type.Optional(openObject({ max_cycles: count('maximum number of tasks it may dispatch in all') })),
}
const ownerMove = openObject(moved)
const added = openObject({ ...moved, mission: Type.Optional(Type.String({ description: 'what is to be achieved' })) })

export const campaignEvents = {
  campaign_advance_requested: engineEvent(
    '6.8',
    'request to re-evaluate a durable campaign',
    openObject({
      campaign,
      run_event_id: Type.Optional(Type.String({ description: 'typed task result that triggered the advance' })),
      run_result: Type.Optional(taskRunCompleted),
    }),
    { opensSpan: true },
  ),
  campaign_advance_completed: serviceEvent(
    '6.8',
    'formation chose done, one next objective, or escalation; or the advance stood down',
    advanceCompleted,
  ),
  campaign_paused: serviceEvent(
    '6.8',
    'provider unavailability paused a non-terminal campaign',
    openObject({
      campaign: Type.Optional(campaign),
      project: Type.Optional(project),
      reason: Type.Optional(reason),
      cycles_completed: Type.Optional(cycles.cycles_completed),
      cycles_landed: Type.Optional(cycles.cycles_landed),
    }),
  ),
  campaign_escalated: serviceEvent('6.8', 'halted for budget, failure, rule or owner judgment', openObject(terminal)),
  campaign_completed: serviceEvent('6.8', 'done-evidence proved the mission complete', openObject(terminal)),
  campaign_cancelled: serviceEvent('6.8', 'an owner abandoned the mission before its evidence was met', cancelled),

  campaign_added: serviceEvent('own', 'a campaign entered the store', added),
  campaign_owner_paused: serviceEvent('own', 'an owner paused a campaign', ownerMove),
  campaign_resumed: serviceEvent('own', 'an owner resumed a campaign', ownerMove),
  campaign_decided: serviceEvent('own', 'an owner answered the question of a campaign', ownerMove),
}
