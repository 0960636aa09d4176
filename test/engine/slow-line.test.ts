/** A runner on a slow connection: its posts take long but get through, and the lease lives as long as they take. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { AnswerTimeout, ServiceRefused } from '../../engine/errors.ts'
import { outgoing, PostQueue } from '../../engine/post-queue.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

const tooLong = () => new AnswerTimeout('http://x', new Error('the response took too long'))

t.test('heartbeats continue until the final post is answered, and their refusals then end nothing', async (t) => {
  const { service, runner } = await hired(t, 'exit 0', { answerMs: 400, heartbeatMs: 40 })
  let isLast = false
  let beats = 0
  service.misbehave = ({ verb }) => {
    if (verb === 'heartbeat' && isLast) {
      beats += 1
      return beats < 3 ? undefined : { status: 409, code: 'illegal_move', state: 'completed' }
    }
    if (verb !== 'completed' || isLast) return undefined
    isLast = true
    return 'silence'
  }
  service.offer(executionRequest('runreq_h'))
  t.same(await runner.finished, ['completed'])
  t.ok(beats >= 3, `${beats} heartbeats during the last post`)
})

t.test('a post that times out gets more time at the next try', async (t) => {
  const { service, runner, logs } = await hired(t, 'exit 0', { answerMs: 100 })
  service.misbehave = ({ verb }) => (verb === 'completed' ? { afterMs: 300 } : undefined)
  service.offer(executionRequest('runreq_l'))
  t.same(await runner.finished, ['completed'])
  t.match(logs.join('\n'), /the response took too long/)
})

/** A command that counts, one event per number. */
const counting = (to: number): string =>
  `cat > /dev/null; for n in $(seq ${to}); do echo "{\\"event_type\\":\\"counted\\",\\"payload\\":{\\"n\\":$n}}"; done`

t.test('a post of events that times out is split into smaller ones, each event once and in order', async (t) => {
  const { service, runner, logs } = await hired(t, counting(40), { answerMs: 150 })
  service.misbehave = ({ verb, body }) => (verb === 'events' && body.events.length > 4 ? 'silence' : undefined)
  service.offer(executionRequest('runreq_s'))
  t.same(await runner.finished, ['completed'])
  // On a busy machine the answer to a post that was taken may come too late: the service counts repeated events once.
  t.same(
    [...new Set(service.events().map(({ payload }) => payload.n))],
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  t.match(logs.join('\n'), /the response took too long; retrying with fewer events at a time/)
})

t.test('a post of events whose connection breaks after a while is split into smaller ones', async (t) => {
  const { service, runner, logs } = await hired(t, counting(40), { answerMs: 600 })
  service.misbehave = ({ verb, body }) =>
    verb === 'events' && body.events.length > 4 ? { cutAfterMs: 200 } : undefined
  service.offer(executionRequest('runreq_b'))
  t.same(await Promise.race([runner.finished, pause(10_000, 'it goes on')]), ['completed'])
  t.same(
    service.events().map(({ payload }) => payload.n),
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  t.match(logs.join('\n'), /no answer from .*; retrying with fewer events at a time/)
})

t.test('a connection that breaks at once does not reduce the size of posts', async (t) => {
  const { service, runner, logs } = await hired(t, counting(40))
  let cuts = 0
  service.misbehave = ({ verb }) => (verb === 'events' && ++cuts < 4 ? 'cut' : undefined)
  service.offer(executionRequest('runreq_c'))
  t.same(await runner.finished, ['completed'])
  t.equal(service.events().length, 40)
  t.notMatch(logs.join('\n'), /fewer events/)
})

t.test('posts get smaller while the connection is slow, and larger again when it is fast', async (t) => {
  let bytesMax = 50
  const sizes: number[] = []
  const taken: number[] = []
  const queue = new PostQueue({
    async post(texts) {
      const bytes = texts.join('').length
      if (bytes > bytesMax && texts.length > 1) throw tooLong()
      sizes.push(bytes)
      taken.push(...texts.map((text) => JSON.parse(text).n))
      if (taken.length > 100) bytesMax = Number.POSITIVE_INFINITY
    },
    concernsRun: () => false,
    onPressure: () => {},
    onEnded: (error) => t.fail(String(error)),
  })
  for (let n = 0; n < 1_000; n += 1) queue.add(outgoing({ n }))
  await queue.empty()
  t.same(
    taken,
    Array.from({ length: 1_000 }, (_, i) => i),
  )
  t.ok(sizes.slice(0, 10).every((bytes) => bytes <= 50))
  t.ok(sizes.length < 60, `${sizes.length} posts`)
})

t.test('after posts of a size got through, a larger size that timed out is not tried again at once', async (t) => {
  const sizes: { readonly events: number; readonly isTaken: boolean }[] = []
  const taken: number[] = []
  const queue = new PostQueue({
    async post(texts) {
      const isTaken = texts.length <= 6
      sizes.push({ events: texts.length, isTaken })
      if (!isTaken) throw tooLong()
      taken.push(...texts.map((text) => JSON.parse(text).n))
    },
    concernsRun: () => false,
    onPressure: () => {},
    onEnded: (error) => t.fail(String(error)),
  })
  for (let n = 0; n < 512; n += 1) queue.add(outgoing({ n: n + 1_000 }))
  await queue.empty()
  t.same(
    taken,
    Array.from({ length: 512 }, (_, n) => n + 1_000),
  )
  const slow = sizes.flatMap(({ isTaken }, at) => (isTaken ? [] : [at]))
  // 500, 250, 125, 62, 31, 15 and 7 at a time, then 3: larger ones are tried rarely from then on.
  t.same(slow.slice(0, 7), [0, 1, 2, 3, 4, 5, 6])
  const pauses = slow.slice(7).map((at, i) => at - slow[i + 6]!)
  t.ok(
    pauses.every((posts) => posts >= 8),
    `tried larger ones after ${pauses} posts`,
  )
  t.ok(taken.length / (sizes.length - slow.length) > 3, `${sizes.length - slow.length} posts got through`)
})

t.test('a service that takes only small posts is rarely sent larger ones', async (t) => {
  const { service, runner, logs } = await hired(t, counting(300), { answerMs: 250 })
  service.misbehave = ({ verb, body }) => (verb === 'events' && body.events.length > 8 ? 'silence' : undefined)
  service.offer(executionRequest('runreq_m'))
  t.same(await runner.finished, ['completed'])
  t.same(
    service.events().map(({ payload }) => payload.n),
    Array.from({ length: 300 }, (_, i) => i + 1),
  )
  const slow = logs.filter((line) => line.includes('retrying with fewer events at a time')).length
  t.ok(slow <= 16, `${slow} posts took too long`)
})

t.test('a post that times out is split until the refused event is isolated', async (t) => {
  const taken: number[] = []
  const queue = new PostQueue({
    async post(texts) {
      const numbers = texts.map((text) => JSON.parse(text).n)
      if (numbers.length > 3) throw tooLong()
      if (numbers.includes(5)) throw new ServiceRefused('POST', '/events', { status: 422, code: 'invalid_event' })
      taken.push(...numbers)
    },
    concernsRun: () => false,
    onPressure: () => {},
    onEnded: (error) => t.fail(String(error)),
  })
  for (let n = 0; n < 12; n += 1) queue.add(outgoing({ n }, { onRefused: () => [outgoing({ n: -n })] }))
  await queue.empty()
  t.same(taken, [0, 1, 2, 3, 4, -5, 6, 7, 8, 9, 10, 11])
})
