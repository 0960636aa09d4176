import t from 'tap'
import { POLL_MS } from '../../http/later-turns.ts'
import { namedBy, PendingEntities } from '../../http/resources/pending-entities.ts'
import { projectIdOf, recordIdOfSlug, runRequestIdOf } from '../../machines/ids.ts'
import { HoldablePlatform } from '../platforms/holdable.ts'
import { until } from '../until.ts'
import { startTestService } from './service-harness.ts'

const REQUEST = namedBy('/api/run-requests/:id')!

/** A service with a clock that the test advances, and an exchange that asks for `runreq_1`. */
function world() {
  const state = { isBusy: true, isThere: false, hasFailed: false, isClosing: false, done: false, nowMs: 0, reads: 0 }
  const timers: (() => void)[] = []
  const said: string[] = []
  const runtime = {
    isBusy: () => state.isBusy,
    read: () => {
      state.reads += 1
      return state.isThere ? {} : undefined
    },
    platform: {
      monotonicMs: () => state.nowMs,
      nextTurn: (look: () => void) => void timers.push(look),
      setTimer: (look: () => void) => void timers.push(look),
    },
  }
  const exchange = {
    params: ['runreq_1'],
    route: { handle: () => void said.push('handled') },
    later: (go: () => void) => () => {
      if (!state.done) go()
    },
    problem: (code: string) => void said.push(code),
  }
  const ending = { hasFailed: () => state.hasFailed, isClosing: () => state.isClosing }
  const ask = () => new PendingEntities(runtime as never, ending).handle(REQUEST, exchange as never)
  const look = () => {
    state.nowMs += POLL_MS
    for (const timer of timers.splice(0)) timer()
  }
  return { state, said, ask, look, isWaiting: () => timers.length > 0 }
}

t.test('a request is handled at once when the entity exists or nothing is in progress for it', (t) => {
  const nothing = world()
  nothing.state.isBusy = false
  nothing.ask()
  t.same([nothing.said, nothing.state.reads, nothing.isWaiting()], [['handled'], 0, false])
  const there = world()
  there.state.isThere = true
  there.ask()
  t.same([there.said, there.isWaiting()], [['handled'], false])
  t.end()
})

t.test('a request for a missing entity waits until it is created or nothing is in progress for it', (t) => {
  for (const end of [{ isThere: true }, { isBusy: false }]) {
    const { state, said, ask, look, isWaiting } = world()
    ask()
    look()
    look()
    t.same(said, [])
    Object.assign(state, end)
    look()
    t.same([said, isWaiting()], [['handled'], false])
  }
  t.end()
})

t.test('a request for an entity that may still be created is answered view_behind after 250 ms, not 404', (t) => {
  const { state, said, ask, look, isWaiting } = world()
  ask()
  for (let looks = 0; isWaiting() && looks < 1_000; looks++) look()
  t.same(said, ['view_behind'])
  t.ok(state.nowMs >= 250 && state.nowMs < 300, `${state.nowMs} ms`)
  t.end()
})

t.test('waiting ends when storage fails, the service stops or the client is gone', (t) => {
  for (const [end, told] of [
    [{ hasFailed: true }, ['storage_failed']],
    [{ isClosing: true }, ['stopping']],
    [{ done: true }, []],
  ] as const) {
    const { state, said, ask, look, isWaiting } = world()
    ask()
    Object.assign(state, end)
    look()
    t.same([said, isWaiting()], [told, false])
  }
  t.end()
})

t.test('the entity that a request waits for is named by the first parameter of its path', (t) => {
  t.same(namedBy('/api/run-requests/:id/accepted')?.('x'), { kind: 'run_request', id: 'x' })
  t.same(namedBy('/hypotheses/:id/accept')?.('x'), { kind: 'hypothesis', id: 'x' })
  const record = namedBy('/api/intent-records/:id/accept')!
  t.same(record('shop.intent.fast'), { kind: 'intent_record', id: recordIdOfSlug(projectIdOf('shop'), 'fast') })
  t.equal(record('fast'), undefined)
  for (const path of ['/api/projects/:id/run-requests', '/api/run-requests', '/api/campaigns/:name'])
    t.equal(namedBy(path), undefined, path)
  t.end()
})

t.test('a GET of a run request that is being created is answered once it exists', async (t) => {
  const platform = new HoldablePlatform()
  const s = await startTestService(t, {}, { platform })
  await s.project('greeter')
  const path = `/api/run-requests/${runRequestIdOf(projectIdOf('greeter'), 'k', 0)}`
  await s.expect(404, 'GET', path)
  platform.hold()
  const body = { entry_event: 'greet_requested', payload: { name: 'world' }, idempotency_key: 'k' }
  const made = s.call('POST', '/api/projects/greeter/run-requests', body)
  const isTaken = async () => (await s.call('GET', '/metrics')).body.includes('intendant_messages_in_flight 1\n')
  await until(isTaken, Boolean)
  const heldBefore = platform.held
  const read = s.call('GET', path)
  await until(async () => platform.held > heldBefore, Boolean)
  platform.letGo()
  t.equal((await made).status, 201)
  t.match(await read, { status: 200, body: { state: 'queued' } })
})
