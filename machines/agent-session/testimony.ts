/** What an agent session's events assert. */
import { SERVICE_BY } from '../machine.ts'
import type { Testimony } from '../testimony.ts'
import type { AgentSessionContext } from './context.ts'

/** Only the service's own events assert anything: an engine's event may be about a session that is unknown here. */
export const agentSessionTestimony: Testimony<AgentSessionContext> = {
  idMember: 'session_id',
  types: new Set(['agent_session_ended']),
  aspects: ({ by = SERVICE_BY }) => (by.id === SERVICE_BY.id && by.name === SERVICE_BY.name ? ['state'] : []),
  claims: (_, { project }) => ({ ended: true, project }),
  held: ({ value, context: { project } }) => ({ ended: value === 'ended', project }),
  madeAt: () => undefined,
}
