import t from 'tap'
import { runnerKept } from '../../machines/documents/runner.ts'
import { validatePayload } from '../../machines/events/index.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { runnerModule as module } from '../../machines/runner.ts'
import { compile } from '../../machines/schema.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('runner')

const CREATE = {
  type: 'create',
  id: 'runner-1',
  allowed_projects: ['acme'],
  labels: ['linux'],
  credential_hash: 'hash-1',
}
const HELD = [
  { id: 'runreq_1', attempt: 1 },
  { id: 'runreq_2', attempt: 3 },
]
const OUTAGE = { type: 'limit', run_request_id: 'runreq_1', code: 'usage_limit', message: 'none left' }
const UNTIL = '2026-01-31T15:00:00.000Z'
const M = {
  create: at(0, CREATE),
  'create (draining)': at(0, { ...CREATE, draining: true }),
  update: at(1, { type: 'update', capacity: 4 }),
  'update (same)': at(1, { type: 'update', capacity: 1, labels: ['linux'] }),
  'update (drains)': at(1, { type: 'update', draining: true }),
  'update (resumes)': at(1, { type: 'update', draining: false, trusted: true }),
  'update (rights)': at(1, { type: 'update', run_rights: ['view', 'work.submit'] }),
  rotate_credential: at(2, { type: 'rotate_credential', hash: 'hash-2' }),
  session: at(3, { type: 'session', instance: 'i-1', version: '1.0.0', in_flight: HELD }),
  end_session: at(3, { type: 'end_session', instance: 'i-1', in_flight: HELD }),
  came_online: at(4, { type: 'came_online' }),
  went_offline: at(5, { type: 'went_offline' }),
  'limit (stated)': at(5, { ...OUTAGE, until: UNTIL }),
  'limit (not stated)': at(5, OUTAGE),
  limit_over: at(6, { type: 'limit_over', until: UNTIL }),
  provider_answered: at(6, { type: 'provider_answered', run_request_id: 'runreq_2' }),
  'update (unlimits)': at(6, { type: 'update', limited: false }),
  remove: at(6, { type: 'remove', in_flight: HELD.slice(0, 1) }),
}
const registered = after(module, [M.create])
const connected = after(module, [M.create, M.came_online, M.session])
const draining = after(module, [M.create, M['update (drains)']])
const removed = after(module, [M.create, M.remove])
const limited = after(module, [M.create, M['limit (stated)']])
const all = { registered, connected, draining, removed, limited }

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...all }, M), 'runner')
  t.end()
})

t.test('a new instance ends what the old one held, and a repeated instance ends nothing', (t) => {
  const { snapshot, sends } = step(module, registered, M.session)
  t.match(sends, [
    { to: { kind: 'run_request', id: 'runreq_1' }, message: { type: 'runner_session_started', runner_id: 'runner-1' } },
    { to: { kind: 'run_request', id: 'runreq_2' }, message: { attempt: 3 } },
  ])
  t.equal(step(module, snapshot, M.session).repeat, 'same_session')
  const next = step(module, snapshot, at(9, { ...M.session, instance: 'i-2', in_flight: [] }))
  t.equal(next.snapshot.context.session.instance, 'i-2')
  t.end()
})

t.test(
  'ending the newest session gives up its runs and takes the runner offline, and ending an older one changes nothing',
  (t) => {
    const { snapshot, sends, facts } = step(module, connected, M.end_session)
    t.match(sends, [{ message: { attempt: 1, reason: 'its runner ended' } }, { message: { attempt: 3 } }])
    t.match(facts, [
      { type: 'runner_offline', payload: { presence: 'offline', reason: 'it reported that it is ending' } },
    ])
    t.match(snapshot.context, {
      session: undefined,
      internal: { online: false, seen_at: '2026-01-01T00:00:03.000000Z' },
    })
    t.equal(step(module, snapshot, M.end_session).repeat, 'not_its_session')
    const next = step(module, connected, at(9, { ...M.session, instance: 'i-2', in_flight: [] })).snapshot
    t.match(step(module, next, M.end_session), { repeat: 'not_its_session', sends: [], facts: [] })
    t.end()
  },
)

t.test('a rotated credential stays valid for ten minutes beside the new one', (t) => {
  const rotated = after(module, [M.create, M.rotate_credential])
  t.strictSame(rotated.context.internal.credentials, [
    { hash: 'hash-1', expires_at: '2026-01-01T00:10:02.000Z' },
    { hash: 'hash-2' },
  ])
  const later = step(module, rotated, at(900, { type: 'rotate_credential', hash: 'hash-3' })).snapshot
  t.strictSame(
    later.context.internal.credentials.map(({ hash }: { hash: string }) => hash),
    ['hash-2', 'hash-3'],
  )
  t.strictSame(step(module, rotated, M.remove).snapshot.context.internal.credentials, [], 'none after removal')
  t.end()
})

t.test('a limited runner needs the timer that ends its limit', (t) => {
  t.strictSame([module.timers!(limited as any), module.timers!(registered as any)], [['limit'], []])
  t.end()
})

t.test('runs get no rights unless they are given, and a runner of an older version gives none', (t) => {
  const rightsOf = (snapshot: any) => (module.document(snapshot) as { run_rights: string[] }).run_rights
  t.strictSame(rightsOf(registered), [])
  const given = step(module, registered, M['update (rights)'])
  t.strictSame(rightsOf(given.snapshot), ['view', 'work.submit'])
  t.match(given.facts, [{ payload: { run_rights: ['view', 'work.submit'], changed: ['run_rights'] } }])
  t.strictSame(rightsOf(step(module, given.snapshot, at(2, { type: 'update', run_rights: [] })).snapshot), [])
  const { run_rights: _, ...older } = (registered as any).context
  t.strictSame(module.migrations[5]!({ value: 'registered', context: older } as any), {
    value: 'registered',
    context: { ...older, run_rights: [] },
  })
  const { claims } = module.testimony!
  const told = claims('terms', { event_type: 'runner_updated', payload: { labels: [], capacity: 1 } } as any)
  t.match(told, { run_rights: [] }, 'as the events of an older version say')
  t.end()
})

t.test('documents and facts satisfy their schemas and never show a credential', (t) => {
  const shown = [...Object.values(all), after(module, [M.create, M.session])]
  for (const snapshot of shown) {
    const document = module.document(reopened(module, snapshot))
    t.strictSame(compile(runnerKept)(document), [])
    t.notMatch(JSON.stringify(document), 'hash')
    for (const message of Object.values(M)) {
      for (const fact of step(module, snapshot, message).facts) {
        t.strictSame(validatePayload(fact.type, (fact as OwnFact).payload), [], fact.type)
        t.notMatch(JSON.stringify(fact), 'hash')
      }
    }
  }
  t.end()
})

t.test(
  'a limit ends when its provider said, and one without a word after a pause that grows until a run completes',
  (t) => {
    const ends = (snapshot: any, message: any): [any, string] => {
      const stepped = step(module, snapshot, message)
      return [stepped.snapshot, new Date(stepped.scheduled[0]!.dueMs).toISOString()]
    }
    t.equal(ends(registered, M['limit (stated)'])[1], UNTIL)
    let snapshot: any = registered
    const pauses: number[] = []
    for (let times = 0; times < 7; times++) {
      const [next, until] = ends(snapshot, at(times, OUTAGE))
      pauses.push((Date.parse(until) - at(times, OUTAGE).atMs) / 60_000)
      snapshot = step(module, next, at(times, { type: 'limit_over', until })).snapshot
    }
    t.strictSame(pauses, [1, 2, 4, 8, 16, 30, 30])
    t.equal(step(module, snapshot, M.limit_over).repeat, 'not_its_limit')
    t.match(snapshot.context, { limited: undefined, internal: { outage: { ...OUTAGE, type: undefined } } }, 'is kept')
    const answered = step(module, snapshot, M.provider_answered).snapshot
    t.equal(answered.context.internal.outage, undefined)
    t.equal(Date.parse(ends(answered, at(9, OUTAGE))[1]) - at(9, OUTAGE).atMs, 60_000, 'from the beginning')
    t.end()
  },
)

t.test('what further runs report of the same outage can only make a limit longer', (t) => {
  const { limited } = step(module, after(module, [M.create, M['limit (stated)']]), at(7, OUTAGE)).snapshot.context
  t.equal(limited.until, UNTIL)
  const sooner = { ...OUTAGE, until: '2026-01-31T13:00:00.000Z' }
  const later = { ...OUTAGE, until: '2026-01-31T18:00:00.000Z' }
  const both = after(module, [M.create, at(5, later), at(6, sooner)])
  t.equal(both.context.limited.until, later.until)
  t.equal(step(module, both, at(8, { type: 'limit_over', until: sooner.until })).repeat, 'not_its_limit')
  t.end()
})
