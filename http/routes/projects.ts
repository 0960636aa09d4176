/** Projects, to which everything else belongs. Every `:id` of a project takes its id or its key. */

import { PROJECT_KEY_PATTERN } from '../../machines/documents/fields.ts'
import {
  type Charter,
  charterBody,
  charterDocument,
  type ProjectCreate,
  projectCreateBody,
  projectDocument,
  projectPatchBody,
} from '../../machines/documents/project.ts'
import { projectIdOf } from '../../machines/ids.ts'
import { modules } from '../../machines/index.ts'
import type { ProjectBody } from '../../machines/project.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { usageOf } from '../../runtime/entities/usage.ts'
import { maySee } from '../access.ts'
import { createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, isAmong, listAnswer, listQuery, stateFilter } from '../lists.ts'
import { askActor, located, markCursor, onCreated } from '../replies.ts'
import { visibleProject } from '../resources/projects.ts'
import { slugOf } from '../resources/slug.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'projects'
const WHY_NO_KEY =
  'is missing and cannot be derived from the name, which has no letter or digit or yields a reserved key (`system`, `proj_...`)'
const document = (snapshot: SnapshotOf<any>): object => modules.project.document(snapshot)
const one = { description: 'The project.', schema: projectDocument }

export function projectRoutes(service: ServiceContext): readonly Route[] {
  return [createRoute(service), ...readRoutes(service), patchRoute(service), charterRoute(service)]
}

function createRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/projects',
    operation: 'createProject',
    area: AREA,
    summary: 'Create a project.',
    description:
      'Its key never changes; if omitted, it is derived from the name. Needs a token that is not confined to projects.',
    access: { right: 'intent.write', isClosedToRuns: true },
    body: { schema: projectCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located(one),
      200: {
        ...one,
        description: 'The project created earlier with this key.',
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['forbidden', 'already_exists', 'idempotency_key_reused'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const body = exchange.body as ProjectCreate
  const key = body.key ?? slugOf(body.name, PROJECT_KEY_PATTERN)
  if (key === undefined) {
    exchange.problem('invalid_body', 'No key can be derived from the name: give one.', {
      errors: [{ pointer: '/key', detail: WHY_NO_KEY }],
    })
    return
  }
  if (!maySee(exchange.principal, key)) {
    exchange.problem('forbidden', 'The token is confined to projects and cannot create another.')
    return
  }
  const idempotency = readIdempotencyKey(exchange)
  if (!idempotency.ok) return
  const id = projectIdOf(key)
  const message = { type: 'create', by: exchange.by, ...body, id, key }
  const named = { ref: { kind: 'project', id }, body, make: () => message } as const
  createNamed(
    service,
    exchange,
    idempotency.key,
    named,
    onCreated(service, exchange, () => `/api/projects/${key}`, document),
  )
}

function readRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/projects',
      operation: 'listProjects',
      area: AREA,
      summary: 'List the projects.',
      access: { right: 'view' },
      query: listQuery({
        state: stateFilter(['active', 'archived'], 'Only projects in one of these states.'),
      }),
      answers: { 200: listAnswer(projectDocument, 'Projects, newest first.') },
      handle: (exchange) => {
        const { principal } = exchange
        const { state } = exchange.query
        const matches = ({ value, context }: SnapshotOf<any>): boolean =>
          maySee(principal, context.key) && isAmong(state, value)
        answerList(service, exchange, { kind: 'project', index: 'all', value: '', matches }, document)
      },
    },
    {
      method: 'GET',
      path: '/api/projects/:id',
      operation: 'readProject',
      area: AREA,
      summary: 'Read a project, and its agents’ usage.',
      access: { right: 'view' },
      answers: { 200: one },
      problems: ['not_found'],
      handle: (exchange) => {
        const project = visibleProject(service, exchange, exchange.params[0]!)
        if (project === undefined) return
        markCursor(service, exchange)
        const usage = usageOf(service.runtime, 'project', project.context.key)
        exchange.answer(200, usage === undefined ? document(project) : { ...document(project), usage })
      },
    },
    {
      method: 'GET',
      path: '/api/projects/:id/charter',
      operation: 'readProjectCharter',
      area: AREA,
      summary: "Read a project's charter: what the project is for, in its owner's words.",
      access: { right: 'view' },
      answers: { 200: { description: 'The charter; empty until it is written.', schema: charterDocument } },
      problems: ['not_found'],
      handle: (exchange) => {
        const project = visibleProject(service, exchange, exchange.params[0]!)
        if (project === undefined) return
        markCursor(service, exchange)
        exchange.answer(200, project.context.charter ?? {})
      },
    },
  ]
}

function patchRoute(service: ServiceContext): Route {
  return {
    method: 'PATCH',
    path: '/api/projects/:id',
    operation: 'updateProject',
    area: AREA,
    summary: 'Change a project’s name, its repository or how many may change that at once; archive or restore it.',
    access: { right: 'intent.write', isClosedToRuns: true },
    body: { schema: projectPatchBody },
    answers: { 200: one },
    problems: ['not_found', 'illegal_move', 'project_archived'],
    handle: (exchange) => {
      const project = visibleProject(service, exchange, exchange.params[0]!)
      if (project === undefined) return
      tell(service, exchange, project, { type: 'update', ...exchange.body }, document)
    },
  }
}

function charterRoute(service: ServiceContext): Route {
  return {
    method: 'PUT',
    path: '/api/projects/:id/charter',
    operation: 'writeProjectCharter',
    area: AREA,
    summary: "Replace a project's charter: an omitted or blank field is cleared.",
    access: { right: 'intent.write', isClosedToRuns: true },
    body: { schema: charterBody },
    answers: { 200: { description: 'The charter.', schema: charterDocument } },
    problems: ['not_found', 'project_archived', 'illegal_move'],
    handle: (exchange) => {
      const project = visibleProject(service, exchange, exchange.params[0]!)
      if (project === undefined) return
      const said = Object.entries(exchange.body as Charter).filter(([, text]) => text.trim() !== '')
      const message: ProjectBody = { type: 'set_charter', charter: Object.fromEntries(said) }
      tell(service, exchange, project, message, ({ context }) => context.charter ?? {})
    },
  }
}

function tell(
  service: ServiceContext,
  exchange: Exchange,
  project: SnapshotOf<any>,
  message: ProjectBody,
  shown: (snapshot: SnapshotOf<any>) => object,
): void {
  const ref = { kind: 'project', id: project.context.id } as const
  askActor(service, exchange, ref, { ...message, by: exchange.by }, (answer) => {
    exchange.answer(200, shown(answer.snapshot))
  })
}
