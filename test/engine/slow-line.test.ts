/** A runner behind a slow line: its posts take long, and get through all the same, and the lease lives as long as they take. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { AnswerTimeout, ServiceRefused } from '../../engine/errors.ts'
import { outgoing, PostQueue } from '../../engine/post-queue.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

const tooLong = () => new AnswerTimeout('http://x', new Error('the response took too long'))

t.test('heartbeats go on until the last word is taken, and what they are told by then ends nothing', async (t) => {
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
  t.ok(beats >= 3, `${beats} heartbeats while the last post was under way`)
})

t.test('a post that takes too long has more time at the next try', async (t) => {
  const { service, runner, logs } = await hired(t, 'exit 0', { answerMs: 100 })
  service.misbehave = ({ verb }) => (verb === 'completed' ? { afterMs: 300 } : undefined)
  service.offer(executionRequest('runreq_l'))
  t.same(await runner.finished, ['completed'])
  t.match(logs.join('\n'), /the response took too long/)
})

/** A command that counts, an event a number. */
const counting = (to: number): string =>
  `cat > /dev/null; for n in $(seq ${to}); do echo "{\\"event_type\\":\\"counted\\",\\"payload\\":{\\"n\\":$n}}"; done`

t.test('events that take too long in one post go in smaller ones, each once and in order', async (t) => {
  const { service, runner, logs } = await hired(t, counting(40), { answerMs: 150 })
  service.misbehave = ({ verb, body }) => (verb === 'events' && body.events.length > 4 ? 'silence' : undefined)
  service.offer(executionRequest('runreq_s'))
  t.same(await runner.finished, ['completed'])
  // On a busy machine the answer to a post that was taken may come too late: a service takes what is repeated then once.
  t.same(
    [...new Set(service.events().map(({ payload }) => payload.n))],
    Array.from({ length: 40 }, (_, i) => i + 1),
  )
  t.match(logs.join('\n'), /the response took too long; retrying with fewer events at a time/)
})

t.test(
  'so do events whose connection breaks long after their post began: the other end closes what comes too slowly',
  async (t) => {
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
  },
)

t.test('a connection that breaks at once says nothing of the line', async (t) => {
  const { service, runner, logs } = await hired(t, counting(40))
  let cuts = 0
  service.misbehave = ({ verb }) => (verb === 'events' && ++cuts < 4 ? 'cut' : undefined)
  service.offer(executionRequest('runreq_c'))
  t.same(await runner.finished, ['completed'])
  t.equal(service.events().length, 40)
  t.notMatch(logs.join('\n'), /fewer events/)
})

t.test('posts follow the line: smaller while it is slow, and large again when it is not', async (t) => {
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

t.test(
  'what got through is as large as the posts after it: a size that took too long is not tried at once again',
  async (t) => {
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
    // 500, 250, 125, 62, 31, 15 and 7 at a time, then 3: and seldom more from then on.
    t.same(slow.slice(0, 7), [0, 1, 2, 3, 4, 5, 6])
    const pauses = slow.slice(7).map((at, i) => at - slow[i + 6]!)
    t.ok(
      pauses.every((posts) => posts >= 8),
      `tried larger ones after ${pauses} posts`,
    )
    t.ok(taken.length / (sizes.length - slow.length) > 3, `${sizes.length - slow.length} posts got through`)
  },
)

t.test('a service that takes no more than a little at once is seldom asked to take more', async (t) => {
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

t.test('what takes too long and what is refused are told apart, event by event', async (t) => {
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
