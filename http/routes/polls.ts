/**
 * A runner asks for work, and waits for it. Hot: an empty poll passes the checks, marks the runner as heard from, and
 * answers; nothing is written. A parked poll ends with its connection, its token or the service.
 */
import { Histogram } from 'prom-client'
import { executionRequestDocument } from '../../machines/documents/execution-request.ts'
import { POLL_WAIT_SECONDS_MAX } from '../../machines/documents/run-request.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import type { PollAnswer, PollRefusal } from '../../runtime/dispatch/runner.ts'
import { revocationFault } from '../access.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const newsHeaders = {
  'Intendant-Draining': '`true`: the runner gets nothing new and finishes what it holds.',
  'Intendant-Cancel': 'Ids of run requests that the runner must stop, separated by commas; at most 100.',
}

/** Bucket bounds in seconds: from an immediate wake-up to the longest wait. */
const WAIT_SECONDS = [0.005, 0.05, 0.5, 1, 5, 15, 30, POLL_WAIT_SECONDS_MAX]

export function pollRoutes(service: ServiceContext): readonly Route[] {
  const waits = new Histogram({
    name: 'intendant_poll_wait_seconds',
    help: 'How long parked polls waited for their response.',
    buckets: WAIT_SECONDS,
    registers: [service.metrics.registry],
  })
  return [
    {
      method: 'GET',
      path: '/api/runners/:runner_id/run-requests/next',
      operation: 'pollRunRequest',
      area: 'run requests',
      summary: 'Poll for the runner’s next run request.',
      description:
        'Answers at once if there is work or news, otherwise waits up to `wait` seconds. A runner has at most one ' +
        'unaccepted offer: until it is accepted, released or expired, each poll returns it again.',
      access: { right: 'runner', runner: 'own' },
      query: closedObject({
        wait: Type.Optional(
          Type.Integer({ minimum: 0, maximum: POLL_WAIT_SECONDS_MAX, description: 'Seconds to wait; default 0.' }),
        ),
      }),
      answers: {
        200: { description: 'Work for the runner.', schema: executionRequestDocument, optionalHeaders: newsHeaders },
        204: {
          description: 'No work now.',
          optionalHeaders: {
            ...newsHeaders,
            'Retry-After': 'Seconds to wait before polling again: the service is stopping.',
          },
        },
      },
      answersOnce: true,
      problems: ['too_many_polls', 'runner_removed'],
      handle: (exchange) => poll(service, exchange, waits),
    },
  ]
}

function poll({ dispatcher, principals, runtime }: ServiceContext, exchange: Exchange, waits: Histogram): void {
  const waitMs = exchange.query.wait === undefined ? 0 : (exchange.query.wait as number) * 1_000
  let forget: (() => void) | undefined
  let parkedMs: number | undefined
  const handle = dispatcher.poll(exchange.params[0]!, waitMs, (answer) => {
    forget?.()
    if (parkedMs !== undefined) waits.observe((runtime.platform.monotonicMs() - parkedMs) / 1_000)
    answerPoll(exchange, answer)
  })
  if (exchange.done) return
  parkedMs = runtime.platform.monotonicMs()
  const { principal } = exchange
  forget = principals.onRevoked(principal, () => {
    handle.abort()
    const { code, detail } = revocationFault(principal)
    exchange.problem(code, detail)
  })
  exchange.onAborted(() => {
    forget?.()
    handle.abort()
  })
}

function answerPoll(exchange: Exchange, answer: PollAnswer | PollRefusal): void {
  if (typeof answer === 'string') {
    refusePoll(exchange, answer)
    return
  }
  if (answer.draining) exchange.setHeader('Intendant-Draining', 'true')
  if (answer.cancel.length > 0) exchange.setHeader('Intendant-Cancel', answer.cancel.join(', '))
  if (answer.offer === undefined) exchange.answer(204)
  else exchange.answer(200, answer.offer)
}

function refusePoll(exchange: Exchange, refusal: PollRefusal): void {
  if (refusal === 'too_many_polls') {
    exchange.problem('too_many_polls', 'The runner already has capacity + 1 polls parked.')
  } else if (refusal === 'runner_removed') {
    exchange.problem('runner_removed', 'The runner was removed.')
  } else {
    // Not an error: the runner simply polls the restarted service.
    exchange.setHeader('Retry-After', '1').answer(204)
  }
}
