/**
 * Emitted requests to advance: no run request of their own, but a message to the actor that they name, which is
 * delivered after the event is recorded. The event's id is what the actor's own facts name as their cause.
 */
import { isSameMember } from '../machines/documents/member.ts'
import type { PreparedEvent } from '../machines/events/envelope.ts'
import type { PayloadOf } from '../machines/events/index.ts'
import type { SendParams } from '../machines/machine.ts'
import { mayDo } from './access.ts'
import type { Exchange } from './exchange.ts'
import { findInitiative } from './initiatives.ts'
import type { ServiceContext } from './route.ts'

const INITIATIVE = 'initiative_advance_requested'

/** The messages of the requests among the events. Undefined: a problem was answered. */
export function advancesOf(
  service: ServiceContext,
  exchange: Exchange,
  events: readonly PreparedEvent[],
): readonly SendParams[] | undefined {
  const sends: SendParams[] = []
  for (const [i, event] of events.entries()) {
    if (event.event_type !== INITIATIVE) continue
    if (!mayDo(exchange.principal, 'work.operate')) {
      exchange.problem('forbidden', `A ${INITIATIVE} asks for an assessment: the right work.operate is needed.`)
      return undefined
    }
    const fault = faultOf(service, exchange, event)
    if (fault !== undefined) {
      exchange.problem('invalid_event', fault.detail, {
        errors: [{ pointer: `/events/${i}${fault.pointer}`, detail: fault.detail }],
      })
      return undefined
    }
    sends.push(advanceOf(exchange, event))
  }
  return sends
}

/** What the request names must be there, and be of the event's project. */
function faultOf(service: ServiceContext, exchange: Exchange, { project, payload }: PreparedEvent) {
  const { initiative: name, member } = payload as PayloadOf<typeof INITIATIVE>
  const initiative = findInitiative(service, exchange.principal, name)
  if (initiative === undefined) {
    return { pointer: '/payload/initiative', detail: `There is no initiative ${name.slice(0, 140)}.` }
  }
  const { projects, members } = initiative.context
  if (!projects.includes(project)) {
    return { pointer: '/project', detail: `${project} is no project of the initiative ${name}.` }
  }
  if (member === undefined || members.some((one) => isSameMember(one, member))) return undefined
  return { pointer: '/payload/member', detail: `It is no member of the initiative ${name}.` }
}

function advanceOf({ by }: Exchange, { id, payload }: PreparedEvent): SendParams {
  const { initiative, member, trigger_id } = payload as PayloadOf<typeof INITIATIVE>
  const asked = member === undefined ? {} : { member: { kind: member.kind, ref: member.ref } }
  return {
    to: { kind: 'initiative', id: initiative },
    message: { type: 'advance', by, trigger_id, event_id: id, ...asked },
  }
}
