/** What owners say of a campaign: advance, pause, resume, decide, complete, cancel. Each is one message to it. */
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
import type { MessageBody, SnapshotOf } from '../../machines/machine.ts'
import { Filter } from '../../runtime/stream/filter.ts'
import { findEvents } from '../../runtime/stream/find-events.ts'
import { campaignDocumentOf, visibleCampaign } from '../campaign-answers.ts'
import type { Exchange } from '../exchange.ts'
import { markCursor, refuse } from '../replies.ts'
import type { Route, RouteBody, ServiceContext } from '../route.ts'
import { activeProject } from './work-items.ts'

type Campaign = SnapshotOf<CampaignContext>

interface Move {
  readonly name: string
  readonly summary: string
  readonly description?: string
  readonly body: RouteBody
  /** It makes work, which an archived project does not take. */
  readonly makesWork?: true
}

const moves: readonly Move[] = [
  {
    name: 'advance',
    summary: 'Ask for its next step: a read-only run forms it, and the service decides upon it.',
    description: 'Of one that is staged or active. After its first step it advances by itself, with each task result.',
    body: { schema: campaignAdvanceBody, optional: true },
    makesWork: true,
  },
  {
    name: 'pause',
    summary: 'Let nothing follow: what forms stands down, a task that is under way goes on and its result is kept.',
    body: { schema: campaignPauseBody, optional: true },
  },
  {
    name: 'resume',
    summary: 'Go on with one that is paused or escalated.',
    description: 'One whose budget is used up needs `add_cycles`.',
    body: { schema: campaignResumeBody, optional: true },
    makesWork: true,
  },
  {
    name: 'decide',
    summary: 'Answer what an escalated one asks: it goes on, bound by the decision.',
    body: { schema: campaignDecideBody },
    makesWork: true,
  },
  {
    name: 'complete',
    summary: 'Say that its mission is complete, whatever its evidence says.',
    body: { schema: campaignCompleteBody },
  },
]

export function campaignMoveRoutes(service: ServiceContext): readonly Route[] {
  return [...moves.map((move) => moveRoute(service, move)), cancelRoute(service)]
}

function route(move: Move, handle: Route['handle']): Route {
  const { name, summary, description, body, makesWork } = move
  return {
    method: 'POST',
    path: `/api/campaigns/:name/${name}`,
    area: 'campaigns',
    summary,
    ...(description === undefined ? {} : { description }),
    access: { right: 'work.operate' },
    body,
    answers: { 200: { description: 'The campaign.', schema: campaignDocument } },
    problems: ['not_found', 'illegal_move', ...(makesWork ? (['project_archived'] as const) : [])],
    handle,
  }
}

function moveRoute(service: ServiceContext, move: Move): Route {
  return route(move, (exchange) => {
    const campaign = visibleCampaign(service, exchange)
    if (campaign === undefined) return
    const { project_id } = campaign.context
    if (move.makesWork && activeProject(service, exchange, project_id) === undefined) return
    tell(service, exchange, campaign, { type: move.name, ...exchange.body })
  })
}

function cancelRoute(service: ServiceContext): Route {
  const cancel: Move = {
    name: 'cancel',
    summary: 'Give it up. Its running cycle finishes, or is stopped with `now`.',
    description:
      'Without `now` it is cancelled at once, and a cycle that has begun finishes and is preserved. With `now` its ' +
      'cycle is stopped first: it is `cancelling` until that has ended or its grace has passed.',
    body: { schema: campaignCancelBody },
  }
  return route(cancel, (exchange) => {
    const campaign = visibleCampaign(service, exchange)
    if (campaign === undefined) return
    const message = { type: 'cancel', ...exchange.body }
    const { work } = campaign.context
    if (exchange.body.now !== true || work?.role !== 'cycle') return tell(service, exchange, campaign, message)
    rootOfRun(service, work.trace_id).then(
      (event_id) => {
        const aborting = event_id === undefined ? {} : { aborting: { item_id: work.item_id, event_id } }
        if (!exchange.done) tell(service, exchange, campaign, { ...message, ...aborting })
      },
      (error: Error) => exchange.fault(error),
    )
  })
}

/** The event that made the run which the item of this trace was handed out as last; undefined: it never was. */
async function rootOfRun({ runtime }: ServiceContext, traceId: string): Promise<string | undefined> {
  const { journal, nature } = runtime
  const filter = new Filter({ trace_id: [traceId], event_type: ['run_request_created'] }, undefined)
  const hint = { of: 'trace', ids: [traceId] } as const
  const query = { filter, order: 'desc', from: journal.lastSequence + 1, limit: 1, hint } as const
  const { texts } = await findEvents(journal, nature, query, () => true)
  return texts[0] === undefined ? undefined : (JSON.parse(texts[0]) as { id: string }).id
}

function tell(service: ServiceContext, exchange: Exchange, { context }: Campaign, body: object): void {
  const message = { by: exchange.by, ...body } as MessageBody
  service.runtime.ask({ kind: 'campaign', id: context.name }, message, (answer) => {
    if (exchange.done) return
    if (!answer.ok) return refuse(exchange, answer)
    markCursor(service, exchange, answer.sequence)
    exchange.answer(200, campaignDocumentOf(service, exchange.principal, answer.snapshot))
  })
}
