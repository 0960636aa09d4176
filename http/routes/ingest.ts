/** Ingest: streams a whole trace of an engine into the log. It triggers nothing; it only records what happened. */
import {
  ingestedTraceEventSchema,
  ingester,
  isIngested,
  type PreparedEvent,
  parseEventText,
  prepareEvent,
} from '../../machines/events/envelope.ts'
import { projectIdOf } from '../../machines/ids.ts'
import type { ProjectBody } from '../../machines/project.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { readable } from '../../runtime/reader.ts'
import { Filter } from '../../runtime/stream/filter.ts'
import { findEvents } from '../../runtime/stream/find-events.ts'
import { maySee, revocationFault } from '../access.ts'
import { fieldProblemSchema } from '../api-documents/problem-schema.ts'
import { ArrayElements, type Elements, Lines } from '../bodies/elements.ts'
import { utcNow } from '../clock.ts'
import { IngestsUnderWay, type Visit } from '../event-input/ingests-under-way.ts'
import type { TolerantRules } from '../event-input/tolerant-admission.ts'
import { type IngestEnd, Ingestion, type IngestReport } from '../event-input/trace-ingestion.ts'
import { cursorAt, markCursor, notFound, onReply, refuse } from '../replies.ts'
import { visibleProject } from '../resources/projects.ts'
import { hasHeld } from '../resources/run-request-answers.ts'
import { runsOfTrace } from '../resources/trace-runs.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const JSON_TYPE = 'application/json'
const LINE_TYPES = ['application/x-ndjson', 'application/jsonl', 'application/x-jsonlines'] as const
const TRACE_ID_CHARACTERS_MAX = 128
/** Events read at once, newest first: what was last ingested or stated is nearly always the first. */
const TOLD_PAGE_EVENTS = 20
/** The most that an event may have around its payload, in bytes. */
const ENVELOPE_BYTES_MAX = 64 * 1024

const lines = Type.String({ description: 'One event per line, as in `application/json`; blank lines are skipped.' })
const events = Type.Array(ingestedTraceEventSchema, { description: 'The events, in any order.' })

const noted = Type.Object(
  {
    line: Type.Integer({ description: 'Its line number, or its position in the array, counted from 1.' }),
    errors: Type.Array(fieldProblemSchema, { description: 'What is wrong.' }),
  },
  { title: 'IngestedLine' },
)

const ingestAnswer = Type.Object(
  {
    trace_id: Type.String({ description: 'The trace.' }),
    accepted: Type.Integer({ description: 'Events recorded now.' }),
    duplicates: Type.Integer({ description: 'Events that the log already held.' }),
    refused_count: Type.Integer({ description: 'Events that were rejected.' }),
    refused: Type.Array(noted, { description: 'The first of the rejected events, with the reasons.' }),
    marked_count: Type.Integer({
      description: 'Events recorded although they do not match the schema of their type.',
    }),
    marked: Type.Array(noted, { description: 'The first of those, with what does not match.' }),
    cursor: Type.String({ description: 'Watch from here to see what follows them.' }),
  },
  { title: 'IngestAnswer' },
)

export function ingestRoutes(service: ServiceContext): readonly Route[] {
  const underWay = new IngestsUnderWay()
  return [
    {
      method: 'POST',
      path: '/engine/traces/:trace_id/ingest',
      operation: 'ingestTrace',
      area: 'events',
      summary: 'Ingest a whole trace of an engine into the log: JSON or JSON lines, streamed, up to 1 GiB.',
      description:
        'A valid envelope is enough, and a given id is kept. `trace_id` defaults to the path’s and may not differ; `project` ' +
        'and `throttle` default to those of the run that the trace belongs to. Committed in batches of at most 250: what was ' +
        'committed stays even if the rest fails, and sending the same trace again completes it, each event once. Ingested ' +
        'events trigger nothing.',
      access: { right: 'event.emit', runner: 'holder' },
      query: closedObject({
        project: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 128,
            description:
              'Key or id of the project of events that name none. Default: that of the trace’s run; a runner may name no other.',
          }),
        ),
      }),
      upload: {
        contents: {
          [JSON_TYPE]: Type.Unsafe({ anyOf: [events, Type.Object({ events })] }),
          ...Object.fromEntries(LINE_TYPES.map((type) => [type, lines])),
        },
      },
      answers: { 200: { description: 'The trace was read to the end.', schema: ingestAnswer } },
      problems: ['not_found'],
      handle: (exchange) => ingest(service, exchange, underWay),
    },
  ]
}

interface Owner {
  readonly project: string | undefined
  readonly throttle: 'full' | 'dry_run'
}

/** The defaults for events of the trace. Returns undefined if a problem was answered. */
async function ownerOf(service: ServiceContext, exchange: Exchange, traceId: string): Promise<Owner | undefined> {
  const { principal, query } = exchange
  const named = query.project === undefined ? undefined : visibleProject(service, exchange, query.project)
  if (query.project !== undefined && named === undefined) return undefined
  const project: string | undefined = named?.context.key
  const run = await firstRun(service, exchange, traceId, project)
  if (principal.runnerId !== undefined && run === undefined) {
    notFound(exchange, 'trace', traceId)
    return undefined
  }
  return { project: project ?? run?.context.project, throttle: run?.context.throttle ?? 'dry_run' }
}

/**
 * The run that the trace belongs to, as far as the caller may know: for a runner, one that it holds or held; and, if a
 * project was named, one of that project, since the caller may write into no other project than the run's.
 */
async function firstRun(
  { runtime, dispatcher }: ServiceContext,
  exchange: Exchange,
  traceId: string,
  project: string | undefined,
): Promise<SnapshotOf<RunRequestContext> | undefined> {
  const { principal } = exchange
  const { runnerId } = principal
  const isIts = (context: RunRequestContext): boolean =>
    runnerId === undefined
      ? maySee(principal, context.project)
      : hasHeld(context, runnerId) && (project === undefined || context.project === project)
  // Finds a run that has been going on for longer than events are kept.
  for (const { id } of runnerId === undefined ? [] : dispatcher.heldBy(runnerId)) {
    const held = readable(() => runtime.read({ kind: 'run_request', id }))
    if (held?.context.trace_id === traceId && isIts(held.context)) return held
  }
  for await (const { snapshot } of runsOfTrace(runtime, traceId, () => !exchange.aborted))
    if (snapshot !== 'unreadable' && isIts(snapshot.context)) return snapshot
  return undefined
}

function ingest(service: ServiceContext, exchange: Exchange, underWay: IngestsUnderWay): void {
  const traceId = exchange.params[0]!
  if (traceId === '' || traceId.length > TRACE_ID_CHARACTERS_MAX || !traceId.isWellFormed()) {
    exchange.problem('malformed_path', `A trace id must have 1 to ${TRACE_ID_CHARACTERS_MAX} characters.`)
    return
  }
  const { runtime } = service
  const upload = exchange.upload!
  const visits = new Map<string, Visit>()
  const ingestion = new Ingestion({
    runtime,
    upload,
    elements: elementsOf(upload.contentType, runtime.settings.eventBytesMax + ENVELOPE_BYTES_MAX),
    by: ingester(exchange.by),
    mayGoOn: () => service.principals.holds(exchange.principal),
    onProject: (project) => visits.set(project, underWay.enter(traceId, project)),
    onEnd: (end) => ended(service, exchange, { traceId, visits, end }),
  })
  exchange.await(ownerOf(service, exchange, traceId), (owner) => {
    if (owner !== undefined) ingestion.begin(doorOf(service, exchange, { ...owner, traceId }))
  })
}

function elementsOf(contentType: string, bytesMax: number): Elements {
  return contentType === JSON_TYPE ? new ArrayElements(bytesMax) : new Lines(bytesMax)
}

function doorOf(
  { runtime }: ServiceContext,
  { principal }: Exchange,
  owner: Owner & { readonly traceId: string },
): TolerantRules {
  const known = new Map<string, string | undefined>()
  const why = (key: string): string | undefined => {
    if (principal.runnerId !== undefined && key !== owner.project) return `must be ${owner.project}, the run’s`
    const project = runtime.read({ kind: 'project', id: projectIdOf(key) })
    return project !== undefined && maySee(principal, key) ? undefined : 'is not the key of a project'
  }
  return {
    ...owner,
    eventBytesMax: runtime.settings.eventBytesMax,
    whyNotProject: (key) => {
      if (!known.has(key)) known.set(key, why(key))
      return known.get(key)
    },
  }
}

interface Ended {
  readonly traceId: string
  /** By project. */
  readonly visits: ReadonlyMap<string, Visit>
  readonly end: IngestEnd
}

/**
 * Tells each project what was recorded in it, however the ingestion ended and even if the client has gone; then
 * answers.
 */
function ended(service: ServiceContext, exchange: Exchange, { traceId, visits, end }: Ended): void {
  const { report, byProject } = end
  const isDone = end.how === 'done'
  let waiting = byProject.size
  let cursor = end.how === 'done' ? end.sequence : 0
  const settled = (sequence: number): void => {
    waiting--
    cursor = Math.max(cursor, sequence)
    if (waiting === 0) answerReport(service, exchange, traceId, report, cursor)
  }
  const told = isDone ? onReply(exchange, ({ sequence }) => settled(sequence)) : () => {}
  for (const [project, { accepted, duplicates }] of byProject) {
    const visit = visits.get(project)!
    const payload = { accepted, duplicates, refused: report.refused_count }
    const tell = (): void => {
      const events = [ingestedFact(service, project, traceId, payload)]
      const message: ProjectBody = { type: 'record', by: exchange.by, events }
      service.runtime.ask({ kind: 'project', id: projectIdOf(project) }, message, (answer) => {
        visit.leave()
        told(answer)
      })
    }
    if (accepted > 0) tell()
    else if (!isDone) visit.leave()
    else
      exchange.await(isLeftToTell(service, exchange, { traceId, project, visit }), (is) => (is ? tell() : settled(0)))
  }
  if (!isDone || byProject.size === 0) exchange.later(() => answer(service, exchange, traceId, end))()
}

/** Whether it is untold, and no other ingest is there to tell it. Otherwise the visit is over. */
async function isLeftToTell(
  service: ServiceContext,
  exchange: Exchange,
  { traceId, project, visit }: { readonly traceId: string; readonly project: string; readonly visit: Visit },
): Promise<boolean> {
  let is = false
  try {
    const mark = visit.mark()
    is = visit.isAlone() && (await isUntold(service, exchange, traceId, project)) && visit.isAlone(mark)
    return is && !exchange.done
  } finally {
    if (!is || exchange.done) visit.leave()
  }
}

/**
 * Whether the service ended between an ingest's last batch and the event that states it: what was last ingested of the
 * trace is newer than what was last stated. A repeat then states it, since it records nothing else.
 */
async function isUntold(
  { runtime }: ServiceContext,
  exchange: Exchange,
  traceId: string,
  project: string,
): Promise<boolean> {
  const filter = new Filter({ trace_id: [traceId], project: [project] })
  const hint = { of: 'trace', ids: [traceId] } as const
  let from: number | undefined = Number.MAX_SAFE_INTEGER
  while (from !== undefined && !exchange.aborted) {
    const query = { filter, order: 'desc', from, limit: TOLD_PAGE_EVENTS, hint } as const
    const found = await findEvents(runtime.journal, runtime.readTurns, query, () => !exchange.aborted)
    for (const event of found.texts.map(parseEventText)) {
      if (isIngested(event)) return true
      if (event.event_type === 'trace_ingested') return false
    }
    from = found.next
  }
  return false
}

function ingestedFact(service: ServiceContext, project: string, trace_id: string, counts: object): PreparedEvent {
  return prepareEvent({
    event_type: 'trace_ingested',
    project,
    occurred_at: utcNow(service),
    throttle: 'full',
    payload: { ...counts, trace_id },
    trace_id,
  })
}

function answer(service: ServiceContext, exchange: Exchange, traceId: string, end: IngestEnd): void {
  const { accepted, duplicates, refused_count } = end.report
  const members = { accepted, duplicates, refused_count }
  if (end.how === 'done') answerReport(service, exchange, traceId, end.report, end.sequence)
  else if (end.how === 'malformed') exchange.problem('malformed_body', end.detail, { members })
  else if (end.how === 'too_large')
    exchange.problem('body_too_large', `The trace exceeds ${exchange.upload!.bytesMax} bytes.`, { members })
  else if (end.how === 'unauthenticated') {
    const { code, detail } = revocationFault(exchange.principal)
    exchange.problem(code, `${detail} The rest of the trace was not ingested.`, { members })
  } else if (end.how === 'refused') refuse(exchange, end.refused)
  else if (end.how === 'failed') exchange.fault(end.error)
}

function answerReport(
  service: ServiceContext,
  exchange: Exchange,
  traceId: string,
  report: IngestReport,
  recorded: number,
): void {
  // If all of the trace was there before, nothing was recorded.
  const sequence = recorded === 0 ? service.runtime.journal.lastSequence : recorded
  markCursor(service, exchange, sequence)
  exchange.answer(200, { trace_id: traceId, ...report, cursor: cursorAt(service, sequence) })
}
