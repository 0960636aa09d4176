/** A stopped runner ends in bounded time, even if the service is unreachable, and leaves no command behind. */
import t from 'tap'
import { until } from '../until.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'
import { Written } from './written.ts'

/** Longer than any limit that the tests set, and far shorter than for ever. */
const SOON_MS = 4_000

async function isGone(pid: number): Promise<boolean> {
  const alive = async (): Promise<boolean> => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  return !(await until(alive, (lives) => !lives))
}

function pidIn(text: string): number {
  return Number(/pid=(\d+)/.exec(text)![1])
}

t.test('a stopped runner gives up its final report if the service is unreachable', async (t) => {
  const { service, runner, logs } = await hired(t, 'echo pid=$$; sleep 300', { once: false, lastPostsMs: 150 })
  service.offer(executionRequest('runreq_a'))
  const { body } = await service.until(({ verb }) => verb === 'events')
  await service.stop()
  const begunMs = performance.now()
  runner.stop()
  t.same(await runner.finished, ['unreported'])
  t.ok(performance.now() - begunMs < SOON_MS, `${performance.now() - begunMs} ms`)
  t.ok(await isGone(pidIn(body.events[0].payload.text)))
  t.match(logs.at(-1), /the service has not accepted the final post/)
})

t.test('a stopped runner whose output is blocked by the service gives up', async (t) => {
  const lines = new Written(t)
  const { service, runner } = await hired(t, `echo pid=$$; ${lines.command}`, { once: false, lastPostsMs: 150 })
  let refused = 0
  let isAway = false
  service.misbehave = ({ verb }) => {
    if (verb !== 'events' || !isAway) return undefined
    refused += 1
    return { status: 503, code: 'busy' }
  }
  service.offer(executionRequest('runreq_o'))
  const { body } = await service.until(({ verb }) => verb === 'events')
  isAway = true
  // The queue is full, and the command blocks.
  await lines.standStill(() => refused)
  const begunMs = performance.now()
  runner.stop()
  t.same(await runner.finished, ['unreported'])
  t.ok(performance.now() - begunMs < SOON_MS, `${performance.now() - begunMs} ms`)
  t.ok(await isGone(pidIn(body.events[0].payload.text)))
})

t.test('a stopped runner whose run was not yet accepted gives up', async (t) => {
  const { service, runner } = await hired(t, 'echo never', { once: false, lastPostsMs: 150 })
  let tries = 0
  service.misbehave = ({ verb }) => {
    if (verb !== 'accepted') return undefined
    tries += 1
    return { status: 503, code: 'busy' }
  }
  service.offer(executionRequest('runreq_n'))
  await until(
    async () => tries,
    (count) => count > 1,
  )
  runner.stop()
  t.same(await runner.finished, ['unreported'])
})

t.test('a drain that ends while the service is unreachable gives up its final report', async (t) => {
  const { service, runner } = await hired(t, 'echo pid=$$', { once: false, drainMs: 100, lastPostsMs: 150 })
  service.misbehave = ({ verb }) => (verb === 'completed' ? 'cut' : undefined)
  service.offer(executionRequest('runreq_d'))
  await service.until(({ verb }) => verb === 'events')
  runner.drain()
  t.same(await runner.finished, ['unreported'])
})

t.test('a run that finished before the stop is reported as completed', async (t) => {
  const { service, runner } = await hired(t, 'echo pid=$$', { once: false, lastPostsMs: 3_000 })
  let isAway = true
  let told = ''
  service.misbehave = ({ verb, body }) => {
    if (verb !== 'events' || !isAway) return undefined
    told = body.events[0].payload.text
    return 'cut'
  }
  service.offer(executionRequest('runreq_f'))
  await until(
    async () => told,
    (text) => text !== '',
  )
  // This process is its parent, so it is gone once its exit was noticed.
  t.ok(await isGone(pidIn(told)))
  runner.stop()
  isAway = false
  t.same(await runner.finished, ['completed'])
  t.equal(service.said('failed').length, 0)
})

t.test(
  'a run whose command ended before the stop is reported as completed, even if a background process remains',
  async (t) => {
    const command = `(trap '' TERM; exec > /dev/null 2>&1; while true; do sleep 0.05; done) & echo done; exit 0`
    const { service, runner } = await hired(t, command, { once: false, stopGraceMs: 1_000, lastPostsMs: 3_000 })
    service.offer(executionRequest('runreq_g'))
    await service.until(({ verb }) => verb === 'events')
    runner.stop()
    t.same(await runner.finished, ['completed'])
  },
)

t.test('a command that exits with 0 because of the stop is reported as stopped', async (t) => {
  const command = `trap 'exit 0' TERM; echo up; while true; do sleep 0.05; done`
  const { service, runner } = await hired(t, command, { once: false, lastPostsMs: 3_000 })
  service.offer(executionRequest('runreq_e'))
  await service.until(({ verb }) => verb === 'events')
  runner.stop()
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, { code: 'runner_stopped' })
})

t.test('a stopped runner delivers its final report if the service answers in time', async (t) => {
  const { service, runner } = await hired(t, 'echo up; sleep 300', { once: false, lastPostsMs: 3_000 })
  service.offer(executionRequest('runreq_t'))
  await service.until(({ verb }) => verb === 'events')
  let tries = 0
  service.misbehave = ({ verb }) => (verb === 'failed' && ++tries < 5 ? 'cut' : undefined)
  runner.stop()
  t.same(await runner.finished, ['failed'])
})

t.test('kill ends a command that ignores SIGTERM, without waiting for the grace period or the service', async (t) => {
  const { service, runner } = await hired(t, `trap '' TERM; echo pid=$$; while true; do sleep 0.05; done`, {
    once: false,
    stopGraceMs: 60_000,
    lastPostsMs: 60_000,
  })
  service.offer(executionRequest('runreq_k'))
  const { body } = await service.until(({ verb }) => verb === 'events')
  runner.stop()
  const begunMs = performance.now()
  runner.kill()
  t.same(await runner.finished, ['unreported'])
  t.ok(performance.now() - begunMs < SOON_MS, `${performance.now() - begunMs} ms`)
  t.ok(await isGone(pidIn(body.events[0].payload.text)))
})
