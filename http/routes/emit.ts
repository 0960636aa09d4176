/**
 * Events stated outside a run: recorded by their project's actor. An emitted `*_requested` is a command: with it a run
 * request is created whose key is the event's id, so that the same command runs once.
 */
import { isSessionEvent, sessionNews } from '../../machines/agent-session/reports.ts'
import { EVENTS_A_POST_MAX } from '../../machines/documents/fields.ts'
import { emittedEventSchema, type PreparedEvent } from '../../machines/events/envelope.ts'
import { isCommand } from '../../machines/events/index.ts'
import type { SendParams } from '../../machines/machine.ts'
import { isMaintenanceEvent, maintenanceNews } from '../../machines/maintenance-run/reports.ts'
import type { EmittedAdvance, ProjectBody } from '../../machines/project.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { Runtime, SnapshotOf } from '../../runtime/api.ts'
import { commandPlace, runRequestMessage, type TraceParent } from '../../runtime/entities/run-requests.ts'
import { mayDo } from '../access.ts'
import { utcNow } from '../clock.ts'
import { advancesOf } from '../event-input/advance-requests.ts'
import { type CommandTraces, commandKey, commandWithoutTrace, holdingTraces } from '../event-input/command-traces.ts'
import { admitEvents, type StatedEvent } from '../event-input/strict-admission.ts'
import { type HoldUntil, holdNothing } from '../holding.ts'
import { findInLaterTurns } from '../later-turns.ts'
import { cursorAt, markCursor, onReply } from '../replies.ts'
import { statedProject } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import { parseTraceparent } from '../traceparent.ts'
import type { Exchange } from '../wire/exchange.ts'

const emitBody = closedObject(
  {
    events: Type.Array(emittedEventSchema, {
      minItems: 1,
      maxItems: EVENTS_A_POST_MAX,
      description: 'Events of one project, recorded all or none; one already recorded counts as a duplicate.',
    }),
  },
  { title: 'Emit' },
)

const emitAnswer = Type.Object(
  {
    accepted: Type.Integer({ description: 'Events recorded now.' }),
    duplicates: Type.Integer({ description: 'Events that the log already held.' }),
    events: Type.Array(Type.String(), { description: 'Ids of all events, in the order of the request.' }),
    run_requests: Type.Array(Type.String(), {
      description: 'Ids of the run requests created by the commands among them.',
    }),
    cursor: Type.String({ description: 'Watch from here to see what follows them.' }),
  },
  { title: 'EmitAnswer' },
)

export function emitRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/events',
      operation: 'emitEvents',
      area: 'events',
      summary: 'Emit 1 to 1,000 events of one project, all or nothing.',
      description:
        'An emitted `*_requested` event is a command: it creates a run request with that event as its entry event, and needs ' +
        '`work.submit` too. An `initiative_advance_requested` or `campaign_advance_requested` goes to the entity it ' +
        'names instead, and needs `work.operate`; a campaign accepts it only with throttle `full`. A command that the log already ' +
        'holds is not carried out again.',
      access: { right: 'event.emit' },
      body: { schema: emitBody, limit: 'events' },
      headers: ['traceparent'],
      answers: { 200: { description: 'Recorded.', schema: emitAnswer } },
      problems: [
        'unknown_project',
        'forbidden',
        'service_owned_type',
        'invalid_event',
        'event_id_mismatch',
        'event_too_large',
        'project_archived',
        'trace_in_use',
        'engine_incapable',
        'illegal_move',
      ],
      handle: (exchange) => emit(service, exchange),
    },
  ]
}

function emit(service: ServiceContext, exchange: Exchange): void {
  const { events } = exchange.body as { events: readonly (StatedEvent & { project: string })[] }
  const key = events[0]!.project
  const stray = events.findIndex((event) => event.project !== key)
  if (stray >= 0) {
    exchange.problem('invalid_event', 'All events of a request must belong to one project.', {
      errors: [{ pointer: `/events/${stray}/project`, detail: `must be ${key}, as the first event's` }],
    })
    return
  }
  const project = statedProject(service, exchange, key, '/events/0/project')
  if (project === undefined) return
  if (project.context.key !== key) {
    exchange.problem('invalid_event', 'Events must name a project by its key.', {
      errors: [{ pointer: '/events/0/project', detail: `must be ${project.context.key}` }],
    })
    return
  }
  const { eventBytesMax } = service.runtime.settings
  const parent = parseTraceparent(exchange.header('traceparent'))
  const rules = {
    project: key,
    traceId: parent?.traceId ?? null,
    throttle: 'dry_run',
    isFixed: false,
    eventBytesMax,
  } as const
  const admitted = admitEvents(exchange, events, rules)
  if (admitted === undefined) return
  const advances = advancesOf(service, exchange, admitted)
  if (advances === undefined) return
  const command = admitted.find((event) => isCommand(event.event_type))
  if (command === undefined) {
    record(service, exchange, project, { events: admitted, commands: [], advances }, holdNothing)
    return
  }
  if (!mayDo(exchange.principal, 'work.submit')) {
    exchange.problem('forbidden', `A ${command.event_type} asks for work: this needs the right work.submit.`)
    return
  }
  if (!isServed(service, exchange, project, admitted)) return
  const odd = commandWithoutTrace(admitted)
  if (odd >= 0) {
    exchange.problem('invalid_event', 'A command starts a run, whose trace id must be a W3C one.', {
      errors: [{ pointer: `/events/${odd}/trace_id`, detail: 'must be 32 lower-case hex digits, not all zero' }],
    })
    return
  }
  holdingTraces(service.runtime, project.context, events, admitted, (traces, until) => {
    const prepared = traces.others.size === 0 ? admitted : admitEvents(exchange, ownTraces(events, traces), rules)
    if (traces.inUse !== undefined) {
      const { trace_id } = admitted[traces.inUse]!
      exchange.problem('trace_in_use', `The trace ${trace_id} is in use in project ${key}.`, {
        errors: [{ pointer: `/events/${traces.inUse}/trace_id`, detail: 'must be unused in the project, or left out' }],
      })
    }
    if (exchange.done || prepared === undefined) return
    const commanding = prepared.filter((event) => isCommand(event.event_type))
    const commands = commanding.map((event) => commandOf(service, exchange, project, event, parent))
    record(service, exchange, project, { events: prepared, commands, advances }, until)
  })
}

/**
 * Whether an engine of the project can do what the commands ask for; commands made before are not checked again.
 * Returns false if a problem was answered.
 */
function isServed(
  { runtime, capabilities }: ServiceContext,
  exchange: Exchange,
  { context }: SnapshotOf<any>,
  events: readonly PreparedEvent[],
): boolean {
  for (const [i, event] of events.entries()) {
    const { event_type: entryEvent, throttle } = event
    if (!isCommand(entryEvent)) continue
    const why = capabilities.incapable({ project: context.key, entryEvent, throttle })
    const { id } = commandPlace(runtime, context.id, commandKey(event))
    if (why === undefined || runtime.read({ kind: 'run_request', id }) !== undefined) continue
    exchange.problem('engine_incapable', why, { errors: [{ pointer: `/events/${i}/event_type`, detail: why }] })
    return false
  }
  return true
}

/** A command that would have continued the caller's trace, which another command already uses, begins its own. */
function ownTraces<E extends StatedEvent>(events: readonly E[], { others }: CommandTraces): readonly E[] {
  return events.map((event, i) => (others.has(i) ? { ...event, trace_id: null } : event))
}

/**
 * The message that creates the command's run request, delivered after the event is recorded. Its span is a child of the
 * command's; or of the caller's, if the command continues the caller's trace without a span of its own.
 */
function commandOf(
  service: ServiceContext,
  exchange: Exchange,
  project: SnapshotOf<any>,
  event: PreparedEvent,
  parent: TraceParent | undefined,
): SendParams {
  const idempotencyKey = commandKey(event)
  const order = {
    project,
    body: {
      entry_event: event.event_type,
      payload: event.payload as Record<string, unknown>,
      throttle: event.throttle,
      ...(event.trace_id === null ? {} : { trace_id: event.trace_id }),
    },
    idempotencyKey,
    by: exchange.by,
    traceParent: undefined,
    capabilities: service.capabilities,
  }
  const place = commandPlace(service.runtime, project.context.id, idempotencyKey)
  const callerSpan = event.trace_id === parent?.traceId ? parent?.spanId : undefined
  const parent_span_id = event.span_id ?? callerSpan ?? null
  const caused = { causation_id: event.id, gather_id: event.gather_id, parent_span_id }
  const message = { ...runRequestMessage(service.runtime, order), ...caused, ...place, fingerprint: event.id }
  return { to: { kind: 'run_request', id: place.id }, message }
}

/** Messages to the actors that events are about: agent sessions and maintenance runs outside any runner. */
function newsOf(runtime: Runtime, events: readonly PreparedEvent[], { projects }: Principal): SendParams[] {
  const recorded_at = utcNow({ runtime })
  const begun = new Set<string>()
  const news: SendParams[] = []
  for (const event of events) {
    const { event_type, project } = event
    const isSession = isSessionEvent(event_type)
    if (!isSession && !isMaintenanceEvent(event_type)) continue
    const told = isSession ? sessionNews(event, { project }, recorded_at) : maintenanceNews(event, projects)
    if (told === undefined) continue
    const { to, message } = told
    if (message.type === 'begin') begun.add(to.id)
    // Most of these events belong to no maintenance run that began here; of one that did, the beginning may still wait.
    if (isSession || begun.has(to.id) || runtime.isBusy(to) || runtime.read(to) !== undefined) news.push(told)
  }
  return news
}

interface Emission {
  readonly events: readonly PreparedEvent[]
  readonly commands: readonly SendParams[]
  readonly advances: readonly EmittedAdvance[]
}

function record(
  service: ServiceContext,
  exchange: Exchange,
  project: SnapshotOf<any>,
  { events, commands, advances }: Emission,
  until: HoldUntil,
): void {
  const news = newsOf(service.runtime, events, exchange.principal)
  // One that is there was asked for by the same event before, whatever would be refused now.
  const unmade = commands.filter(({ to }) => service.runtime.read(to) === undefined)
  const message: ProjectBody = { type: 'record', by: exchange.by, events, commands: unmade, advances, news }
  const answered = onReply(exchange, (answer) => {
    const ids = commands.map(({ to }) => to.id)
    const { runtime } = service
    const isMade = (id: string): boolean => runtime.read({ kind: 'run_request', id }) !== undefined
    const isTaken = ({ to }: EmittedAdvance): boolean => !runtime.isBusy(to)
    const areFollowed = (): true | undefined => (ids.every(isMade) && advances.every(isTaken)) || undefined
    // Answered once the requests exist, so that whoever reads their ids can read them, and once the advances have been
    // taken, so that the next post is judged by them.
    findInLaterTurns(service, exchange, areFollowed, () => {
      markCursor(service, exchange, answer.sequence)
      exchange.answer(200, {
        accepted: answer.accepted,
        duplicates: answer.duplicates,
        events: events.map((event) => event.id),
        run_requests: ids,
        cursor: cursorAt(service, answer.sequence),
      })
    })
  })
  service.runtime.ask({ kind: 'project', id: project.context.id }, message, until(answered))
}
