/** Campaigns: added, listed, read. The actions of owners are in campaign-moves. */
import { DEFAULT_MAX_CYCLES } from '../../machines/bounds.ts'
import {
  CAMPAIGN_STATUSES,
  type CampaignCreate,
  campaignCreateBody,
  campaignDocument,
} from '../../machines/documents/campaign.ts'
import type { MessageBody, Reply } from '../../runtime/api.ts'
import { usageOf } from '../../runtime/entities/usage.ts'
import { mayAuthorize } from '../access.ts'
import { createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, isAmong, listAnswer, listQuery, projectFilter, projectList, stateFilter } from '../lists.ts'
import { located, markCursor, onNamed } from '../replies.ts'
import { campaignDocumentOf, findCampaign, visibleCampaign } from '../resources/campaign-answers.ts'
import { mayBePinned } from '../resources/pinned-runner.ts'
import { statedProject, takesWork } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'campaigns'
const one = { description: 'The campaign.', schema: campaignDocument }

export function campaignRoutes(service: ServiceContext): readonly Route[] {
  return [createRoute(service), listRoute(service), readRoute(service)]
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/campaigns',
    operation: 'createCampaign',
    area: AREA,
    summary: 'Add a campaign: a mission pursued one task at a time until its done-evidence holds.',
    description:
      'It is staged until it is advanced. Whoever adds it is responsible for what it starts, unless `authorized_by` says ' +
      'otherwise, which needs the right `approve.full`: its work runs with throttle `full`.',
    access: { right: 'work.submit' },
    body: { schema: campaignCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located({ ...one, description: 'Staged.' }),
      200: {
        ...one,
        description: 'The campaign added earlier with this key.',
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['unknown_project', 'project_archived', 'already_exists', 'idempotency_key_reused'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const body = exchange.body as CampaignCreate
  const project = statedProject(service, exchange, body.project)
  if (project === undefined) return
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return
  // A run answers for nothing: the first advance escalates, and whoever resumes the campaign then does.
  const whoAdds = exchange.principal.kind === 'run' ? null : exchange.by.name
  const { budget = {}, authorized_by = whoAdds, project: _, ...asked } = body
  const { id, key: projectKey, repository } = project.context
  const message = {
    type: 'create',
    by: exchange.by,
    ...asked,
    project: projectKey,
    project_id: id,
    max_cycles: budget.max_cycles ?? DEFAULT_MAX_CYCLES,
    ...(repository === undefined ? {} : { repository }),
    ...(authorized_by === null ? {} : { authorized_by }),
  } as MessageBody
  const make = () => {
    const isTaken = takesWork(exchange, project) && mayBePinned(service, exchange)
    return isTaken && mayAuthorize(exchange, body.authorized_by) ? message : undefined
  }
  const named = { ref: { kind: 'campaign', id: body.name }, body, make } as const
  createNamed(service, exchange, key.key, named, whenMade(service, exchange))
}

function whenMade(service: ServiceContext, exchange: Exchange): Reply {
  const { principal, body } = exchange
  const { name } = body as CampaignCreate
  return onNamed(service, exchange, {
    kind: 'campaign',
    path: `/api/campaigns/${name}`,
    documentOf: (snapshot) => campaignDocumentOf(service, principal, snapshot),
    isSeen: () => findCampaign(service, principal, name) !== undefined,
  })
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/campaigns',
    operation: 'listCampaigns',
    area: AREA,
    summary: 'List campaigns, by project and status.',
    description:
      'With `status`, in the order in which they entered it; otherwise in the order in which they were added.',
    access: { right: 'view' },
    query: listQuery({
      project: projectFilter,
      status: stateFilter(CAMPAIGN_STATUSES, 'Only campaigns with one of these statuses.'),
    }),
    answers: { 200: listAnswer(campaignDocument, 'Campaigns, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const { project, status } = exchange.query
      const request = projectList(service, exchange, {
        kind: 'campaign',
        project,
        indexes: (key) => [
          ['state', status],
          ['project', key],
        ],
        matches: ({ value }) => isAmong(status, value),
      })
      if (request === undefined) return
      answerList(service, exchange, request, (snapshot) => campaignDocumentOf(service, exchange.principal, snapshot))
    },
  }
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/campaigns/:name',
    operation: 'readCampaign',
    area: AREA,
    summary:
      'Read a campaign: its status, running cycle, what waits and why, what it needs from a person, and what its agents used.',
    access: { right: 'view' },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) => {
      const snapshot = visibleCampaign(service, exchange)
      if (snapshot === undefined) return
      markCursor(service, exchange)
      const usage = usageOf(service.runtime, 'campaign', snapshot.context.name)
      const document = campaignDocumentOf(service, exchange.principal, snapshot)
      exchange.answer(200, usage === undefined ? document : { ...document, usage })
    },
  }
}
