/** Heartbeats that the service does not take: which of them end the run. */
import t from 'tap'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

const UNKNOWN = { status: 401, code: 'unauthenticated' } as const

t.test('a token from a file that is refused at a heartbeat has two more to be replaced', async (t) => {
  const { service, runner, logs } = await hired(t, 'sleep 1', { heartbeatMs: 60, tokenMayChange: true })
  let beats = 0
  service.misbehave = ({ verb }) => (verb === 'heartbeat' && ++beats % 3 !== 0 ? UNKNOWN : undefined)
  service.offer(executionRequest('runreq_r'))
  t.same(await runner.finished, ['completed'])
  t.ok(beats > 5, `${beats} heartbeats`)
  t.match(logs.join('\n'), /refused: unauthenticated; the next heartbeat is in/)
})

t.test('the third refusal in a row ends the run, and the first of a token that cannot change', async (t) => {
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
    // On a busy machine an answer may come too late to be heard: that is no refusal, and the next heartbeat tries again.
    t.ok(beats >= wanted)
    t.equal(logs.filter((text) => text.includes('the next heartbeat is in')).length, wanted - 1)
    t.match(logs.join('\n'), /given up: unauthenticated/)
  }
})

t.test('a refusal of another kind ends the run at once', async (t) => {
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
