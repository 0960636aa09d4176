/** Agent sessions: what runs now and what ran, as reported by engines. Heartbeats add what is only in memory. */

import type { AgentSessionContext } from '../../machines/agent-session/context.ts'
import { isSessionId } from '../../machines/agent-session/reports.ts'
import { agentSessionModule } from '../../machines/agent-session.ts'
import {
  AGENT_SESSION_STATES,
  AGENT_SESSION_STATUSES,
  type AgentSession,
  agentSessionDocument,
} from '../../machines/documents/agent-session.ts'
import { name, runnerId, serviceId } from '../../machines/documents/fields.ts'
import { itemId } from '../../machines/documents/work-item.ts'
import { Type } from '../../machines/schema.ts'
import type { ListRequest, SnapshotOf } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { answerList, isAmong, listAnswer, listQuery, projectFilter, projectList, stateFilter } from '../lists.ts'
import { markCursor, notFound } from '../replies.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'agent sessions'
type SessionSnapshot = SnapshotOf<AgentSessionContext>

export function agentSessionRoutes(service: ServiceContext): readonly Route[] {
  return [listRoute(service), readRoute(service)]
}

/** The document, with the last heartbeat's data if the session has not ended. */
function documentOf({ sessions }: ServiceContext, snapshot: SessionSnapshot): AgentSession {
  const document = agentSessionModule.document(snapshot) as AgentSession
  return { ...document, ...sessions.pulseOf(document.session_id) }
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/agent-sessions',
    operation: 'listAgentSessions',
    area: AREA,
    summary: 'List agent sessions by project, state, work item, run request, and more.',
    description: 'In the order in which the service learned of them, newest first.',
    access: { right: 'view' },
    query: listQuery({
      project: projectFilter,
      state: stateFilter(AGENT_SESSION_STATES, 'Only sessions in one of these states.'),
      status: stateFilter(AGENT_SESSION_STATUSES, 'Only sessions that ended in one of these ways.'),
      work_item: Type.Optional(itemId('Only sessions that work for this item.')),
      run_request: Type.Optional(serviceId('runreq', 'Only sessions of this run request.')),
      runner: Type.Optional(runnerId('Only sessions of this runner.')),
      campaign: Type.Optional(name('Only sessions that work for this campaign.')),
      trace_id: Type.Optional(name('Only sessions of this trace.')),
    }),
    answers: { 200: listAnswer(agentSessionDocument, 'Agent sessions, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const request = filterOf(service, exchange)
      if (request !== undefined) answerList(service, exchange, request, (snapshot) => documentOf(service, snapshot))
    },
  }
}

function filterOf(service: ServiceContext, exchange: Exchange): Omit<ListRequest, 'limit' | 'after'> | undefined {
  const { project, state, status, work_item, run_request, runner, campaign, trace_id } = exchange.query
  const is = (wanted: string | undefined, found: string | undefined): boolean =>
    wanted === undefined || wanted === found
  return projectList(service, exchange, {
    kind: 'agent_session',
    project,
    indexes: (key) => [
      ['run_request', run_request],
      ['work_item', work_item],
      // Few sessions are still running, so this index is narrow.
      ['state', state?.includes('ended') === false ? state : undefined],
      ['project', key],
      ['state', state],
    ],
    matches: ({ value, context }: SessionSnapshot) =>
      isAmong(state, value) &&
      isAmong(status, context.end?.status) &&
      is(work_item, context.work_item_id) &&
      is(run_request, context.run_request_id) &&
      is(runner, context.runner_id) &&
      is(campaign, context.campaign) &&
      is(trace_id, context.trace_id),
  })
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/agent-sessions/:session_id',
    operation: 'readAgentSession',
    area: AREA,
    summary: 'Read an agent session: where it runs, when it last wrote, how it ended, and what it used.',
    access: { right: 'view' },
    answers: { 200: { description: 'The agent session.', schema: agentSessionDocument } },
    problems: ['not_found'],
    handle: (exchange) => {
      const id = exchange.params[0]!
      const snapshot = isSessionId(id) ? service.runtime.read({ kind: 'agent_session', id }) : undefined
      if (snapshot === undefined || !maySee(exchange.principal, snapshot.context.project)) {
        notFound(exchange, 'agent session', id)
        return
      }
      markCursor(service, exchange)
      exchange.answer(200, documentOf(service, snapshot))
    },
  }
}
