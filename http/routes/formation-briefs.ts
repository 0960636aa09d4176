/** Formation briefs: written, listed, read, and changed while they are drafts or under review. */
import {
  FORMATION_BRIEF_STATES,
  type FormationBriefCreateGlobal,
  type FormationBriefPatch,
  formationBriefCreateBody,
  formationBriefCreateGlobalBody,
  formationBriefDocument,
  formationBriefPatchBody,
} from '../../machines/documents/formation-brief.ts'
import { modules } from '../../machines/index.ts'
import type { MessageBody, SnapshotOf } from '../../runtime/api.ts'
import { createKeyed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, isAmong, listAnswer, listQuery, stateFilter } from '../lists.ts'
import { IF_MATCH_HEADER, readVersion } from '../preconditions.ts'
import { located, markCreated, onReply } from '../replies.ts'
import { answerBrief, oneBrief, tellBrief, visibleBrief, withReadableBrief } from '../resources/formation-briefs.ts'
import { statedProject, takesWork, visibleProject } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'formation briefs'
const answers = {
  201: located(oneBrief),
  200: {
    ...oneBrief,
    description: 'The brief created earlier with this key.',
    headers: { ...oneBrief.headers, 'Idempotent-Replay': '`true`' },
  },
}
const problems = ['project_archived', 'idempotency_key_reused'] as const

export function formationBriefRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/projects/:id/formation-briefs',
      operation: 'createFormationBrief',
      area: AREA,
      summary: 'Create a formation brief under a project.',
      access: { right: 'intent.write' },
      body: { schema: formationBriefCreateBody },
      headers: [IDEMPOTENCY_HEADER],
      answers,
      problems: ['not_found', ...problems],
      handle: (exchange) => {
        const project = visibleProject(service, exchange, exchange.params[0]!)
        if (project !== undefined) create(service, exchange, project, exchange.body)
      },
    },
    {
      method: 'POST',
      path: '/formation-briefs',
      operation: 'createFormationBrief',
      area: AREA,
      summary: 'Create a formation brief; the body names the project.',
      access: { right: 'intent.write' },
      body: { schema: formationBriefCreateGlobalBody },
      headers: [IDEMPOTENCY_HEADER],
      answers,
      problems: ['unknown_project', ...problems],
      handle: (exchange) => {
        const { project, ...sections } = exchange.body as FormationBriefCreateGlobal
        const stated = statedProject(service, exchange, project)
        if (stated !== undefined) create(service, exchange, stated, sections)
      },
    },
    listRoute(service),
    ...['/api/formation-briefs/:id', '/formation-briefs/:id'].map((path) => readRoute(service, path)),
    patchRoute(service),
  ]
}

function create(service: ServiceContext, exchange: Exchange, project: SnapshotOf<any>, sections: object): void {
  const { id: project_id, key } = project.context
  const idempotency = readIdempotencyKey(exchange)
  if (!idempotency.ok) return
  const message = { type: 'create', by: exchange.by, project: key, project_id, sections } as MessageBody
  const make = () => (takesWork(exchange, project) ? message : undefined)
  const keyed = { kind: 'formation_brief', prefix: 'brief', body: exchange.body, make } as const
  const made = onReply(exchange, ({ repeat, snapshot, sequence }) => {
    const status = markCreated(exchange, repeat, `/api/formation-briefs/${snapshot.context.id}`)
    answerBrief(service, exchange, snapshot, sequence, status)
  })
  createKeyed(service, exchange, idempotency.key, keyed, made)
}

function listRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/projects/:id/formation-briefs',
    operation: 'listFormationBriefs',
    area: AREA,
    summary: 'List the formation briefs of a project.',
    access: { right: 'view' },
    query: listQuery({
      state: stateFilter(FORMATION_BRIEF_STATES, 'Only briefs in one of these states.'),
    }),
    answers: { 200: listAnswer(formationBriefDocument, 'Formation briefs, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const project = visibleProject(service, exchange, exchange.params[0]!)
      if (project === undefined) return
      const { state } = exchange.query
      const list = {
        kind: 'formation_brief',
        index: 'project',
        value: project.context.key,
        matches: ({ value }: SnapshotOf<any>) => isAmong(state, value),
      } as const
      answerList(service, exchange, list, modules.formation_brief.document)
    },
  }
}

function readRoute(service: ServiceContext, path: string): Route {
  return {
    method: 'GET',
    path,
    operation: 'readFormationBrief',
    area: AREA,
    summary: 'Read a formation brief: its sections, approvals, compiled digest and latest run.',
    access: { right: 'view', runner: 'holder' },
    answers: { 200: oneBrief },
    problems: ['not_found'],
    handle: (exchange) => withReadableBrief(service, exchange, (brief) => answerBrief(service, exchange, brief)),
  }
}

function patchRoute(service: ServiceContext): Route {
  return {
    method: 'PATCH',
    path: '/api/formation-briefs/:id',
    operation: 'updateFormationBrief',
    area: AREA,
    summary: 'Change sections of a brief in draft or under review.',
    description:
      'Omitted sections are kept; null removes one. With `If-Match` (the ETag that was read) it is changed only if nobody ' +
      'else has changed it since.',
    access: { right: 'intent.write' },
    body: { schema: formationBriefPatchBody },
    headers: [IF_MATCH_HEADER],
    answers: { 200: oneBrief },
    problems: ['not_found', 'illegal_move', 'precondition_failed'],
    handle: (exchange) => {
      const read = readVersion(exchange)
      const brief = read === undefined ? undefined : visibleBrief(service, exchange)
      if (brief === undefined) return
      tellBrief(service, exchange, brief, { type: 'update', ...read, sections: exchange.body as FormationBriefPatch })
    },
  }
}
