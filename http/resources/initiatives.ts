/** Initiatives as they exist for a caller: only those who may see every one of its projects see an initiative. */
import type { Member } from '../../machines/documents/member.ts'
import { projectIdOf } from '../../machines/ids.ts'
import type { InitiativeContext } from '../../machines/initiative/context.ts'
import { statusOf } from '../../machines/initiative/rules.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { Refused } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { notFound, refuse } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { findCampaign } from './campaign-answers.ts'
import { findInitiative } from './initiative-visibility.ts'
import { findWorkItem } from './work-item-answers.ts'

/** The initiative that the path names, if it exists for the caller. Returns undefined if 404 was answered. */
export function visibleInitiative(
  service: ServiceContext,
  exchange: Exchange,
): SnapshotOf<InitiativeContext> | undefined {
  const name = exchange.params[0]!
  const found = findInitiative(service, exchange.principal, name)
  if (found === undefined) notFound(exchange, 'initiative', name)
  return found
}

/** Refuses with the public status of the initiative instead of its chart's state. */
export function refuseInitiative(exchange: Exchange, refused: Refused): void {
  refuse(exchange, refused.state === undefined ? refused : { ...refused, state: statusOf(refused.state) })
}

/** Key of the project that the member belongs to; undefined if the member does not exist for the reader. */
export function homeOf(service: ServiceContext, reader: Principal, { kind, ref }: Member): string | undefined {
  if (kind === 'work_item') return findWorkItem(service, reader, ref)?.context.project
  if (kind === 'campaign') return findCampaign(service, reader, ref)?.context.project
  const project = service.runtime.read({ kind: 'project', id: projectIdOf(ref) })
  return project !== undefined && maySee(reader, project.context.key) ? project.context.key : undefined
}
