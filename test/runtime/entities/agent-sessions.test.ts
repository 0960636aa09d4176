/** Programming errors at sessions, their runners and their ends, injected here because there should be none. */
import t from 'tap'
import type { Answer, CommitListener, Runtime } from '../../../runtime/api.ts'
import { AgentSessions } from '../../../runtime/entities/agent-sessions.ts'
import { setAsideRetryMs } from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

type Snapshot = { value: string; context: any }

const LOST_AT = '2026-01-01T00:00:00.000Z'

function aMistake(): never {
  throw new TypeError('a mistake')
}

const session = (id: string, more: object = {}): Snapshot => ({
  value: 'started',
  context: {
    session_id: id,
    begin_event: { occurred_at: new Date(new ManualPlatform().wallMs()).toISOString() },
    attempt: 1,
    ...more,
  },
})
const ofRun = (id: string) => session(id, { run_request_id: `run of ${id}`, runner_id: 'r1' })
const run = (value: string): Snapshot => ({
  value,
  context: { attempt: 1, times: { lost_at: LOST_AT }, internal: {}, made: { limits: { late_events_ms: 0 } } },
})
const senseless: Snapshot = { value: 'started', context: { session_id: 'poison' } }

/** A world whose journal holds these records, by kind and id. */
function world(records: Record<string, Record<string, Snapshot>>) {
  const platform = new ManualPlatform()
  const told: any[] = []
  const asked: string[] = []
  const listeners: CommitListener[] = []
  records.run_request ??= Object.fromEntries(['poison', 'other', 'third'].map((id) => [`run of ${id}`, run('started')]))
  const w = {
    platform,
    told,
    asked,
    records,
    /** What an actor answers. */
    answer: (_: string): Partial<Answer> => ({ ok: true }),
    sessions: undefined as unknown as AgentSessions,
    commit(kind: string, changed: Record<string, Snapshot>) {
      const steps = Object.entries(changed).map(([id, after]) => ({ ref: { kind, id }, before: undefined, after }))
      records[kind] = { ...records[kind], ...changed }
      for (const listener of listeners) listener(steps as never, [], {} as never)
    },
    /** Advances the clock, and lets promises settle. */
    async advance(ms: number) {
      await new Promise(setImmediate)
      platform.advance(ms)
      await new Promise(setImmediate)
    },
  }
  const runtime = {
    platform,
    journal: { outbox: () => [] },
    *scan(kind: string, _: string, value: string) {
      for (const [id, snapshot] of Object.entries(records[kind] ?? {}))
        if (snapshot.value === value) yield { ref: { kind, id }, snapshot }
    },
    read: ({ kind, id }: { kind: string; id: string }) => records[kind]?.[id],
    onCommit: (listener: CommitListener) => listeners.push(listener),
    addRetentionGuard: () => undefined,
    askAsync: async ({ id }: { id: string }) => {
      asked.push(id)
      return w.answer(id)
    },
  } as unknown as Runtime
  const log = { ...silentLogger, error: (fields: object, said: string) => told.push({ ...fields, said }) }
  w.sessions = new AgentSessions(runtime, log)
  return w
}

const internalError: Partial<Answer> = { ok: false, refusal: { code: 'internal_error', detail: 'The step failed.' } }

for (const [how, failing] of [
  ['cannot be asked for', aMistake],
  ['fails in its step', () => internalError],
] as const)
  t.test(`a session end that ${how} is retried ever later, and the other sessions end`, async (t) => {
    const w = world({ agent_session: { poison: ofRun('poison'), other: ofRun('other') } })
    w.answer = (id) => (id === 'poison' ? failing() : { ok: true })
    w.commit('run_request', { 'run of poison': run('lost'), 'run of other': run('lost') })
    await w.advance(0)
    t.same(w.asked.sort(), ['other', 'poison'])
    t.match(w.told, [{ by: 'sessions', kind: 'agent_session', id: 'poison', failures: 1 }])
    t.match(w.sessions.health, { passedOverCount: 1, ticksFailed: 0 })
    w.commit('run_request', { 'run of poison': run('lost') })
    await w.advance(setAsideRetryMs - 1)
    t.equal(w.asked.length, 2, 'not retried early')
    await w.advance(1)
    t.match(w.told.slice(1), [{ id: 'poison', failures: 2 }])
    w.answer = () => ({ ok: true })
    await w.advance(2 * setAsideRetryMs)
    t.same(w.asked.slice(2), ['poison', 'poison'])
    t.equal(w.sessions.health.passedOverCount, 0)
  })

t.test('at start, a session end that fails keeps neither the other ends nor the service from starting', async (t) => {
  const records = { agent_session: { poison: session('poison'), other: session('other') } }
  const w = world({ ...records, maintenance_run: { bad: { value: 'running', context: {} } } })
  w.answer = (id) => (id === 'poison' ? aMistake() : { ok: true })
  await w.sessions.recover()
  t.same(w.asked, ['poison', 'other'])
  t.match(w.told, [
    { kind: 'maintenance_run', id: 'bad' },
    { kind: 'agent_session', id: 'poison' },
  ])
  w.answer = () => ({ ok: true })
  await w.advance(setAsideRetryMs)
  t.same(w.asked.slice(2).sort(), ['bad', 'poison'], 'a run whose age is unknown is taken for over')
  t.equal(w.sessions.health.passedOverCount, 0)
})

t.test('a session that cannot be taken in hides no other session, at start or in a commit', async (t) => {
  const w = world({ agent_session: { poison: senseless, other: ofRun('other') } })
  t.equal(w.sessions.openCount, 1)
  w.commit('agent_session', { poison: senseless, third: ofRun('third') })
  t.equal(w.sessions.openCount, 2)
  t.match(w.told, [{ by: 'sessions', kind: 'agent_session', id: 'poison' }])
  w.records.agent_session!.poison = ofRun('poison')
  await w.advance(setAsideRetryMs)
  t.equal(w.sessions.openCount, 3)
  t.equal(w.sessions.health.passedOverCount, 0)
})

t.test('when the run of a session cannot be judged, that session is retried and others end now', async (t) => {
  const w = world({ agent_session: { poison: ofRun('poison'), other: ofRun('other') } })
  const bad = { value: 'lost', context: { attempt: 1 } }
  w.commit('run_request', { 'run of poison': bad, 'run of other': run('lost') })
  await w.advance(0)
  t.same(w.asked, ['other'])
  t.match(w.told, [{ kind: 'agent_session', id: 'poison', failures: 1 }])
  w.records.run_request!['run of poison'] = run('lost')
  await w.advance(setAsideRetryMs)
  t.same(w.asked, ['other', 'poison'])
})

t.test(
  'when a change of a runner cannot be taken in, its sessions end at the retry and those of other runners now',
  async (t) => {
    const of = (id: string, runner_id: string) => session(id, { runner_id })
    const w = world({ agent_session: { first: of('first', 'r1'), second: of('second', 'r2') } })
    const began = { value: 'registered', context: { session: { instance: 'i', started_at: LOST_AT } } }
    let isMended = false
    const context = {
      get session() {
        return isMended ? began.context.session : aMistake()
      },
    }
    w.commit('runner', { r1: { value: 'registered', context }, r2: began })
    await w.advance(0)
    t.same(w.asked, ['second'])
    t.match(w.told, [{ kind: 'runner', id: 'r1' }])
    isMended = true
    await w.advance(setAsideRetryMs)
    t.same(w.asked, ['second', 'first'])
    t.equal(w.sessions.health.passedOverCount, 0)
  },
)
