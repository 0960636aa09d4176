/** When heartbeats are sent, and which refusals of them end the run. */
import t, { type Test } from 'tap'
import { Heartbeat } from '../../engine/heartbeat.ts'
import type { RunPosts } from '../../engine/run-posts.ts'
import { Sessions } from '../../engine/sessions.ts'
import { until } from '../until.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

const UNKNOWN = { status: 401, code: 'unauthenticated' } as const

t.test('a heartbeat with a refused token from a file is tried twice more', async (t) => {
  const { service, runner, logs } = await hired(t, 'sleep 1', { heartbeatMs: 60, tokenMayChange: true })
  let beats = 0
  service.misbehave = ({ verb }) => (verb === 'heartbeat' && ++beats % 3 !== 0 ? UNKNOWN : undefined)
  service.offer(executionRequest('runreq_r'))
  t.same(await runner.finished, ['completed'])
  t.ok(beats > 5, `${beats} heartbeats`)
  t.match(logs.join('\n'), /refused: unauthenticated; the next heartbeat is in/)
})

t.test('a run ends at the third refused heartbeat in a row, or at the first if its token cannot change', async (t) => {
  for (const [tokenMayChange, wanted] of [
    [true, 3],
    [false, 1],
  ] as const) {
    const { service, runner, logs } = await hired(t, 'sleep 5', { once: false, heartbeatMs: 60, tokenMayChange })
    let beats = 0
    service.misbehave = ({ verb }) => (verb === 'heartbeat' && ++beats > 0 ? UNKNOWN : undefined)
    service.offer(executionRequest('runreq_s'))
    await service.until(({ verb }) => verb === 'started')
    while (beats < wanted) await new Promise((resolve) => setTimeout(resolve, 10))
    runner.drain()
    t.same(await runner.finished, ['abandoned'])
    // On a busy machine an answer may come too late: that is no refusal, and the next heartbeat tries again.
    t.ok(beats >= wanted)
    t.equal(logs.filter((text) => text.includes('the next heartbeat is in')).length, wanted - 1)
    t.match(logs.join('\n'), /abandoned: unauthenticated/)
  }
})

t.test('any other refusal of a heartbeat ends the run at once', async (t) => {
  const { service, runner } = await hired(t, 'sleep 5', { once: false, heartbeatMs: 60, tokenMayChange: true })
  let beats = 0
  service.misbehave = ({ verb }) =>
    verb === 'heartbeat' && ++beats > 0 ? { status: 409, code: 'stale_attempt' } : undefined
  service.offer(executionRequest('runreq_o'))
  await service.until(({ verb }) => verb === 'started')
  while (beats < 1) await new Promise((resolve) => setTimeout(resolve, 10))
  runner.drain()
  t.same(await runner.finished, ['abandoned'])
  t.equal(beats, 1)
})

/** A heartbeat alone, for a run whose last post was answered that long before each check. */
function heartbeat(test: Test, everyMs: number, quietMs = everyMs) {
  const told = { looks: 0, beats: 0 }
  const posts = {
    get lastAnswerMs() {
      told.looks += 1
      return performance.now() - quietMs
    },
    heartbeat: async () => {
      told.beats += 1
    },
  }
  const one = new Heartbeat({
    posts: posts as unknown as RunPosts,
    sessions: new Sessions(),
    everyMs: () => everyMs,
    tokenMayChange: false,
    onRefused: () => {},
    onRetry: () => {},
  })
  test.teardown(() => one.stop())
  return { one, told }
}

t.test('a heartbeat is skipped if a post was answered less than half an interval ago', async (t) => {
  for (const [share, beats] of [
    [0.75, 5],
    [0.25, 0],
  ] as const) {
    const { one, told } = heartbeat(t, 40, share * 40)
    one.start()
    await until(
      async () => told.looks,
      (looks) => looks >= 5,
    )
    one.stop()
    t.equal(told.beats, beats * (told.looks / 5), `${told.looks} looks`)
  }
})

t.test('heartbeat intervals are shortened at random by up to a fifth, and never lengthened', async (t) => {
  const chances = [0, 0.5, 1 - Number.EPSILON]
  const [{ one: first }, { one: second }, { one: third }] = chances.map(() => heartbeat(t, 60_000)) as [any, any, any]
  const pauses = t.capture(globalThis, 'setTimeout', (() => undefined) as never)
  t.intercept(Math, 'random', { value: () => chances.shift()! })
  for (const one of [first, second, third]) one.start()
  pauses.restore()
  t.same(
    pauses().map(({ args }: any) => Math.round(args[1])),
    [60_000, 54_000, 48_000],
  )
})
