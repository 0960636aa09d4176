/**
 * Finds the project that a caller names, as far as it exists for them. One that the path or the query names is the
 * resource asked for, or narrows it (404 without it); one that a body names is a value of that body (422, with the
 * pointer).
 */
import { shown } from '../../machines/clipped.ts'
import { isId, projectIdOf } from '../../machines/ids.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { notFound } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

/** The actor id of a project named by its id or its key. */
export function projectId(idOrKey: string): string {
  return isId('proj', idOrKey) ? idOrKey : projectIdOf(idOrKey)
}

/** The project of that id or key, if it exists for the caller. */
function findProject(
  { runtime }: Pick<ServiceContext, 'runtime'>,
  principal: Principal,
  idOrKey: string,
): SnapshotOf<any> | undefined {
  const project = runtime.read({ kind: 'project', id: projectId(idOrKey) })
  return project !== undefined && maySee(principal, project.context.key) ? project : undefined
}

/** The project that the path or the query names. Returns undefined if 404 was answered. */
export function visibleProject(
  service: ServiceContext,
  exchange: Exchange,
  idOrKey: string,
): SnapshotOf<any> | undefined {
  const project = findProject(service, exchange.principal, idOrKey)
  if (project === undefined) notFound(exchange, 'project', idOrKey)
  return project
}

/** The project that the body names at the pointer. Returns undefined if 422 was answered. */
export function statedProject(
  service: ServiceContext,
  exchange: Exchange,
  idOrKey: string,
  pointer = '/project',
): SnapshotOf<any> | undefined {
  const project = findProject(service, exchange.principal, idOrKey)
  if (project === undefined) refuseProjects(exchange, [{ pointer, key: idOrKey }])
  return project
}

interface NamedProject {
  readonly pointer: string
  readonly key: string
}

/** Refuses a body for the projects that it names at these pointers, at least one, which do not exist for the caller. */
function refuseProjects(exchange: Exchange, unknown: readonly NamedProject[]): void {
  const errors = unknown.map(({ pointer, key }) => ({ pointer, detail: `there is no project ${shown(key)}` }))
  exchange.problem('unknown_project', `There is no project ${shown(unknown[0]!.key)}.`, { errors })
}

/** Whether all projects of a list in the body exist for the caller. Returns false if 422 was answered. */
export function projectsExist(
  service: ServiceContext,
  exchange: Exchange,
  name: string,
  keys: readonly string[],
): boolean {
  const unknown = keys.flatMap((key, i) =>
    key === '*' || findProject(service, exchange.principal, key) !== undefined
      ? []
      : [{ pointer: `/${name}/${i}`, key }],
  )
  if (unknown.length > 0) refuseProjects(exchange, unknown)
  return unknown.length === 0
}

/** The project, if it exists for the caller and takes new work. Returns undefined if a problem was answered. */
export function activeProject(
  service: ServiceContext,
  exchange: Exchange,
  idOrKey: string,
): SnapshotOf<any> | undefined {
  const project = visibleProject(service, exchange, idOrKey)
  return project !== undefined && takesWork(exchange, project) ? project : undefined
}

/** Whether the project takes new work, which an archived one does not. Returns false if a problem was answered. */
export function takesWork(exchange: Exchange, { value, context }: SnapshotOf<any>): boolean {
  if (value === 'active') return true
  exchange.problem('project_archived', `The project ${context.key} is archived and accepts no new work.`)
  return false
}
