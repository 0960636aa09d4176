/**
 * Actions of owners on a campaign: advance, pause, resume, decide, complete, cancel. Each is one message to its actor.
 */
import type { CampaignContext } from '../../machines/campaign/context.ts'
import {
  campaignAdvanceBody,
  campaignCancelBody,
  campaignCompleteBody,
  campaignDecideBody,
  campaignDocument,
  campaignPauseBody,
  campaignResumeBody,
} from '../../machines/documents/campaign.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import { readable } from '../../runtime/reader.ts'
import { Filter } from '../../runtime/stream/filter.ts'
import { findEvents } from '../../runtime/stream/find-events.ts'
import { campaignDocumentOf, visibleCampaign } from '../resources/campaign-answers.ts'
import { type Move, type Moved, moveRoute, tellMoved } from '../resources/moves.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

type Campaign = SnapshotOf<CampaignContext>

const campaigns: Moved<Campaign> = {
  path: '/api/campaigns/:name',
  noun: 'Campaign',
  area: 'campaigns',
  answer: { description: 'The campaign.', schema: campaignDocument },
  find: visibleCampaign,
  refOf: ({ context }) => ({ kind: 'campaign', id: context.name }),
  documentOf: (service, { principal }, campaign) => campaignDocumentOf(service, principal, campaign),
}

const moves: readonly Move<Campaign>[] = [
  {
    name: 'advance',
    summary: 'Ask for the campaign’s next step: a read-only run forms it, and the service acts on the decision.',
    description:
      'The campaign must be staged or active. After its first step it advances by itself with each task result.',
    body: { schema: campaignAdvanceBody, optional: true },
    makesWork: true,
  },
  {
    name: 'pause',
    summary:
      'Pause a campaign: a formation stands down, a task that has not begun waits, and a running task continues and its result is kept.',
    description: 'The question of an escalated campaign stays open.',
    body: { schema: campaignPauseBody, optional: true },
  },
  {
    name: 'resume',
    summary: 'Resume a paused or escalated campaign.',
    description:
      'A campaign that was escalated when it was paused is `escalated` again and waits for its answer. ' +
      'If its budget is used up, `add_cycles` is needed. If the base of its next task cannot be found, resume it with `from_trunk`.',
    body: { schema: campaignResumeBody, optional: true },
    makesWork: true,
  },
  {
    name: 'decide',
    summary: 'Answer an escalated campaign: it continues, bound by the decision.',
    body: { schema: campaignDecideBody },
    makesWork: true,
  },
  {
    name: 'complete',
    summary: 'Complete a campaign, whatever its evidence says.',
    body: { schema: campaignCompleteBody },
  },
]

export function campaignMoveRoutes(service: ServiceContext): readonly Route[] {
  return [...moves.map((move) => moveRoute(service, campaigns, move)), cancelRoute(service)]
}

function cancelRoute(service: ServiceContext): Route {
  const cancel: Move<Campaign> = {
    name: 'cancel',
    summary: 'Cancel a campaign. Its running cycle finishes, or is stopped with `now`.',
    description:
      'Without `now` it is cancelled at once, and a cycle that has begun finishes and its work is preserved. With `now` its ' +
      'cycle is stopped first: it is `cancelling` until the cycle has ended or its grace period has passed. A formation ' +
      'stands down either way. A repeated call may add `now` or `discard_work`.',
    body: { schema: campaignCancelBody },
  }
  const handle = (exchange: Exchange) => {
    const campaign = visibleCampaign(service, exchange)
    if (campaign === undefined) return
    const message = { type: 'cancel', ...exchange.body }
    const { work } = campaign.context
    if (exchange.body.now !== true || work === undefined)
      return tellMoved(service, exchange, campaigns, campaign, message)
    exchange.await(rootOfRun(service, campaign.context.project, work.trace_id), (event_id) => {
      const isAborting = event_id !== undefined && (work.role === 'cycle' || isBegun(service, work.item_id))
      const aborting = isAborting ? { aborting: { item_id: work.item_id, event_id } } : {}
      tellMoved(service, exchange, campaigns, campaign, { ...message, ...aborting })
    })
  }
  return { ...moveRoute(service, campaigns, cancel), handle }
}

/** Whether a runner is working on the item, as far as its record can be read. */
function isBegun({ runtime }: ServiceContext, id: string): boolean {
  const item: SnapshotOf<WorkItemContext> | undefined = readable(() => runtime.read({ kind: 'work_item', id }))
  return item?.value === 'running' && item.context.run?.reported !== true
}

/**
 * The event that created the latest run of the item with this trace; undefined if it was never handed out. Only events
 * of the project and of this type count, since others may use the trace, too.
 */
async function rootOfRun({ runtime }: ServiceContext, project: string, traceId: string): Promise<string | undefined> {
  const { journal, readTurns } = runtime
  const filter = new Filter({ trace_id: [traceId], event_type: ['run_request_created'], project: [project] }, undefined)
  const hint = { of: 'trace', ids: [traceId] } as const
  const query = { filter, order: 'desc', from: journal.lastSequence + 1, limit: 1, hint } as const
  const { texts } = await findEvents(journal, readTurns, query, () => true)
  return texts[0] === undefined ? undefined : (JSON.parse(texts[0]) as { id: string }).id
}
