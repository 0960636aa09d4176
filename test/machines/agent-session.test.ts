/** The agent session: its table, its paths, and random walks against what SPEC 3.3 and 6.17 promise of it. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { sessionNews } from '../../machines/agent-session/reports.ts'
import { agentSessionModule as module } from '../../machines/agent-session.ts'
import { agentSessionDocument } from '../../machines/documents/agent-session.ts'
import { prepareEvent } from '../../machines/events/envelope.ts'
import type { OwnFact, Throttle } from '../../machines/machine.ts'
import type { Messages } from '../../machines/messages.ts'
import { compile } from '../../machines/schema.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('agent-session')

const SESSION = '6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b'
const RECORDED_AT = '2026-01-01T00:00:00.500000Z'
const STARTED = {
  session_id: SESSION,
  agent_type: 'agent',
  project: 'acme',
  working_dir: '/work/acme',
  source_log_path: `/home/ann/.engine/agent-sessions/${SESSION}.jsonl`,
  capability: 'coding',
  access: 'full',
  started_at: '2026-01-01T00:00:00Z',
  trace_id: 'c'.repeat(32),
}
const OK = { session_id: SESSION, status: 'ok', exit_code: 0, ended_at: '2026-01-01T00:09:00Z', bytes_written: 512 }
const MEASURED = {
  usage: { 'model-a': { input: 1200, output: 80, cache_read: 5, note: 'x' }, total: 'much' },
  cost: { usd: 0.1, basis: 'list' },
}
const OWNER = { project: 'acme', run_request_id: 'runreq_1', attempt: 2, runner_id: 'r1' }
const LEDGER = { ...OWNER, work_item_id: 'wi_1', campaign: 'spring' }

const said = (event_type: string, payload: object, owner: object = LEDGER, throttle: Throttle = 'full') => {
  const stated = { event_type, project: 'acme', occurred_at: STARTED.started_at, throttle } as const
  const event = prepareEvent({
    ...stated,
    payload: payload as never,
    trace_id: 'c'.repeat(32),
    span_id: 'd'.repeat(16),
  })
  return sessionNews(event, owner as typeof OWNER, RECORDED_AT)!.message
}
const M = {
  begin: at(1, said('agent_session_started', STARTED)),
  'begin (of another run)': at(2, said('agent_session_started', STARTED, { ...LEDGER, run_request_id: 'runreq_2' })),
  end: at(3, said('agent_session_ended', { ...OK, ...MEASURED })),
  'end (told by a person)': at(3, said('agent_session_ended', OK, { project: 'acme' })),
  'end (of another run)': at(3, said('agent_session_ended', OK, { ...LEDGER, run_request_id: 'runreq_2' })),
  'end (of another project)': at(3, said('agent_session_ended', OK, { project: 'other' })),
  interrupt: at(4, { type: 'interrupt', ended_at: '2026-01-01T00:05:00Z' }),
}
const started = after(module, [M.begin])
const ended = after(module, [M.begin, M.end])
const interrupted = after(module, [M.begin, M.interrupt])
const unseen = after(module, [M.end])

t.test('every message in every state has the outcome that the table shows', (t) => {
  const states = {
    absent: absent(module),
    started,
    ended,
    'ended (interrupted)': interrupted,
    'ended (unseen)': unseen,
  }
  t.matchSnapshot(table(module, states, M), 'agent session')
  t.end()
})

t.test('every state can be reached, and only ended is final', (t) => {
  const paths = getShortestPaths(module.machine, { events: Object.values(M) as never })
  t.strictSame([...new Set(paths.map(({ state }) => String(state.value)))].sort(), ['absent', 'ended', 'started'])
  for (const { state } of paths) {
    const leaves = Object.values(M).some((m) => step(module, state as never, m).snapshot.value !== state.value)
    t.equal(leaves, state.value !== 'ended', String(state.value))
  }
  t.end()
})

t.test('an interruption ends a session as SPEC 6.17 says', (t) => {
  const { facts, snapshot } = step(module, started, M.interrupt)
  t.strictSame(facts, [
    {
      type: 'agent_session_ended',
      payload: {
        session_id: SESSION,
        status: 'interrupted',
        ended_at: '2026-01-01T00:05:00Z',
        bytes_written: 0,
        error: 'daemon restarted',
      },
    },
  ])
  t.match(module.envelope(snapshot.context), {
    project: 'acme',
    throttle: 'full',
    trace_id: 'c'.repeat(32),
    causation_id: started.context.begin_event.id,
  })
  const simulated = after(module, [at(1, said('agent_session_started', STARTED, LEDGER, 'dry_run'))])
  t.equal(module.envelope(simulated.context).throttle, 'dry_run', 'the throttle of its beginning')
  const { throttle: _, ...begin_event } = started.context.begin_event
  t.equal(module.envelope({ ...started.context, begin_event }).throttle, 'full', 'as an older version stored it')
  t.equal(step(module, snapshot, M.interrupt).repeat, 'already_ended')
  t.notOk('tokens' in module.document(snapshot) || 'cost' in module.document(snapshot), 'unknown, not zero')
  t.end()
})

t.test('an interruption is stated on the session’s own trace, whatever trace its beginning came on', (t) => {
  const traceOf = (payload: object, stated: object) => {
    const event = { event_type: 'agent_session_started', project: 'acme', occurred_at: STARTED.started_at } as const
    const began = prepareEvent({ ...event, throttle: 'full', payload: { ...STARTED, ...payload } as never, ...stated })
    const { message } = sessionNews(began, OWNER, RECORDED_AT)!
    const { snapshot } = step(module, after(module, [at(1, message)]), M.interrupt)
    const { trace_id, span_id } = module.envelope(snapshot.context)
    t.equal(trace_id, (module.document(snapshot) as any).trace_id ?? null)
    return { trace_id, span_id }
  }
  const on = { trace_id: 'outer', span_id: 'outer-span' }
  t.strictSame(traceOf({ trace_id: 'own' }, {}), { trace_id: 'own', span_id: null })
  t.strictSame(traceOf({ trace_id: 'own' }, on), { trace_id: 'own', span_id: null }, 'a span belongs to its own trace')
  t.strictSame(traceOf({ trace_id: '' }, on), on)
  t.strictSame(traceOf({ trace_id: 'outer' }, on), on)
  t.strictSame(traceOf({ trace_id: '' }, {}), { trace_id: null, span_id: null })
  t.end()
})

t.test('an end is added once to each sum, and a later end from the engine amends the interruption’s figures', (t) => {
  const ids = (sends: readonly any[]) => sends.map(({ to, message }) => [message.type, to.id])
  t.strictSame(ids(step(module, started, M.end).sends), [
    ['add', 'project:acme'],
    ['add', 'item:wi_1'],
    ['add', 'campaign:spring'],
  ])
  const first = step(module, started, M.interrupt)
  t.strictSame((first.sends[0]!.message as Messages['usage']).measured, {})
  const late = step(module, first.snapshot, M.end)
  t.strictSame(
    late.sends.map(({ message }) => message.type),
    ['amend', 'amend', 'amend'],
  )
  t.strictSame((late.sends[0]!.message as Messages['usage']).measured, {
    tokens: { 'model-a': { input: 1200, output: 80, cache_read: 5 } },
    micros: { USD: 100_000 },
    basis: 'list',
  })
  t.match(module.document(late.snapshot), { state: 'ended', status: 'ok', cost: { USD: 0.1 }, bytes_written: 512 })
  t.equal(step(module, late.snapshot, M.end).repeat, 'already_ended')
  t.end()
})

t.test('documents and facts satisfy their schemas', (t) => {
  for (const snapshot of [started, ended, interrupted, unseen, step(module, unseen, M.begin).snapshot])
    t.strictSame(compile(agentSessionDocument)(module.document(reopened(module, snapshot))), [])
  t.match(module.document(step(module, unseen, M.begin).snapshot), { state: 'ended', agent_type: 'agent' })
  t.end()
})

t.test('an event without a valid session id is recorded only', (t) => {
  for (const session_id of ['', '../x', 'a:b', 'x'.repeat(129), '-']) {
    const payload = { ...OK, session_id } as never
    const event = {
      event_type: 'agent_session_ended',
      project: 'acme',
      occurred_at: OK.ended_at,
      throttle: 'full',
    } as const
    t.equal(sessionNews(prepareEvent({ ...event, payload, trace_id: null }), OWNER, RECORDED_AT), undefined, session_id)
  }
  t.end()
})

t.test('texts are kept up to a bound, whatever their length', (t) => {
  const working_dir = '/'.padEnd(400_000, 'x')
  const snapshot = after(module, [at(1, said('agent_session_started', { ...STARTED, working_dir }))])
  t.equal((module.document(snapshot) as any).working_dir.length, 2_048)
  t.end()
})

t.test('no walk ends or counts a session twice', (t) => {
  const words = Object.keys(M) as (keyof typeof M)[]
  const visits = new Map<string, number>()
  fc.assert(
    fc.property(
      fc.constantFrom('begin', 'end'),
      fc.array(fc.constantFrom(...words), { maxLength: 12 }),
      (first, walk) => {
        let snapshot = absent(module)
        let adds = 0
        let told = 0
        for (const word of [first as keyof typeof M, ...walk]) {
          const before = snapshot
          const { snapshot: next, sends, facts, repeat, refused } = step(module, snapshot, M[word])
          adds += sends.filter(({ to, message }) => to.id === 'project:acme' && message.type === 'add').length
          told += facts.length
          if (/another/.test(word)) assert.ok(refused ?? repeat, `${word} changes nothing`)
          if (before.value === 'ended') assert.equal(next.value, 'ended')
          snapshot = adds % 2 === 0 ? next : reopened(module, next)
          visits.set(snapshot.value, (visits.get(snapshot.value) ?? 0) + 1)
        }
        assert.equal(adds, snapshot.value === 'ended' ? 1 : 0)
        assert.ok(told <= 1)
        if (told === 1) assert.equal(snapshot.value, 'ended')
      },
    ),
    { numRuns: 500 },
  )
  for (const state of ['started', 'ended']) t.ok((visits.get(state) ?? 0) > 20, state)
  t.end()
})

t.test('the facts of a session assert the aspects that the module declares, and an engine’s do not', (t) => {
  const [fact] = step(module, started, M.interrupt).facts as OwnFact[]
  t.equal(module.testimony.aspects({ ...event(fact!), by: { id: 'r1', name: 'r1' } }).length, 0, 'stated by an engine')
  t.strictSame(module.testimony.aspects(event(fact!)), ['state'])
  t.end()
})

function event({ type, payload }: OwnFact) {
  return {
    event_type: type,
    project: 'acme',
    throttle: 'full',
    trace_id: null,
    payload: payload as Record<string, any>,
  }
}
