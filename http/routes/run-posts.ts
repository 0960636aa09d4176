/**
 * What a runner posts about a run request that it holds. Each post goes to the request's actor, which alone decides
 * whether the attempt is still the runner's; a heartbeat reaches it only if it would change something.
 */

import { digestOf } from '../../machines/digest.ts'
import { runAnswer, runBeginningAnswer, runEventsAnswer } from '../../machines/documents/run-answers.ts'
import {
  acceptedBody,
  completedBody,
  eventsBody,
  failedBody,
  type HeartbeatBody,
  heartbeatBody,
  releaseBody,
  startedBody,
} from '../../machines/documents/run-request.ts'
import type { By } from '../../machines/machine.ts'
import { holds, NOBODY } from '../../machines/run-request/rules.ts'
import { isLeased } from '../../machines/run-request/states.ts'
import type { MessageBody, Taken } from '../../runtime/api.ts'
import { otherHolderOfEngineRun } from '../../runtime/entities/engine-runs.ts'
import { admitEvents, type StatedEvent } from '../event-input/strict-admission.ts'
import { type HoldUntil, holding, holdNothing } from '../holding.ts'
import type { ProblemCode } from '../problems.ts'
import { currentAnswer, cursorAt, markCursor, onAccepted } from '../replies.ts'
import { runAnswerOf, visibleRunRequest } from '../resources/run-request-answers.ts'
import type { Route, RouteAnswer, RouteBody, ServiceContext } from '../route.ts'
import { type Exchange, PREFER_HEADER } from '../wire/exchange.ts'

const POST_PROBLEMS = ['not_found', 'illegal_move', 'stale_attempt', 'attempt_required'] as const

interface Post {
  readonly name: string
  readonly operation: string
  readonly summary: string
  readonly body: RouteBody
  readonly answer?: RouteAnswer
  readonly problems?: readonly ProblemCode[]
  readonly isAlwaysTaken?: true
  readonly handle: (service: ServiceContext, exchange: Exchange) => void
}

const TAKEN = 'Accepted, or reported before.'
const BEGINNING: RouteAnswer = {
  description: TAKEN,
  schema: runBeginningAnswer,
  optionalHeaders: { 'Cache-Control': '`no-store`: the answer contains a token.' },
}

const posts: readonly Post[] = [
  {
    name: 'accepted',
    operation: 'acceptRunRequest',
    summary: 'Accept the offer: the lease starts.',
    body: { schema: acceptedBody, optional: true },
    answer: BEGINNING,
    problems: ['engine_run_taken'],
    handle: (service, exchange) => tellUnlessTaken(service, exchange, messageOf(exchange, 'accepted')),
  },
  {
    name: 'started',
    operation: 'startRunRequest',
    summary: 'Report that the work begins. A runner must not begin before this post is answered 2xx.',
    body: { schema: startedBody, optional: true },
    answer: BEGINNING,
    problems: ['engine_run_taken'],
    handle: (service, exchange) => tellUnlessTaken(service, exchange, messageOf(exchange, 'started')),
  },
  {
    name: 'heartbeat',
    operation: 'heartbeatRunRequest',
    summary: 'Renew the lease: the runner is still working.',
    body: { schema: heartbeatBody, optional: true },
    isAlwaysTaken: true,
    handle: heartbeat,
  },
  {
    name: 'events',
    operation: 'recordRunRequestEvents',
    summary: 'Post 1 to 1,000 events of the run, all or nothing. An event already recorded counts as a duplicate.',
    body: { schema: eventsBody, limit: 'events' },
    answer: { description: TAKEN, schema: runEventsAnswer },
    problems: ['service_owned_type', 'invalid_event', 'event_id_mismatch', 'event_too_large'],
    handle: postEvents,
  },
  {
    name: 'completed',
    operation: 'completeRunRequest',
    summary: 'Complete the run with its Run Result. The same post again gets the same answer.',
    body: { schema: completedBody },
    problems: ['result_conflict'],
    handle: (service, exchange) => tell(service, exchange, endOf(exchange, 'completed')),
  },
  {
    name: 'failed',
    operation: 'reportRunRequestFailure',
    summary: 'Report that the work failed; the class says who must act.',
    body: { schema: failedBody },
    problems: ['result_conflict'],
    handle: (service, exchange) => tell(service, exchange, endOf(exchange, 'failed')),
  },
]

export function runPostRoutes(service: ServiceContext): readonly Route[] {
  return [...posts.map((post) => postRoute(service, post)), releaseRoute(service)]
}

function postRoute(service: ServiceContext, post: Post): Route {
  return {
    method: 'POST',
    path: `/api/run-requests/:id/${post.name}`,
    operation: post.operation,
    area: 'run requests',
    summary: post.summary,
    access: { right: 'runner', runner: 'holder' },
    headers: [PREFER_HEADER],
    body: post.body,
    answers: { 200: post.answer ?? { description: TAKEN, schema: runAnswer } },
    problems: [...POST_PROBLEMS, ...(post.problems ?? [])],
    ...(post.isAlwaysTaken === undefined ? {} : { isAlwaysTaken: true }),
    handle: (exchange) => post.handle(service, exchange),
  }
}

function releaseRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/run-requests/:id/release',
    operation: 'releaseRunRequest',
    area: 'run requests',
    summary: 'Return the request before the work has begun: it is queued again, without counting as a failure.',
    description: 'Called by its runner, or by an operator on behalf of the runner that holds it.',
    access: { right: 'work.operate', runner: 'holder' },
    headers: [PREFER_HEADER],
    body: { schema: releaseBody, optional: true },
    answers: { 200: { description: 'Queued again.', schema: runAnswer } },
    problems: POST_PROBLEMS,
    handle: (exchange) => tell(service, exchange, messageOf(exchange, 'release')),
  }
}

/** A runner's post as a message to the request's actor. */
interface PostMessage extends MessageBody {
  type: string
  by?: By
  runner_id?: string
  attempt?: number
}

type HeldPost = PostMessage & { runner_id: string }

/**
 * Hot: turns the body, which belongs to this request alone, into the message. Copying an object of arbitrary shape
 * would cost as much as a step.
 */
function messageOf(exchange: Exchange, type: string): PostMessage {
  const message = exchange.body
  message.type = type
  return message
}

/** Adds the digest of the post's content, by which a repeated post is recognized. */
function endOf(exchange: Exchange, type: 'completed' | 'failed'): PostMessage {
  const { attempt: _, ...said } = exchange.body
  const message = messageOf(exchange, type) as PostMessage & { digest: string }
  message.digest = digestOf(said)
  return message
}

/** What is added to the answer, if anything. */
type More = (taken: Taken) => object | undefined

/** Sends the post to the actor and answers with the result. */
function tell(
  service: ServiceContext,
  exchange: Exchange,
  message: PostMessage,
  more?: More,
  until: HoldUntil = holdNothing,
): void {
  const snapshot = visibleRunRequest(service, exchange)
  if (snapshot === undefined) return
  const { context } = snapshot
  const { principal } = exchange
  if (principal.runnerId !== undefined) service.dispatcher.touch(principal.runnerId)
  message.by = exchange.by
  // A person's release names the current holder; the machine refuses it if that has changed meanwhile.
  message.runner_id = principal.runnerId ?? context.offered_to ?? NOBODY
  if (principal.runnerId === undefined) message.attempt ??= context.attempt
  const ref = { kind: 'run_request', id: context.id } as const
  const reply = onAccepted(service, exchange, (answer) => {
    // Any post of the holder renews its lease, even a repeated one that takes no step; a post of an attempt that is
    // over does not.
    const isRenewed = answer.repeat === undefined && answer.accepted > 0
    if (!isRenewed && holds(answer.snapshot.context, message as HeldPost)) service.runtime.renew(ref)
    exchange.answer(200, runAnswerOf(service, exchange, answer, more?.(answer)))
  })
  service.runtime.ask(ref, message, until(reply))
}

/**
 * Sends a post in which the runner names the engine run itself, and refuses an id that belongs to another request or
 * to an earlier attempt. Posts with one engine run id run one after the other, so that each sees what the one before
 * has recorded.
 */
function tellUnlessTaken(service: ServiceContext, exchange: Exchange, message: PostMessage): void {
  const { engine_run_id: id } = message as { engine_run_id?: string }
  if (id === undefined) {
    tell(service, exchange, message, tokenFor(service, exchange, message))
    return
  }
  service.keysInUse.enter(`engine_run ${id}`, exchange, (leave) => {
    holding(leave, (until) => {
      const told = tellNamed(service, exchange, message, id, until)
      exchange.await(told.finally(until(() => {})))
    })
  })
}

/** What the answer adds for the run's command. Only the holder of the attempt is given it. */
function tokenFor(service: ServiceContext, exchange: Exchange, message: PostMessage): More {
  return ({ snapshot }) => {
    if (!holds(snapshot.context, message as HeldPost)) return undefined
    const run_token = service.principals.runTokenOf(snapshot)
    if (run_token === undefined) return undefined
    exchange.setHeader('Cache-Control', 'no-store')
    return { run_token }
  }
}

async function tellNamed(
  service: ServiceContext,
  exchange: Exchange,
  message: PostMessage,
  id: string,
  until: HoldUntil,
): Promise<void> {
  const holder = { requestId: exchange.params[0]!, attempt: message.attempt }
  const other = await otherHolderOfEngineRun(service.runtime, id, holder)
  if (exchange.done) return
  if (other !== undefined) exchange.problem('engine_run_taken', `The engine run ${id} belongs to ${other}.`)
  else tell(service, exchange, message, tokenFor(service, exchange, message), until)
}

function heartbeat(service: ServiceContext, exchange: Exchange): void {
  const snapshot = visibleRunRequest(service, exchange)
  if (snapshot === undefined) return
  const { context, value } = snapshot
  const { runnerId } = exchange.principal
  const { attempt, sessions } = exchange.body as HeartbeatBody
  const isHolder = runnerId === context.offered_to && (attempt ?? 1) === context.attempt
  if (!isHolder || !isLeased(value)) {
    tell(service, exchange, attempt === undefined ? { type: 'heartbeat' } : { type: 'heartbeat', attempt })
    return
  }
  service.dispatcher.touch(runnerId!)
  service.runtime.renew({ kind: 'run_request', id: context.id })
  if (sessions !== undefined) service.sessions.heard(context.id, sessions)
  const taken = currentAnswer(service, snapshot)
  markCursor(service, exchange, taken.sequence)
  exchange.answer(200, runAnswerOf(service, exchange, taken))
}

function postEvents(service: ServiceContext, exchange: Exchange): void {
  const snapshot = visibleRunRequest(service, exchange)
  if (snapshot === undefined) return
  const { project, trace_id: traceId, throttle } = snapshot.context
  const { attempt, events } = exchange.body as { attempt?: number; events: readonly StatedEvent[] }
  const { eventBytesMax } = service.runtime.settings
  const prepared = admitEvents(exchange, events, { project, traceId, throttle, isFixed: true, eventBytesMax })
  if (prepared === undefined) return
  const message: PostMessage = { type: 'events', events: prepared }
  if (attempt !== undefined) message.attempt = attempt
  tell(service, exchange, message, (taken) => ({
    accepted: taken.accepted,
    duplicates: taken.duplicates,
    cursor: cursorAt(service, taken.sequence),
  }))
}
