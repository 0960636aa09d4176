/** Finds the project that a caller names, as far as it exists for them. */
import { isId, projectIdOf } from '../../machines/ids.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { notFound } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

/** The actor id of a project named by its id or its key. */
export function projectId(idOrKey: string): string {
  return isId('proj', idOrKey) ? idOrKey : projectIdOf(idOrKey)
}

/** The project of that id or key, if it exists for the caller. Returns undefined if 404 was answered. */
export function visibleProject(
  service: ServiceContext,
  exchange: Exchange,
  idOrKey: string,
): SnapshotOf<any> | undefined {
  const project = service.runtime.read({ kind: 'project', id: projectId(idOrKey) })
  if (project !== undefined && maySee(exchange.principal, project.context.key)) return project
  notFound(exchange, 'project', idOrKey)
  return undefined
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
