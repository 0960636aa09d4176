import t from 'tap'
import { ServiceRefused, ServiceUnreachable } from '../../engine/errors.ts'
import { mayHelp, pauseAfter, retrying } from '../../engine/retry.ts'

const BACKOFF = { firstMs: 1, longestMs: 2 }

function refused(status: number, retryAfter?: number): ServiceRefused {
  return new ServiceRefused('POST', '/x', { status, code: 'c' }, retryAfter)
}

t.test('unreachable services and temporary statuses are retried, and refusals are not', async (t) => {
  t.ok(mayHelp(new ServiceUnreachable('http://x', new Error('ECONNREFUSED'))))
  for (const status of [408, 425, 429, 500, 502, 503, 504]) t.ok(mayHelp(refused(status)), String(status))
  for (const status of [400, 401, 403, 404, 409, 410, 413, 422]) t.notOk(mayHelp(refused(status)), String(status))
  t.notOk(mayHelp(new TypeError('a fault of our own')))
  const busy = { status: 409, code: 'brief_busy' }
  t.ok(mayHelp(new ServiceRefused('POST', '/x', { ...busy, retryable: true })), 'if the service says so')
  t.notOk(mayHelp(new ServiceRefused('POST', '/x', { ...busy, retryable: false })))
})

t.test('pauses double up to the longest, vary by up to a half, and respect Retry-After', async (t) => {
  const backoff = { firstMs: 100, longestMs: 10_000 }
  const error = refused(503)
  t.equal(pauseAfter(error, 1, backoff, 0), 50)
  t.equal(pauseAfter(error, 1, backoff, 1), 100)
  t.equal(pauseAfter(error, 4, backoff, 1), 800)
  t.equal(pauseAfter(error, 5_000, backoff, 1), 10_000)
  t.ok(pauseAfter(refused(503, 30), 1, backoff, 0) >= 30_000)
})

t.test('a Retry-After of more than a minute is shortened to one', async (t) => {
  const backoff = { firstMs: 100, longestMs: 10_000 }
  for (const asked of [61, 86_400, 2 ** 31, Number.MAX_VALUE]) {
    const pauseMs = pauseAfter(refused(503, asked), 1, backoff, 1)
    t.ok(pauseMs >= 60_000 && pauseMs <= 65_000, `${asked} s: ${pauseMs} ms`)
  }
})

t.test('retries are unlimited, except for a 500, which the request itself may cause', async (t) => {
  let tries = 0
  await retrying(
    async () => {
      tries += 1
      if (tries < 40) throw refused(503)
    },
    { backoff: BACKOFF },
  )
  t.equal(tries, 40)
  tries = 0
  const fault = retrying(
    async () => {
      tries += 1
      throw refused(500)
    },
    { backoff: BACKOFF },
  )
  await t.rejects(fault, { name: 'ServiceRefused', message: 'c' })
  t.equal(tries, 10)
})

t.test('an abort ends the pause with its reason', async (t) => {
  const stop = new AbortController()
  const waiting = retrying(() => Promise.reject(refused(503)), {
    signal: stop.signal,
    backoff: { firstMs: 60_000, longestMs: 60_000 },
  })
  setImmediate(() => stop.abort(new Error('enough')))
  await t.rejects(waiting, { message: 'enough' })
})
