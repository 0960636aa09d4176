/**
 * Emitted requests to advance: they create no run request but send a message to the actor that they name, delivered
 * after the event is recorded. That actor's own facts name the event's id as their cause.
 */
import type { CampaignContext } from '../../machines/campaign/context.ts'
import { whyNotAdvanced } from '../../machines/campaign/rules.ts'
import { digestOf } from '../../machines/digest.ts'
import { isSameMember } from '../../machines/documents/member.ts'
import type { PreparedEvent } from '../../machines/events/envelope.ts'
import type { PayloadOf } from '../../machines/events/index.ts'
import type { InitiativeContext, Of } from '../../machines/initiative/context.ts'
import { asksOtherwise, whyNotAssessed } from '../../machines/initiative/rules.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { EmittedAdvance } from '../../machines/project.ts'
import type { Runtime } from '../../runtime/api.ts'
import { mayDo } from '../access.ts'
import { findCampaign } from '../resources/campaign-answers.ts'
import { findInitiative } from '../resources/initiative-visibility.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const INITIATIVE = 'initiative_advance_requested'
const CAMPAIGN = 'campaign_advance_requested'

/**
 * The messages for those advance requests among the events that the log does not hold yet. Returns undefined if a
 * problem was answered.
 */
export function advancesOf(
  service: ServiceContext,
  exchange: Exchange,
  events: readonly PreparedEvent[],
): readonly EmittedAdvance[] | undefined {
  const sends: EmittedAdvance[] = []
  for (const [i, event] of events.entries()) {
    const { event_type } = event
    if (event_type !== INITIATIVE && event_type !== CAMPAIGN) continue
    if (!mayDo(exchange.principal, 'work.operate')) {
      const what = event_type === INITIATIVE ? 'an assessment' : 'the next step of a campaign'
      exchange.problem('forbidden', `A ${event_type} asks for ${what}: this needs the right work.operate.`)
      return undefined
    }
    if (isHeld(service.runtime, event)) continue
    const send =
      event_type === CAMPAIGN
        ? toCampaign(service, exchange, event, i, sends)
        : toInitiative(service, exchange, event, i, sends)
    if (send === undefined) return undefined
    sends.push(send)
  }
  return sends
}

/** Whether the event is in the log: then its request was sent with it, whatever the state is now. */
function isHeld({ journal }: Runtime, { project, trace_id, id }: PreparedEvent): boolean {
  return journal.eventSequence(project, trace_id, id) !== undefined
}

/**
 * The advance for an initiative, refused before the event is recorded if the initiative would not take it. Returns
 * undefined if a problem was answered.
 */
function toInitiative(
  service: ServiceContext,
  exchange: Exchange,
  event: PreparedEvent,
  place: number,
  before: readonly EmittedAdvance[],
): EmittedAdvance | undefined {
  const invalid = (pointer: string, detail: string): undefined => {
    exchange.problem('invalid_event', detail, { errors: [{ pointer: `/events/${place}${pointer}`, detail }] })
  }
  const { project, throttle, payload } = event
  if (throttle !== 'full') return invalid('/throttle', 'must be full: an initiative cannot be steered in a dry run')
  const { initiative: name, member, trigger_id, follow_up_of } = payload as PayloadOf<typeof INITIATIVE>
  const initiative: SnapshotOf<InitiativeContext> | undefined = findInitiative(service, exchange.principal, name)
  if (initiative === undefined) return invalid('/payload/initiative', `There is no initiative ${name.slice(0, 140)}.`)
  const { projects, members } = initiative.context
  if (!projects.includes(project))
    return invalid('/project', `The initiative ${name} does not span project ${project}.`)
  if (member !== undefined && !members.some((one) => isSameMember(one, member)))
    return invalid('/payload/member', `It is not a member of the initiative ${name}.`)
  if (follow_up_of !== undefined)
    return invalid(
      '/payload/follow_up_of',
      'Only the service requests follow-ups: leave this out to make a request of your own.',
    )
  const message = advanceOf(exchange, event)
  const isForIt = (one: EmittedAdvance): one is EmittedAdvance<'initiative'> =>
    one.to.kind === 'initiative' && one.to.id === name
  const ofIt = before.filter(isForIt)
  const isOther = ({ message: one }: EmittedAdvance<'initiative'>): boolean =>
    one.trigger_id === trigger_id && one.fingerprint !== message.fingerprint
  if (asksOtherwise(initiative.context, message as Of<'advance'>) || ofIt.some(isOther))
    return invalid(
      '/payload/trigger_id',
      'This trigger was used for another member: each request needs its own trigger.',
    )
  const why = whyNotAssessed(initiative, { trigger_id }, ofIt.length)
  if (why === undefined) return { to: { kind: 'initiative', id: name }, message }
  exchange.problem('illegal_move', `Initiative ${name} cannot be assessed: ${why}.`)
  return undefined
}

/** The same member under the same trigger is the same request, including one posted to the initiative's own route. */
function advanceOf({ by }: Exchange, { id, payload }: PreparedEvent) {
  const { member, trigger_id } = payload as PayloadOf<typeof INITIATIVE>
  const about = member === undefined ? {} : { member: { kind: member.kind, ref: member.ref } }
  return { type: 'advance', by, trigger_id, event_id: id, ...about, fingerprint: digestOf(about) } as const
}

/**
 * The advance for a campaign, refused before the event is recorded if the campaign would not take it. Returns undefined
 * if a problem was answered.
 */
function toCampaign(
  service: ServiceContext,
  exchange: Exchange,
  { id, project, throttle, payload }: PreparedEvent,
  place: number,
  before: readonly EmittedAdvance[],
): EmittedAdvance | undefined {
  const { campaign: name, run_event_id, run_result } = payload as PayloadOf<typeof CAMPAIGN>
  const invalid = (member: string, detail: string): undefined => {
    exchange.problem('invalid_event', 'The event names something that does not exist or cannot be asked for.', {
      errors: [{ pointer: `/events/${place}/${member}`, detail }],
    })
  }
  // A campaign only works at throttle `full`: a dry run of it would do nothing.
  if (throttle !== 'full') return invalid('throttle', 'must be full: a campaign cannot be advanced in a dry run')
  const campaign: SnapshotOf<CampaignContext> | undefined = findCampaign(service, exchange.principal, name)
  if (campaign === undefined || campaign.context.project !== project) {
    return invalid('payload/campaign', `must name a campaign of project ${project}`)
  }
  const ahead = before.filter(({ to }) => to.kind === 'campaign' && to.id === name).length
  const why = whyNotAdvanced(campaign, { event_id: id }, ahead)
  if (why !== undefined) {
    exchange.problem('illegal_move', `Campaign ${name} cannot be advanced: ${why}.`)
    return undefined
  }
  const from = { ...(run_event_id !== undefined && { run_event_id }), ...(run_result && { run_result }) }
  return { to: { kind: 'campaign', id: name }, message: { type: 'advance', by: exchange.by, event_id: id, ...from } }
}
