/** Engine capabilities: manifests posted by runners and by the people who maintain them, and listed. */

import { digestOf } from '../../machines/digest.ts'
import {
  type EngineCapabilityBody,
  engineCapabilityBody,
  engineCapabilityDocument,
} from '../../machines/documents/engine-capability.ts'
import type { EngineCapabilityContext } from '../../machines/engine-capability.ts'
import { deriveId, isId } from '../../machines/ids.ts'
import { modules } from '../../machines/index.ts'
import type { Messages } from '../../machines/messages.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { keyOf } from '../../runtime/entities/capabilities.ts'
import { createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { answerList, listAnswer, listQuery } from '../lists.ts'
import { askActor, notFound, onAccepted } from '../replies.ts'
import { takesWork, visibleProject } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'engine capabilities'
const PATH = '/api/projects/:id/engine-capabilities'
const one = { description: 'The manifest.', schema: engineCapabilityDocument }

export function engineCapabilityRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'POST',
      path: PATH,
      operation: 'recordEngineCapabilities',
      area: AREA,
      summary: 'Post an engine’s capability manifest; the newest one per runner it names, or per engine name, counts.',
      description:
        'A runner may post only for itself: its manifest names it even if it omits `runner_id`. Without any ' +
        'manifest there is no restriction. A named runner is offered only what its own manifest supports, and this ' +
        'restricts no other runner. A manifest that names no runner applies to all runners without one of their own. ' +
        'Briefs and run requests that no manifest supports are refused (`engine_incapable`).',
      access: { right: 'runner.manage', runner: 'allowed_project' },
      body: { schema: engineCapabilityBody },
      headers: [IDEMPOTENCY_HEADER],
      answers: {
        201: { ...one, description: 'Recorded.' },
        200: { ...one, description: 'The manifest already stands.', headers: { 'Idempotent-Replay': '`true`' } },
      },
      problems: ['not_found', 'not_the_runner', 'unknown_runner', 'project_archived', 'idempotency_key_reused'],
      handle: (exchange) => record(service, exchange),
    },
    {
      method: 'GET',
      path: PATH,
      operation: 'listEngineCapabilities',
      area: AREA,
      summary: 'List the manifests of a project, one per runner or engine name.',
      description: 'A runner sees its own, and those that name no runner.',
      access: { right: 'view', runner: 'allowed_project' },
      query: listQuery(),
      answers: { 200: listAnswer(engineCapabilityDocument, 'Manifests, newest first.') },
      problems: ['not_found'],
      handle: (exchange) => {
        const project = visibleProject(service, exchange, exchange.params[0]!)
        if (project === undefined) return
        const { runnerId } = exchange.principal
        const matches = ({ context: { manifest } }: SnapshotOf<EngineCapabilityContext>): boolean =>
          runnerId === undefined || manifest.runner_id === undefined || manifest.runner_id === runnerId
        const list = { kind: 'engine_capability', index: 'project', value: project.context.key, matches } as const
        answerList(service, exchange, list, (snapshot) => documentOf(service, snapshot))
      },
    },
    {
      method: 'DELETE',
      path: `${PATH}/:capability_id`,
      operation: 'removeEngineCapabilities',
      area: AREA,
      summary: 'Withdraw a manifest: it no longer counts for its runner or engine.',
      description: 'The same manifest may be posted again. Work that waited only because of it is offered at once.',
      access: { right: 'runner.manage' },
      answers: { 204: { description: 'Withdrawn.' } },
      problems: ['not_found'],
      handle: (exchange) => remove(service, exchange),
    },
  ]
}

function remove(service: ServiceContext, exchange: Exchange): void {
  const project = visibleProject(service, exchange, exchange.params[0]!)
  if (project === undefined) return
  const id = exchange.params[1]!
  const ref = { kind: 'engine_capability', id } as const
  const manifest = isId('cap', id) ? service.runtime.read(ref) : undefined
  if (manifest?.context.project !== project.context.key) {
    notFound(exchange, 'manifest', id)
    return
  }
  askActor(service, exchange, ref, { type: 'remove', by: exchange.by }, () => exchange.answer(204))
}

function documentOf(service: ServiceContext, snapshot: SnapshotOf<EngineCapabilityContext>): object {
  const state = service.capabilities.isCurrent(snapshot.context) ? 'current' : 'stale'
  return { ...modules.engine_capability.document(snapshot), state }
}

/** The manifest with the runner that it is for. Returns undefined if a problem was answered. */
function spokenFor(exchange: Exchange): EngineCapabilityBody | undefined {
  const body = exchange.body as EngineCapabilityBody
  const { runnerId = body.runner_id } = exchange.principal
  if (runnerId === undefined) return body
  if (body.runner_id === undefined || body.runner_id === runnerId) return { ...body, runner_id: runnerId }
  exchange.problem('not_the_runner', `A runner may post only for itself; the token belongs to ${runnerId}.`)
  return undefined
}

/**
 * Whether a runner that a person names works for the project; not checked for a runner that posts its own manifest.
 * Returns false if a problem was answered.
 */
function worksFor(
  { runtime }: ServiceContext,
  exchange: Exchange,
  { runner_id: id }: EngineCapabilityBody,
  project: string,
): boolean {
  if (id === undefined || exchange.principal.runnerId !== undefined) return true
  const runner = runtime.read({ kind: 'runner', id })
  const allowed = (runner?.context.allowed_projects ?? []) as readonly string[]
  const mayWork = allowed.some((key) => key === '*' || key === project)
  if (runner !== undefined && runner.value !== 'removed' && mayWork) return true
  exchange.problem('unknown_runner', `No runner ${id} works for the project ${project}.`, {
    errors: [{ pointer: '/runner_id', detail: 'must be a runner allowed for the project' }],
  })
  return false
}

function record(service: ServiceContext, exchange: Exchange): void {
  const project = visibleProject(service, exchange, exchange.params[0]!)
  if (project === undefined) return
  const { id: project_id, key } = project.context
  const idempotency = readIdempotencyKey(exchange)
  const manifest = idempotency.ok ? spokenFor(exchange) : undefined
  if (!idempotency.ok || manifest === undefined) return
  const id = deriveId('cap', 'engine_capability', project_id, keyOf(manifest))
  const of = { id, project: key, project_id, manifest, digest: digestOf(manifest) }
  const message: Messages['engine_capability'] = { type: 'record', by: exchange.by, ...of }
  const make = () => (takesWork(exchange, project) && worksFor(service, exchange, manifest, key) ? message : undefined)
  const named = { ref: { kind: 'engine_capability', id }, body: manifest, make } as const
  const recorded = onAccepted(service, exchange, ({ repeat, snapshot }) => {
    if (repeat !== undefined) exchange.setHeader('Idempotent-Replay', 'true')
    exchange.answer(repeat === undefined ? 201 : 200, documentOf(service, snapshot))
  })
  createNamed(service, exchange, idempotency.key, named, recorded)
}
