/** Initiatives: added, listed, read. The actions of owners are in initiative-moves. */
import {
  DEFAULT_BUDGET,
  INITIATIVE_STATUSES,
  type InitiativeCreate,
  initiativeCreateBody,
  initiativeDocument,
  PROJECTS_MAX,
} from '../../machines/documents/initiative.ts'
import { memberText } from '../../machines/documents/member.ts'
import { document } from '../../machines/initiative/view.ts'
import type { MessageBody } from '../../machines/machine.ts'
import type { Reply } from '../../runtime/api.ts'
import { mayAuthorize } from '../access.ts'
import { createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, isAmong, listAnswer, listQuery, namedProject, projectFilter, stateFilter } from '../lists.ts'
import { located, markCursor, onNamed, refuseBody } from '../replies.ts'
import { findInitiative, maySeeInitiative } from '../resources/initiative-visibility.ts'
import { homeOf, refuseInitiative, visibleInitiative } from '../resources/initiatives.ts'
import { projectsExist } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'initiatives'
const one = { description: 'The initiative.', schema: initiativeDocument }

export function initiativeRoutes(service: ServiceContext): readonly Route[] {
  return [createRoute(service), listRoute(service), readRoute(service)]
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/initiatives',
    operation: 'createInitiative',
    area: AREA,
    summary: 'Add an initiative: a shared outcome, and the members that serve it.',
    description: 'Nothing is steered until it is advanced. Its projects are those of its members and those named.',
    access: { right: 'work.submit', isClosedToRuns: true },
    body: { schema: initiativeCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located({ ...one, description: 'Added.' }),
      200: {
        ...one,
        description: 'The initiative added earlier with this key.',
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['already_exists', 'idempotency_key_reused', 'unknown_member', 'unknown_project'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const body = exchange.body as InitiativeCreate
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return
  const named = { ref: { kind: 'initiative', id: body.name }, body, make: () => messageOf(service, exchange) } as const
  createNamed(service, exchange, key.key, named, whenMade(service, exchange))
}

/** The message that creates the initiative. Returns undefined if a problem was answered. */
function messageOf(service: ServiceContext, exchange: Exchange): MessageBody | undefined {
  const {
    name,
    outcome,
    projects = [],
    intent_refs = [],
    members,
    authorized_by,
    budget,
  } = exchange.body as InitiativeCreate
  if (!mayAuthorize(exchange, authorized_by) || !projectsExist(service, exchange, 'projects', projects))
    return undefined
  const homes = homesOf(service, exchange, members)
  if (homes === undefined) return undefined
  const all = [...new Set([...projects, ...Object.values(homes)])]
  if (all.length > PROJECTS_MAX) {
    refuseBody(exchange, '/members', `span ${all.length} projects: at most ${PROJECTS_MAX} are allowed`)
    return undefined
  }
  return {
    type: 'create',
    by: exchange.by,
    id: name,
    outcome,
    projects: all,
    intent_refs,
    members,
    homes,
    authorized_by: authorized_by ?? exchange.by.name,
    budget: { ...DEFAULT_BUDGET, ...budget },
  } as MessageBody
}

/** The project of each member. Returns undefined if a member does not exist for the caller; a problem was answered. */
function homesOf(
  service: ServiceContext,
  exchange: Exchange,
  members: InitiativeCreate['members'],
): Record<string, string> | undefined {
  const homes: Record<string, string> = {}
  for (const [i, member] of members.entries()) {
    const home = homeOf(service, exchange.principal, member)
    if (home === undefined) {
      exchange.problem('unknown_member', `There is no ${member.kind} ${member.ref}.`, {
        errors: [{ pointer: `/members/${i}/ref`, detail: `must name a ${member.kind}` }],
      })
      return undefined
    }
    homes[memberText(member)] = home
  }
  return homes
}

function whenMade(service: ServiceContext, exchange: Exchange): Reply {
  const { name } = exchange.body as InitiativeCreate
  return onNamed(service, exchange, {
    kind: 'initiative',
    path: `/api/initiatives/${name}`,
    documentOf: document,
    isSeen: () => findInitiative(service, exchange.principal, name) !== undefined,
    refused: refuseInitiative,
  })
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/initiatives',
    operation: 'listInitiatives',
    area: AREA,
    summary: 'List initiatives by status and project.',
    description: 'Lists those whose projects the caller may all see.',
    access: { right: 'view' },
    query: listQuery({
      status: stateFilter(INITIATIVE_STATUSES, 'Only initiatives with one of these statuses.'),
      project: projectFilter,
    }),
    answers: { 200: listAnswer(initiativeDocument, 'Initiatives, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const { status, project } = exchange.query
      const named = namedProject(service, exchange, project)
      if (named === undefined) return
      const { key } = named
      const [index, value] =
        key !== undefined ? ['project', key] : status !== undefined ? ['status', status] : ['all', '']
      const request = {
        kind: 'initiative',
        index,
        value,
        matches: (snapshot: any) =>
          maySeeInitiative(exchange.principal, snapshot.context) && isAmong(status, document(snapshot).status),
      } as const
      answerList(service, exchange, request, document)
    },
  }
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/initiatives/:name',
    operation: 'readInitiative',
    area: AREA,
    summary: 'Read an initiative: its status, running assessment, decisions, and what needs an owner.',
    access: { right: 'view' },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) => {
      const snapshot = visibleInitiative(service, exchange)
      if (snapshot === undefined) return
      markCursor(service, exchange)
      exchange.answer(200, document(snapshot))
    },
  }
}
