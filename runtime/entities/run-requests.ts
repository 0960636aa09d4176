/**
 * Makes run requests, wherever they come from (a person's post, an emitted command). Invariants: one key, one
 * request (runtime/entities/generations.ts), and one request, one trace.
 */

import { digestOf } from '../../machines/digest.ts'
import type { RunRequestCreate } from '../../machines/documents/run-request.ts'
import { validatePayload } from '../../machines/events/index.ts'
import { runRequestIdOf } from '../../machines/ids.ts'
import { instantMs } from '../../machines/instant.ts'
import type { By, SnapshotOf } from '../../machines/machine.ts'
import type { CreateRunRequest } from '../../machines/run-request/context.ts'
import { READ_ONLY_ENTRY_EVENTS } from '../../machines/work-item/entry.ts'
import type { Answer, Refused, Runtime } from '../api.ts'
import type { Visible } from '../dispatch/api.ts'
import { readable } from '../reader.ts'
import { type BriefOfRun, briefOfRun, refused } from './brief-runs.ts'
import type { Capabilities } from './capabilities.ts'
import { createOfKey, generationOf, idOfGeneration, type Keyed, reservationOf } from './generations.ts'
import { isRemovedRunner, removedForGood } from './removed-runners.ts'
import { newSpanId, newTraceId } from './trace-ids.ts'
import { NOTHING_TAKEN, takeTrace } from './traces-in-flight.ts'

/** W3C trace context of the caller: the trace, and the span that is to be the parent. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
}

interface RunRequestOrder {
  /** The committed snapshot of the project that it is for. */
  readonly project: SnapshotOf<any>
  /** As validated by the create body's schema. */
  readonly body: RunRequestCreate
  /** The key that the caller gave; without one it is derived from what is asked for. */
  readonly idempotencyKey: string | undefined
  readonly by: By
  readonly traceParent: TraceParent | undefined
  readonly capabilities: Pick<Capabilities, 'incapable'>
  /** Keys of the projects that the caller may see, or all. */
  readonly visible: Visible
}

type RunRequestReply = (answer: Answer, id: string) => void

const RESERVATION_SCOPE = 'run_request'

/**
 * Make the request, or find the one that has its key (`repeat` of the answer is `replay`). Refusals beyond the
 * machine's: `project_archived`, `unknown_brief`, `brief_digest_mismatch`, `brief_not_compiled`, `brief_archived`,
 * `brief_busy`, `reapproval_required`, `engine_incapable`, `trace_in_use`, `invalid_body`.
 */
export function createRunRequest(runtime: Runtime, order: RunRequestOrder, reply: RunRequestReply): void {
  const fault = whyNotTimes(order.body)
  if (fault !== undefined) {
    reply(fault, '')
    return
  }
  const followed = briefOfRun(runtime, order.project, order.body)
  const message = runRequestMessage(runtime, order, followed?.ok === true ? followed.brief : undefined)
  // Prevents a new request only; one made earlier under a given key is still answered.
  const unfollowed = followed?.ok === false ? followed : undefined
  const whyNotNew =
    whyNotTaken(order) ??
    unfollowed ??
    whyNotStep(order.body) ??
    whyNotPayload(order.body) ??
    whyNotPinned(runtime, order) ??
    whyNotServed(order)
  const { project, project_id, idempotency_key, key_given, trace_id } = message
  const isTraceGiven = order.body.trace_id !== undefined
  const isTraceTaken = isTraceGiven || trace_id === order.traceParent?.traceId
  const before = (id: string): Refused | (() => void) => {
    if (whyNotNew === undefined && !isTraceTaken) return NOTHING_TAKEN
    // A request that cannot be read exists, too: its actor says so.
    const isThere = readable(() => runtime.read({ kind: 'run_request', id }), 'unreadable') !== undefined
    if (whyNotNew !== undefined && !(key_given && isThere)) return whyNotNew
    if (!isTraceTaken || isThere) return NOTHING_TAKEN
    const giveBack = takeTrace(runtime, project, trace_id)
    if (giveBack !== undefined) return giveBack
    if (isTraceGiven) return refused('trace_in_use', `The trace ${trace_id} is in use in project ${project}.`)
    // A fresh trace, which the log does not know yet, continues the caller's.
    message.trace_id = newTraceId(runtime.platform)
    return NOTHING_TAKEN
  }
  createOfKey(runtime, { ...keyedBy(project_id, idempotency_key), message, before }, reply)
}

function keyedBy(projectId: string, key: string): Keyed {
  const idOf = (generation: number): string => runRequestIdOf(projectId, key, generation)
  return { kind: 'run_request', scope: RESERVATION_SCOPE, key: idOf(0), idOf, isFenced: true }
}

/** The id of the run request that an emitted command makes or has made, and the reservation to store with it. */
export function commandPlace(runtime: Runtime, projectId: string, key: string) {
  const keyed = keyedBy(projectId, key)
  const generation = generationOf(runtime, keyed)
  return { id: idOfGeneration(keyed, generation), ...reservationOf(keyed, generation) }
}

/**
 * The message that creates the request, without its id: everything that does not depend on the generation. Its trace is
 * the given one, else the caller's if the project does not know it yet, else a new one.
 */
export function runRequestMessage(
  runtime: Runtime,
  order: Omit<RunRequestOrder, 'capabilities' | 'visible'>,
  brief?: BriefOfRun,
): RunRequestMessage {
  const { project, body, by, traceParent } = order
  const context = project.context as { id: string; key: string; repository?: string }
  const key = order.idempotencyKey ?? digestOf(factsOf(context.key, body, by))
  const { graceMs, lateEventsMs, idempotencyMs } = runtime.settings
  const repo = repoOf(context.repository, body, brief)
  // Listed member by member: spreading this many makes a dictionary-mode object, in which reading an absent member is
  // slow.
  const message: Filled<CreateRunRequest> = {
    type: 'create',
    id: '',
    by,
    project: context.key,
    project_id: context.id,
    entry_event: body.entry_event,
    payload: body.payload,
    throttle: body.throttle,
    access: body.access,
    lane: body.lane,
    brief: body.brief,
    repo,
    labels: body.labels,
    runner_id: body.runner_id,
    priority: body.priority,
    again: body.again,
    not_before: body.not_before,
    expires_at: body.expires_at,
    timeout_seconds: body.timeout_seconds,
    retry: body.retry,
    reporting: body.reporting,
    idempotency_key: key,
    key_given: order.idempotencyKey !== undefined,
    fingerprint: order.idempotencyKey === undefined ? key : fingerprintOf(body),
    repository: repo?.path ?? context.id,
    requested_by: by,
    work_item_id: undefined,
    approved: undefined,
    approved_by: brief?.approvedBy,
    trace_id: body.trace_id ?? freshTrace(runtime, context.key, traceParent),
    span_id: newSpanId(runtime.platform),
    parent_span_id: body.trace_id === undefined ? (traceParent?.spanId ?? null) : null,
    causation_id: undefined,
    gather_id: undefined,
    elsewhere: brief?.isElsewhere === true ? true : undefined,
    told_of: undefined,
    waits_for_provider: undefined,
    limits: { grace_ms: graceMs, late_events_ms: lateEventsMs, idempotency_ms: idempotencyMs },
    events: undefined,
  }
  return message as CreateRunRequest
}

/** The trace may be replaced before the message is sent, if it turns out to be taken. */
type RunRequestMessage = CreateRunRequest & { trace_id: string }

/** Every member is present; the optional ones may be undefined. */
type Filled<T> = { readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] }

/** What the run leaves out comes from its brief, then from its project. Undefined if none of them says anything. */
function repoOf(
  path: string | undefined,
  body: RunRequestCreate,
  brief: BriefOfRun | undefined,
): RunRequestCreate['repo'] {
  const repo = { ...(path === undefined ? {} : { path }), ...brief?.repo, ...body.repo }
  return Object.keys(repo).length === 0 && body.repo === undefined ? undefined : repo
}

function fingerprintOf({ idempotency_key: _, trace_id, ...asked }: RunRequestCreate): string {
  return digestOf({ ...asked, trace_id: trace_id ?? null })
}

/** The caller's trace is continued once; a second request under it gets its own and keeps the parent as its link. */
function freshTrace(runtime: Runtime, project: string, parent: TraceParent | undefined): string {
  if (parent !== undefined && !runtime.journal.hasTrace(project, parent.traceId)) return parent.traceId
  return newTraceId(runtime.platform)
}

/** What makes two requests without a given key the same: what is to be done, where, by whom and under which rules. */
function factsOf(project: string, body: RunRequestCreate, by: By) {
  const { repo: { revision: _, ...place } = {}, labels = [], runner_id, access = 'full', lane = 'interactive' } = body
  return {
    // These only if they differ from most requests.
    ...(Object.keys(place).length === 0 ? {} : { repo: place }),
    ...(labels.length === 0 ? {} : { labels: labels.toSorted() }),
    ...(runner_id === undefined ? {} : { runner_id }),
    ...(access === 'full' ? {} : { access }),
    ...(lane === 'interactive' ? {} : { lane }),
    project,
    repo_revision: body.repo?.revision ?? null,
    brief_digest: body.brief?.digest ?? null,
    entry_event: body.entry_event,
    payload: body.payload ?? {},
    throttle: body.throttle ?? 'dry_run',
    requester: by.name,
  }
}

function whyNotTaken({ project: { value, context } }: RunRequestOrder): Refused | undefined {
  if (value === 'active') return undefined
  return refused('project_archived', `the project ${context.key} is archived and accepts no new work`)
}

/**
 * Only a campaign or an initiative may ask for its own next step: a runner runs the gates that such a request carries,
 * and without the owner nothing would decide on its answer.
 */
function whyNotStep({ entry_event }: RunRequestCreate): Refused | undefined {
  if (!READ_ONLY_ENTRY_EVENTS.has(entry_event)) return undefined
  const owner = entry_event === 'campaign_advance_requested' ? 'campaign' : 'initiative'
  const detail = `Only the ${owner} itself may create a ${entry_event}: advance the ${owner}.`
  return refused('invalid_body', detail, '/entry_event')
}

/** A payload that is invalid for a known event type starts no work. */
function whyNotPayload({ entry_event, payload = {} }: RunRequestCreate): Refused | undefined {
  const faults = validatePayload(entry_event, payload)
  if (faults.length === 0) return undefined
  const errors = faults.map(({ pointer, detail }) => ({ pointer: `/payload${pointer}`, detail }))
  const detail = `The payload does not match ${entry_event}: the fields named in \`errors\` are invalid.`
  return { ok: false, refusal: { code: 'invalid_body', detail, errors } }
}

/** Work that names a removed runner is refused, since it would wait for ever. */
function whyNotPinned(runtime: Runtime, { body: { runner_id: pin }, visible }: RunRequestOrder): Refused | undefined {
  if (pin === undefined || !isRemovedRunner(runtime, pin, visible)) return undefined
  return refused('invalid_body', `The field runner_id is wrong: ${removedForGood(pin)}.`, '/runner_id')
}

/** Work that no engine of the project can do is refused instead of left waiting. */
function whyNotServed({ project, body, capabilities }: RunRequestOrder): Refused | undefined {
  const { entry_event: entryEvent, throttle = 'dry_run', runner_id: runnerId } = body
  const why = capabilities.incapable({ project: project.context.key, entryEvent, throttle, runnerId })
  return why === undefined ? undefined : refused('engine_incapable', why)
}

function whyNotTimes({ not_before, expires_at }: RunRequestCreate): Refused | undefined {
  for (const [name, time] of Object.entries({ not_before, expires_at })) {
    // RFC 3339 allows a leap second, but no timer can be set to one.
    if (time === undefined || !Number.isNaN(instantMs(time))) continue
    return refused(
      'invalid_body',
      `The field ${name} is in a leap second: give the second before or after it.`,
      `/${name}`,
    )
  }
  if (not_before === undefined || expires_at === undefined) return undefined
  if (instantMs(not_before) < instantMs(expires_at)) return undefined
  const detail = 'It would expire before it may be offered: expires_at must be after not_before.'
  return refused('invalid_body', detail, '/expires_at')
}
