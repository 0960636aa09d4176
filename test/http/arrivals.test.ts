import t from 'tap'
import { LOOK_AGAIN_MS } from '../../http/later-turns.ts'
import { Arrivals, namedBy } from '../../http/resources/arrivals.ts'
import { projectIdOf, recordIdOfSlug, runRequestIdOf } from '../../machines/ids.ts'
import { HeldNature } from '../natures/held.ts'
import { until } from '../until.ts'
import { startTestService } from './service-harness.ts'

const REQUEST = namedBy('/api/run-requests/:id')!

/** A service whose clock is put forward by hand, and one who asks for `runreq_1` of it. */
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
    nature: {
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
  const ask = () => new Arrivals(runtime as never, ending).handle(REQUEST, exchange as never)
  const look = () => {
    state.nowMs += LOOK_AGAIN_MS
    for (const timer of timers.splice(0)) timer()
  }
  return { state, said, ask, look, isWaiting: () => timers.length > 0 }
}

t.test('what nothing is said to, and what is there, is not waited for', (t) => {
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

t.test('what comes to be, or does not, is asked for then', (t) => {
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

t.test('nobody is told that there is no such thing while it may be on its way', (t) => {
  const { state, said, ask, look, isWaiting } = world()
  ask()
  for (let looks = 0; isWaiting() && looks < 1_000; looks++) look()
  t.same(said, ['view_behind'])
  t.ok(state.nowMs >= 250 && state.nowMs < 300, `${state.nowMs} ms`)
  t.end()
})

t.test('nobody waits for the end of the service, and nobody is waited for who has gone', (t) => {
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

t.test('what is known to come is named by the first parameter of its path', (t) => {
  t.same(namedBy('/api/run-requests/:id/accepted')?.('x'), { kind: 'run_request', id: 'x' })
  t.same(namedBy('/hypotheses/:id/accept')?.('x'), { kind: 'hypothesis', id: 'x' })
  const record = namedBy('/api/intent-records/:id/accept')!
  t.same(record('shop.intent.fast'), { kind: 'intent_record', id: recordIdOfSlug(projectIdOf('shop'), 'fast') })
  t.equal(record('fast'), undefined)
  for (const path of ['/api/projects/:id/run-requests', '/api/run-requests', '/api/campaigns/:name'])
    t.equal(namedBy(path), undefined, path)
  t.end()
})

t.test('a request that is about to be made is read once it is', async (t) => {
  const nature = new HeldNature()
  const s = await startTestService(t, {}, { nature })
  await s.project('greeter')
  const path = `/api/run-requests/${runRequestIdOf(projectIdOf('greeter'), 'k', 0)}`
  await s.expect(404, 'GET', path)
  nature.hold()
  const body = { entry_event: 'greet_requested', payload: { name: 'world' }, idempotency_key: 'k' }
  const made = s.call('POST', '/api/projects/greeter/run-requests', body)
  const isTaken = async () => (await s.call('GET', '/metrics')).body.includes('intendant_messages_in_flight 1\n')
  await until(isTaken, Boolean)
  const heldBefore = nature.held
  const read = s.call('GET', path)
  await until(async () => nature.held > heldBefore, Boolean)
  nature.letGo()
  t.equal((await made).status, 201)
  t.match(await read, { status: 200, body: { state: 'queued' } })
})
