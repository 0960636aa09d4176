/**
 * Emitted requests to advance: no run request of their own, but a message to the actor that they name, which is
 * delivered after the event is recorded. The event's id is what the actor's own facts name as their cause.
 */
import type { CampaignContext } from '../machines/campaign/context.ts'
import { isSameMember } from '../machines/documents/member.ts'
import type { PreparedEvent } from '../machines/events/envelope.ts'
import type { PayloadOf } from '../machines/events/index.ts'
import type { SendParams, SnapshotOf } from '../machines/machine.ts'
import { mayDo } from './access.ts'
import { findCampaign } from './campaign-answers.ts'
import type { Exchange } from './exchange.ts'
import { findInitiative } from './initiative-sight.ts'
import type { ServiceContext } from './route.ts'

const INITIATIVE = 'initiative_advance_requested'
const CAMPAIGN = 'campaign_advance_requested'

/** The messages of the requests among the events. Undefined: a problem was answered. */
export function advancesOf(
  service: ServiceContext,
  exchange: Exchange,
  events: readonly PreparedEvent[],
): readonly SendParams[] | undefined {
  const sends: SendParams[] = []
  for (const [i, event] of events.entries()) {
    const { event_type } = event
    if (event_type !== INITIATIVE && event_type !== CAMPAIGN) continue
    if (!mayDo(exchange.principal, 'work.operate')) {
      const what = event_type === INITIATIVE ? 'an assessment' : 'the next step of a campaign'
      exchange.problem('forbidden', `A ${event_type} asks for ${what}: the right work.operate is needed.`)
      return undefined
    }
    if (event_type === CAMPAIGN) {
      const send = toCampaign(service, exchange, event, i)
      if (send === undefined) return undefined
      sends.push(send)
      continue
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
function faultOf(service: ServiceContext, exchange: Exchange, { project, throttle, payload }: PreparedEvent) {
  if (throttle !== 'full') return { pointer: '/throttle', detail: 'must be full: nothing is steered in a dry run' }
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

/** Refused before it is recorded where the campaign would not take it. Undefined: a problem was answered. */
function toCampaign(
  service: ServiceContext,
  exchange: Exchange,
  { id, project, throttle, payload }: PreparedEvent,
  place: number,
): SendParams | undefined {
  const { campaign: name } = payload as PayloadOf<typeof CAMPAIGN>
  const invalid = (member: string, detail: string): undefined => {
    exchange.problem('invalid_event', 'The event asks for what is not there to be asked.', {
      errors: [{ pointer: `/events/${place}/${member}`, detail }],
    })
  }
  // A campaign works in full or not at all: asked for a simulation, it would have to do nothing.
  if (throttle !== 'full') return invalid('throttle', 'must be full: a campaign is not advanced in a dry run')
  const campaign: SnapshotOf<CampaignContext> | undefined = findCampaign(service, exchange.principal, name)
  if (campaign === undefined || campaign.context.project !== project) {
    return invalid('payload/campaign', `must name a campaign of project ${project}`)
  }
  const why = whyNotTaken(campaign, id)
  if (why !== undefined) {
    exchange.problem('illegal_move', why)
    return undefined
  }
  return { to: { kind: 'campaign', id: name }, message: { type: 'advance', by: exchange.by, event_id: id } }
}

/** Undefined: the campaign takes it, or has taken it; what is stopped answers it, too. */
function whyNotTaken({ value, context }: SnapshotOf<CampaignContext>, id: string): string | undefined {
  const { name, work, internal } = context
  if (internal.requests.includes(id)) return undefined
  if (value === 'cancelling') return `Campaign ${name} is being cancelled: nothing follows.`
  if (value !== 'active' || work?.role !== 'cycle') return undefined
  return `Cycle ${work.cycle} of campaign ${name} is under way: its result advances it.`
}
