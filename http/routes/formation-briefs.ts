/** Formation briefs, as much as a run request needs: create, read, digest. */
import {
  type FormationBriefCreateGlobal,
  formationBriefCreateBody,
  formationBriefCreateGlobalBody,
  formationBriefDocument,
} from '../../machines/documents/formation-brief.ts'
import { modules } from '../../machines/index.ts'
import type { RunRequestContext } from '../../machines/run-request-context.ts'
import type { MessageBody, SnapshotOf } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import type { Exchange } from '../exchange.ts'
import { createKeyed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { isServiceId, markCursor, notFound, refuse, visibleProject } from '../replies.ts'
import type { Route, ServiceContext } from '../route.ts'
import { hasHeld } from '../run-request-answers.ts'

const AREA = 'formation briefs'
const one = { description: 'The brief.', schema: formationBriefDocument }
const answers = {
  201: one,
  200: { ...one, description: 'The brief that this key made before.', headers: { 'Idempotent-Replay': '`true`' } },
}
const problems = ['not_found', 'project_archived', 'idempotency_key_reused'] as const

export function formationBriefRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/projects/:id/formation-briefs',
      area: AREA,
      summary: 'Create a formation brief under a project.',
      access: { right: 'intent.write' },
      body: { schema: formationBriefCreateBody },
      headers: [IDEMPOTENCY_HEADER],
      answers,
      problems,
      handle: (exchange) => create(service, exchange, exchange.params[0]!, exchange.body),
    },
    {
      method: 'POST',
      path: '/formation-briefs',
      area: AREA,
      summary: 'Create a formation brief; the body names the project.',
      access: { right: 'intent.write' },
      body: { schema: formationBriefCreateGlobalBody },
      headers: [IDEMPOTENCY_HEADER],
      answers,
      problems,
      handle: (exchange) => {
        const { project, ...sections } = exchange.body as FormationBriefCreateGlobal
        create(service, exchange, project, sections)
      },
    },
    ...['/api/formation-briefs/:id', '/formation-briefs/:id'].map((path) => readRoute(service, path)),
  ]
}

function create(service: ServiceContext, exchange: Exchange, projectIdOrKey: string, sections: object): void {
  const project = visibleProject(service, exchange, projectIdOrKey)
  if (project === undefined) return
  const { id: project_id, key } = project.context
  if (project.value !== 'active') {
    exchange.problem('project_archived', `The project ${key} is archived.`)
    return
  }
  const idempotency = readIdempotencyKey(exchange)
  if (!idempotency.ok) return
  const message = { type: 'create', by: exchange.by, project: key, project_id, sections } as MessageBody
  const keyed = { kind: 'formation_brief', prefix: 'brief', message, body: exchange.body } as const
  createKeyed(service.runtime, exchange, idempotency.key, keyed, (answer) => {
    if (exchange.done) return
    if (!answer.ok) return refuse(exchange, answer)
    markCursor(service, exchange, answer.sequence)
    const isReplay = answer.repeat === 'replay'
    if (isReplay) exchange.setHeader('Idempotent-Replay', 'true')
    else exchange.setHeader('Location', `/api/formation-briefs/${answer.snapshot.context.id}`)
    exchange.answer(isReplay ? 200 : 201, modules.formation_brief.document(answer.snapshot))
  })
}

function readRoute(service: ServiceContext, path: string): Route {
  return {
    method: 'GET',
    path,
    area: AREA,
    summary: 'Read a formation brief, with its digest.',
    access: { right: 'view', runner: 'holder' },
    answers: { 200: one },
    problems: ['not_found'],
    handle: (exchange) => read(service, exchange),
  }
}

function read(service: ServiceContext, exchange: Exchange): void {
  const id = exchange.params[0]!
  const brief = isServiceId('brief', id) ? service.runtime.read({ kind: 'formation_brief', id }) : undefined
  if (brief === undefined) {
    notFound(exchange, 'formation brief', id)
    return
  }
  const { runnerId } = exchange.principal
  if (runnerId !== undefined) {
    readAsHolder(service, exchange, brief, runnerId)
    return
  }
  if (maySee(exchange.principal, brief.context.project)) answerBrief(service, exchange, brief)
  else notFound(exchange, 'formation brief', id)
}

/** A runner reads the briefs of what it holds or held. */
function readAsHolder(service: ServiceContext, exchange: Exchange, brief: SnapshotOf<any>, runnerId: string): void {
  const { id, project } = brief.context
  const matches = ({ context }: SnapshotOf<RunRequestContext>): boolean =>
    context.asked.brief?.id === id && hasHeld(context, runnerId)
  const page = (index: string, value: string) =>
    service.runtime.list({ kind: 'run_request', index, value, limit: 1, matches })
  page('runner', runnerId)
    // The project's newest requests, for one that has moved on to another runner since.
    .then((own) => (own.snapshots.length > 0 ? own : page('project', project)))
    .then(
      (found) => {
        if (exchange.done) return
        if (found.snapshots.length > 0) answerBrief(service, exchange, brief)
        else notFound(exchange, 'formation brief', id)
      },
      (error: unknown) => exchange.fault(error),
    )
}

function answerBrief(service: ServiceContext, exchange: Exchange, brief: SnapshotOf<any>): void {
  markCursor(service, exchange)
  exchange.answer(200, modules.formation_brief.document(brief))
}
