import t from 'tap'
import { runRequestDocument } from '../../machines/documents/run-request.ts'
import { validatePayload } from '../../machines/events/index.ts'
import type { Message, OwnFact, SnapshotOf } from '../../machines/machine.ts'
import { isCancellable } from '../../machines/run-request/rules.ts'
import { documentText, heldEngineRun, unreportedEngineRun } from '../../machines/run-request/view.ts'
import { runRequestModule as module } from '../../machines/run-request.ts'
import { compile } from '../../machines/schema.ts'
import { CREATE, EVENT, MESSAGES as M, RUNNER, states } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('run-request')

const post = (attempt: number) => ({ runner_id: RUNNER, attempt })
const offer = at(1, { type: 'offer', runner_id: RUNNER })

function run(...messages: readonly Message<any>[]): SnapshotOf<any> {
  return after(module, messages)
}

/** As JSON carries it: without undefined members. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...states() }, M), 'run request')
  t.end()
})

t.test('with timers and a retry policy, every message in every state arms and clears what it must', (t) => {
  const variant = {
    timeout_seconds: 60,
    expires_at: '2026-01-02T00:00:00Z',
    retry: { max_attempts: 3, on: ['execution', 'dispatch'] as const, backoff_seconds: 5 },
  }
  t.matchSnapshot(table(module, states(variant as object), M), 'run request with timers')
  t.end()
})

t.test('isCancellable is true exactly where a cancel changes something', (t) => {
  const timedOut = step(module, states({ timeout_seconds: 60 } as never).started!, M.timeout_reached).snapshot
  const all = { absent: absent(module), ...states(), 'cancelling (timed out)': timedOut }
  for (const [state, snapshot] of Object.entries(all))
    for (const discard_work of [false, true]) {
      const cancel = at(100, { ...M.cancel, discard_work })
      const { refused, repeat } = step(module, snapshot, cancel)
      const isTaken = refused === undefined && repeat === undefined
      t.equal(isCancellable(snapshot, cancel), isTaken, `${state}, discard_work ${discard_work}`)
    }
  t.end()
})

t.test(
  'a request is not offered before its approval, before its time, or to a runner other than the pinned one',
  (t) => {
    const full = run(at(0, { ...CREATE, throttle: 'full' }))
    t.equal(step(module, full, offer).refused, 'illegal_move')
    t.equal(step(module, step(module, full, M.approve).snapshot, offer).snapshot.value, 'offered')
    const early = run(at(0, { ...CREATE, not_before: '2026-01-01T01:00:00Z' }))
    t.equal(step(module, early, offer).refused, 'illegal_move')
    t.equal(step(module, step(module, early, M.not_before_reached).snapshot, offer).snapshot.value, 'offered')
    const named = run(at(0, { ...CREATE, runner_id: 'runner-2' }))
    t.equal(step(module, named, offer).refused, 'illegal_move', 'only to the pinned runner')
    t.end()
  },
)

t.test(
  'a restore raises every attempt so that unknown ones are fenced, and requeues nothing that may have begun',
  (t) => {
    const fenced = (snapshot: SnapshotOf<any>) => {
      const { value, context } = step(module, snapshot, M.restored).snapshot
      return [value, context.attempt]
    }
    const known = states()
    t.same(fenced(known.queued!), ['queued', known.queued!.context.attempt + 1_000])
    t.same(fenced(known.offered!), ['queued', known.offered!.context.attempt + 1_001])
    t.same(fenced(known.accepted!), ['lost', known.accepted!.context.attempt + 1_000])
    t.same(fenced(known.started!), ['lost', known.started!.context.attempt + 1_000])
    t.same(fenced(known.lost!), ['lost', known.lost!.context.attempt + 1_000])
    t.same(fenced(known.cancelling!), ['cancelled', known.cancelling!.context.attempt + 1_000])
    const late = step(
      module,
      step(module, known.started!, M.restored).snapshot,
      at(40, { type: 'completed', ...post(1), result: {}, digest: 'd' }),
    )
    t.equal(late.refused, 'stale_attempt')
    t.end()
  },
)

t.test('a restored accepted request starts when its runner is heard again, and its timeout counts from then', (t) => {
  const accepted = states({ timeout_seconds: 60 } as never).accepted!
  const restored = step(module, accepted, M.restored).snapshot
  for (const type of ['accepted', 'started', 'heartbeat', 'events'] as const) {
    const { runner_id } = M[type]
    const { snapshot, scheduled } = step(module, restored, at(40, { ...M[type], runner_id, attempt: 1_001 } as never))
    t.equal(snapshot.value, 'started', type)
    t.equal(snapshot.context.times.started_at, at(40, M.started).at)
    t.equal(snapshot.context.engine_run_id, accepted.context.engine_run_id)
    t.match(scheduled, [{ timer: 'timeout', dueMs: at(100, M.started).atMs }])
  }
  const { times } = step(module, states().lost!, M.heartbeat).snapshot.context
  t.equal(times.started_at, M.started.at, 'one that had begun keeps its start')
  t.end()
})

t.test('only the holder of the current attempt is heard, and must name the attempt from the second on', (t) => {
  const second = run(M.create, offer, M.offer_expired, offer)
  t.equal(second.context.attempt, 2)
  t.equal(step(module, second, at(40, { type: 'accepted', runner_id: RUNNER })).refused, 'attempt_required')
  t.equal(step(module, second, at(40, { type: 'accepted', ...post(1) })).refused, 'stale_attempt')
  t.equal(
    step(module, second, at(40, { type: 'accepted', runner_id: 'runner-2', attempt: 2 })).refused,
    'stale_attempt',
  )
  t.equal(step(module, second, at(40, { type: 'accepted', ...post(2) })).snapshot.value, 'accepted')
  const first = run(M.create, offer)
  t.equal(step(module, first, at(2, { type: 'accepted', runner_id: RUNNER })).snapshot.value, 'accepted')
  const why = (attempt: number) => module.refusal(second, at(40, { type: 'accepted', ...post(attempt) }))?.detail
  t.equal(why(1), 'attempt 1 is over: the request is in attempt 2')
  t.equal(why(3), 'attempt 3 has not begun: the request is in attempt 2')
  t.end()
})

t.test('every message that renews a lease is refused from anybody but its holder', (t) => {
  const held = states()
  for (const state of ['accepted', 'started', 'cancelling']) {
    const snapshot = held[state]!
    const { attempt } = snapshot.context
    const [lease] = module.deadlines(snapshot, { offerMs: 1, leaseMs: 2 })
    for (const type of lease!.renewedBy) {
      const message = at(40, { type, runner_id: 'runner-2', attempt, events: [EVENT] } as Message<any>)
      t.equal(step(module, snapshot, message).refused, 'stale_attempt', `${type} from another runner in ${state}`)
    }
    for (const type of ['cancel', 'approve']) t.notOk(lease!.renewedBy.includes(type), `${type} in ${state}`)
  }
  const [offered] = module.deadlines(held.offered!, { offerMs: 1, leaseMs: 2 })
  t.same(offered!.renewedBy, [], 'an offer is never renewed')
  t.end()
})

t.test('five offers that are not accepted fail the request, and uncounted ones do not', (t) => {
  let snapshot = run(M.create)
  const expire = (counted: boolean) => {
    snapshot = step(module, snapshot, offer).snapshot
    const { attempt } = snapshot.context
    snapshot = step(module, snapshot, at(31, { type: 'offer_expired', ...post(attempt), counted })).snapshot
  }
  for (let n = 0; n < 4; n += 1) expire(true)
  for (let n = 0; n < 9; n += 1) expire(false)
  t.equal(snapshot.value, 'queued')
  expire(true)
  t.equal(snapshot.value, 'failed')
  t.match(snapshot.context.failure, { class: 'dispatch', code: 'offers_not_accepted' })
  t.equal(snapshot.context.attempt, 14)
  t.end()
})

t.test('five accepts without a start fail the request', (t) => {
  let snapshot = run(M.create)
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    snapshot = step(module, snapshot, offer).snapshot
    snapshot = step(module, snapshot, at(2, { type: 'accepted', ...post(attempt) })).snapshot
    snapshot = step(module, snapshot, at(70, { type: 'lease_expired', attempt })).snapshot
  }
  t.equal(snapshot.value, 'failed')
  const { failure, times } = snapshot.context
  t.match(failure, { class: 'dispatch', code: 'never_started' })
  t.equal(times.accepted_at, at(2, M.accepted).at, 'what came before the failure stays known')
  t.end()
})

t.test('a completed from offered makes the moves in between at the same moment', (t) => {
  const { snapshot, facts, sends } = step(module, run(M.create, offer), M.completed)
  t.equal(snapshot.value, 'completed')
  t.strictSame(
    facts.map(({ type }) => type),
    ['run_request_accepted', 'run_request_started', 'engine_run_opened', 'run_request_completed'],
  )
  const { accepted_at, started_at, completed_at } = snapshot.context.times
  t.equal(accepted_at, M.completed.at)
  t.equal(started_at, M.completed.at)
  t.equal(completed_at, M.completed.at)
  t.strictSame(sends, [], 'nothing was reported on its engine run, so the request itself tells of it')
  t.match(unreportedEngineRun(heldEngineRun(snapshot)!), {
    state: 'closed',
    outcome: 'completed',
    closed_at: M.completed.at,
  })
  t.end()
})

t.test('an engine run on which something was reported is told of its end, whichever comes first', (t) => {
  const started = run(M.create, offer, M.accepted, M.started)
  const end = [{ to: { kind: 'engine_run' }, message: { type: 'end', outcome: 'completed' } }]
  const reported = step(module, started, M.run_reported).snapshot
  t.match(step(module, reported, M.completed).sends, end)
  t.match(
    step(module, step(module, started, M.completed).snapshot, M.run_reported).sends,
    end,
    'reported after the end',
  )
  for (const [outcome, ...rest] of [
    ['failed', M.failed],
    ['cancelled', M.cancel, M['failed (cancelled)']],
  ] as const) {
    const ended = rest.reduce((snapshot, message) => step(module, snapshot, message).snapshot, started)
    t.match(step(module, ended, M.run_reported).sends, [{ message: { type: 'end', outcome } }])
  }
  const requeued = step(module, step(module, reported, M.lease_expired).snapshot, M.requeue)
  t.match(requeued.sends, [{ message: { type: 'end', outcome: 'queued' } }])
  t.equal(requeued.snapshot.context.internal.reported, undefined, 'the next attempt has an engine run of its own')
  t.equal(step(module, requeued.snapshot, M.run_reported).repeat, 'already_known')
  t.end()
})

t.test('a version 1 snapshot is migrated to version 2', (t) => {
  const { value, context } = run(M.create, offer, M.accepted)
  const { made, internal, ...rest } = context
  const old = { status: 'active', value, context: { ...rest, internal: { ...made, ...internal } } }
  const migrated = module.migrations[1]!(JSON.parse(JSON.stringify(old)))
  const expected = { status: 'active', value, context: { ...rest, made, internal: { ...internal, reported: true } } }
  t.strictSame(migrated, JSON.parse(JSON.stringify(expected)))
  t.end()
})

t.test('a repeated end is a repeat, and a different one a conflict', (t) => {
  const { completed, cancelled } = states()
  t.equal(step(module, completed!, M.completed).repeat, 'already_completed')
  t.equal(step(module, completed!, M['completed (other body)']).refused, 'result_conflict')
  t.equal(step(module, completed!, M.failed).refused, 'result_conflict')
  t.equal(step(module, cancelled!, M['failed (cancelled)']).repeat, 'already_failed')
  const retry = { max_attempts: 2, on: ['execution'] as const, backoff_seconds: 0 }
  const retried = run(at(0, { ...CREATE, retry }), offer, M.accepted, M.started, M.failed)
  t.equal(retried.value, 'queued')
  t.equal(step(module, retried, M.failed).repeat, 'already_failed', 'also while it waits for the next attempt')
  t.equal(step(module, retried, M.completed).refused, 'stale_attempt')
  t.end()
})

t.test('a lost request comes back with any post for its attempt, and is not handed out again by itself', (t) => {
  const { lost } = states()
  for (const name of ['accepted', 'started', 'heartbeat', 'events'] as const) {
    const { snapshot, facts } = step(module, lost!, M[name])
    t.equal(snapshot.value, 'started', name)
    t.equal(facts[0]?.type, 'run_request_started')
  }
  t.equal(step(module, lost!, offer).refused, 'illegal_move')
  const again = step(module, lost!, M.requeue).snapshot
  t.equal(again.context.attempt, 2)
  t.equal(step(module, again, M.heartbeat).refused, 'stale_attempt')
  t.end()
})

t.test('a repeated requeue by the same person is a repeat, and one by another person is refused', (t) => {
  const { lost } = states()
  const other = { ...M.requeue, by: { id: 'tok_other', name: 'somebody else' } }
  const queued = step(module, lost!, M.requeue).snapshot
  const offered = step(module, queued, offer).snapshot
  const started = step(module, offered, { ...M.started, attempt: 2 }).snapshot
  for (const snapshot of [queued, offered, started]) {
    const again = step(module, snapshot, M.requeue)
    t.equal(again.repeat, 'already_requeued', String(snapshot.value))
    t.equal(again.snapshot.context.attempt, 2)
    t.equal(step(module, snapshot, other).refused, 'illegal_move')
  }
  const cancelled = step(module, queued, M.cancel).snapshot
  t.equal(step(module, cancelled, M.requeue).refused, 'illegal_move', 'it is no longer handed out')
  const lostAgain = step(module, started, { ...M.lease_expired, attempt: 2 }).snapshot
  const third = step(module, lostAgain, other).snapshot
  t.equal(third.context.attempt, 3, 'lost again, anybody may')
  t.equal(step(module, third, M.requeue).refused, 'illegal_move')
  t.equal(step(module, third, other).repeat, 'already_requeued')
  t.end()
})

t.test('a new session takes back what the old process held, but not what was offered since', (t) => {
  const { offered, accepted, started } = states()
  const session = (more: object) => at(9, { type: 'runner_session_started', runner_id: RUNNER, ...more })
  const later = session({ attempt: 1 })
  t.equal(step(module, offered!, later).snapshot.value, 'queued')
  t.equal(step(module, accepted!, later).snapshot.value, 'queued')
  t.equal(step(module, started!, later).snapshot.value, 'lost')
  t.equal(step(module, started!, { ...later, runner_id: 'another' }).refused, 'illegal_move', 'of another runner')
  const again = run(M.create, offer, M.offer_expired, offer)
  t.equal(step(module, again, later).refused, 'illegal_move', 'offered again, to the new process')
  t.equal(step(module, again, session({ attempt: 2 })).snapshot.value, 'queued')
  const counted = step(module, accepted!, later).snapshot.context.internal
  t.equal(counted.lost_accepts, 0, 'and is not counted')
  // As sent by an older version; such messages may wait in the outbox of its home.
  t.equal(step(module, started!, session({ session_at: at(8, { type: '' }).at })).snapshot.value, 'lost')
  t.equal(step(module, started!, session({ session_at: at(0, { type: '' }).at })).refused, 'illegal_move')
  t.end()
})

t.test('the work item of a lost run is told the reason given in the event', (t) => {
  const started = run(at(0, { ...CREATE, work_item_id: `wi_${'f'.repeat(24)}` }), offer, M.started)
  const reason = 'its runner was removed'
  const message = at(9, { type: 'runner_session_started', runner_id: RUNNER, attempt: 1, reason })
  const { facts, sends } = step(module, started, message)
  t.match(facts, [{ type: 'run_request_lost', payload: { reason } }])
  t.match(sends, [{ message: { type: 'run_lost', reason } }])
  t.end()
})

t.test('a run that exceeds its timeout is stopped, and fails as a timeout unless its runner completes it', (t) => {
  const started = run(at(0, { ...CREATE, timeout_seconds: 60 }), offer, M.accepted, M.started)
  const { snapshot, scheduled } = step(module, started, at(63, { type: 'timeout_reached', attempt: 1 }))
  t.equal(snapshot.value, 'cancelling')
  t.same(scheduled, [])
  const deadlines = module.deadlines(snapshot, { offerMs: 1, leaseMs: 2 })
  t.match(deadlines[1], { name: 'grace', afterMs: 60_000, renewedBy: [], message: { type: 'grace_ended', attempt: 1 } })
  t.equal(module.deadlines(started, { offerMs: 1, leaseMs: 2 }).length, 1)
  for (const end of [M['failed (cancelled)'], M.grace_ended, M.lease_expired]) {
    const settled = step(module, snapshot, end).snapshot
    t.equal(settled.value, 'failed', end.type)
    t.match(settled.context.failure, { class: 'execution', code: 'timeout' })
  }
  t.equal(step(module, snapshot, M.completed).snapshot.value, 'completed', 'unless it was done after all')
  t.end()
})

t.test('a run that comes back from lost has only the rest of its timeout left', (t) => {
  const lost = run(at(0, { ...CREATE, timeout_seconds: 60 }), offer, M.accepted, M.started, M.lease_expired)
  const { scheduled } = step(module, lost, M.heartbeat)
  t.strictSame(
    scheduled.map(({ timer, dueMs }) => [timer, dueMs]),
    [['timeout', at(63, { type: '' }).atMs]],
  )
  t.end()
})

t.test('the retry pause doubles with each failure, up to an hour or its own length if longer', (t) => {
  const pauses = (backoff_seconds: number, retries: number): number[] => {
    const retry = { max_attempts: 20, on: ['execution'] as const, backoff_seconds }
    let snapshot = run(at(0, { ...CREATE, retry }))
    return Array.from({ length: retries }, (_, n) => {
      const held = { runner_id: RUNNER, attempt: n + 1 }
      const now = (seconds: number, message: object) => at(n * 100_000 + seconds, message as { type: string })
      for (const message of [
        { type: 'offer', runner_id: RUNNER },
        { ...M.accepted, ...held },
        { ...M.started, ...held },
      ])
        snapshot = step(module, snapshot, now(1, message)).snapshot
      const failed = step(module, snapshot, now(2, { ...M.failed, ...held, digest: `digest-${n}` }))
      snapshot = step(module, failed.snapshot, now(99_000, { type: 'not_before_reached' })).snapshot
      return (failed.scheduled[0]!.dueMs - now(2, { type: '' }).atMs) / 1000
    })
  }
  t.strictSame(pauses(30, 9), [30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
  t.strictSame(pauses(7200, 2), [7200, 7200])
  t.strictSame(pauses(0, 2), [0, 0])
  t.end()
})

t.test('the retry policy requeues a listed failure after its pause while attempts are left', (t) => {
  const retry = { max_attempts: 2, on: ['execution'] as const, backoff_seconds: 30 }
  const first = step(module, run(at(0, { ...CREATE, retry }), offer, M.accepted, M.started), M.failed)
  t.equal(first.snapshot.value, 'queued')
  t.equal(first.snapshot.context.attempt, 2)
  t.strictSame(
    first.scheduled.map(({ timer, dueMs }) => [timer, dueMs]),
    [['not_before', at(36, { type: '' }).atMs]],
  )
  t.match(first.facts.at(-1), {
    type: 'run_request_requeued',
    payload: { attempt: 2, class: 'execution', not_before: new Date(at(36, { type: '' }).atMs).toISOString() },
  })
  t.equal(step(module, first.snapshot, offer).refused, 'illegal_move', 'not before its pause is over')
  const ready = step(module, first.snapshot, at(36, { type: 'not_before_reached' })).snapshot
  const offered = step(module, ready, at(37, { type: 'offer', runner_id: RUNNER })).snapshot
  const last = step(module, offered, at(38, { ...M.failed, ...post(2), digest: 'digest-9' }))
  t.equal(last.snapshot.value, 'failed')
  const other = step(module, run(at(0, { ...CREATE, retry }), offer, M.accepted, M.started), {
    ...M.failed,
    class: 'safety',
  })
  t.equal(other.snapshot.value, 'failed', 'a class that is not listed')
  const cancelled = run(at(0, { ...CREATE, retry }), offer, M.accepted, M.started, M.cancel)
  t.equal(step(module, cancelled, M.failed).snapshot.value, 'failed', 'a stop was requested')
  t.end()
})

t.test('a failure whose retry would come after the expiry stays a failure', (t) => {
  const outcome = (expires_at: string) => {
    const retry = { max_attempts: 2, on: ['execution'] as const, backoff_seconds: 30 }
    return step(module, run(at(0, { ...CREATE, retry, expires_at }), offer, M.accepted, M.started), M.failed).snapshot
  }
  t.equal(outcome(new Date(at(36, { type: '' }).atMs).toISOString()).value, 'failed')
  t.match(outcome(new Date(at(5, { type: '' }).atMs).toISOString()), {
    value: 'failed',
    context: { failure: { class: M.failed.class } },
  })
  t.equal(outcome(new Date(at(37, { type: '' }).atMs).toISOString()).value, 'queued')
  t.end()
})

t.test('a request whose expiry passed while it was held is cancelled once it is queued again', (t) => {
  const offered = run(at(0, { ...CREATE, expires_at: '2026-01-01T00:00:20Z' }), offer)
  const { scheduled } = step(module, offered, M.offer_expired)
  t.strictSame(
    scheduled.map(({ timer, dueMs }) => [timer, dueMs]),
    [['expires_at', at(20, { type: '' }).atMs]],
  )
  const back = step(module, offered, M.offer_expired).snapshot
  t.equal(
    step(module, back, at(20, { type: 'offer', runner_id: RUNNER })).refused,
    'illegal_move',
    'and is no longer offered',
  )
  t.equal(step(module, back, at(19, { type: 'offer', runner_id: RUNNER })).snapshot.value, 'offered')
  t.end()
})

t.test('an expiry while a runner has it, and a timeout while it is lost, change nothing and are no refusals', (t) => {
  const held = states({ timeout_seconds: 60, expires_at: '2026-01-02T00:00:00Z' } as never)
  const outcome = (state: string, type: 'expires_at_reached' | 'timeout_reached') => {
    const { snapshot, refused, repeat } = step(module, held[state]!, M[type])
    return [snapshot.value, refused, repeat]
  }
  for (const state of ['offered', 'accepted', 'started', 'cancelling', 'lost'])
    t.strictSame(outcome(state, 'expires_at_reached'), [state, undefined, 'not_queued'], state)
  for (const state of ['cancelling', 'lost'])
    t.strictSame(outcome(state, 'timeout_reached'), [state, undefined, 'not_running'], state)
  t.equal(outcome('queued', 'expires_at_reached')[0], 'cancelled')
  t.equal(outcome('started', 'timeout_reached')[0], 'cancelling')
  t.end()
})

t.test('late events of an attempt are recorded for ten minutes after its end', (t) => {
  const { completed } = states()
  const late = (seconds: number) => at(seconds, { type: 'events', ...post(1), events: [EVENT] })
  const { snapshot, facts } = step(module, completed!, late(606))
  t.strictSame(facts, [{ type: EVENT.event_type, recorded: EVENT }])
  t.not(snapshot, completed, 'a step that only states facts is a step')
  t.equal(step(module, completed!, late(607)).refused, 'illegal_move')
  t.end()
})

t.test(
  'a given key is replayed until a day after the end, and a derived one refuses a second run of finished full work',
  (t) => {
    const { queued, completed } = states()
    const day = 86_400 + 6
    t.equal(step(module, queued!, at(1, CREATE)).repeat, 'replay')
    t.equal(step(module, completed!, at(day - 1, CREATE)).repeat, 'replay')
    t.equal(step(module, completed!, at(day, CREATE)).refused, 'settled_twin')
    t.equal(step(module, queued!, M['create (other body)']).refused, 'idempotency_key_reused')
    const derived = { ...CREATE, key_given: false }
    const dry = run(at(0, derived), offer, M.completed)
    t.equal(step(module, run(at(0, derived)), at(9, derived)).repeat, 'replay')
    t.equal(step(module, dry, at(9, derived)).refused, 'settled_twin')
    const full = { ...derived, throttle: 'full' as const, approved: true }
    const done = run(at(0, full), offer, M.completed)
    t.equal(step(module, done, at(99_999, full)).repeat, 'replay')
    t.equal(step(module, done, at(9, { ...full, again: true })).refused, 'settled_twin')
    t.end()
  },
)

t.test('a cancel by a person outranks the timeout: the run is not retried, and its grace is not extended', (t) => {
  const retry = { max_attempts: 3, on: ['execution' as const], backoff_seconds: 0 }
  const timedOut = run(at(0, { ...CREATE, timeout_seconds: 60, retry }), offer, M.started, M.timeout_reached)
  const asked = step(module, timedOut, at(100, { type: 'cancel', reason: 'enough' }))
  t.match(asked.facts, [{ type: 'run_request_cancel_requested', payload: { reason: 'enough' } }])
  t.strictSame(asked.scheduled, [])
  t.equal(step(module, asked.snapshot, M.grace_ended).snapshot.value, 'cancelled')
  t.equal(step(module, asked.snapshot, M['failed (cancelled)']).snapshot.value, 'cancelled')
  t.equal(step(module, asked.snapshot, M.failed).snapshot.value, 'failed', 'its own failure is not retried')
  t.equal(step(module, asked.snapshot, M.cancel).repeat, 'already_cancelling')
  const discard = at(9, { type: 'cancel', discard_work: true })
  const harder = step(module, run(M.create, offer, M.started, M.cancel), discard)
  t.equal(harder.snapshot.context.cancel.discard_work, true, 'discarding the work may be asked for as well')
  t.equal(harder.snapshot.context.cancel.reason, 'not needed', 'with the reason given first')
  t.equal(step(module, harder.snapshot, discard).repeat, 'already_cancelling')
  t.end()
})

t.test('the item of a run that is to discard its work hears so with its result and its end', (t) => {
  const created = at(0, { ...CREATE, work_item_id: `wi_${'f'.repeat(24)}` })
  const events = at(9, { ...M.events, events: [{ ...EVENT, event_type: 'task_run_completed' }] })
  const heard = (discard_work: boolean, message: Message<any>) => {
    const stopping = run(created, offer, M.started, at(8, { ...M.cancel, discard_work }))
    return step(module, stopping, message).sends.map((sent) => sent.message)
  }
  const stopped = { stopped_by: M.cancel.by, stop_reason: 'not needed' }
  t.match(heard(true, events), [{ type: 'run_event', discard_work: true }])
  t.match(heard(true, M['failed (cancelled)']), [{ type: 'run_ended', discard_work: true, ...stopped }])
  t.match(heard(true, M.completed), [{ type: 'run_ended', outcome: 'completed', discard_work: true, ...stopped }])
  for (const message of [events, M['failed (cancelled)'], M.completed]) {
    t.notOk('discard_work' in heard(false, message)[0]!, 'a stop that keeps the work does not')
  }
  t.notOk('stopped_by' in heard(false, M.completed)[0]!, 'and a run that completed was then not stopped')
  t.end()
})

t.test('work done before its runner heard of the stop is reported as started once, before its result', (t) => {
  const accepted = run(at(0, { ...CREATE, work_item_id: `wi_${'f'.repeat(24)}` }), offer, M.accepted)
  const stopping = step(module, accepted, M.cancel).snapshot
  const sent = ({ sends }: ReturnType<typeof step>) => sends.map(({ message }) => message.type)
  const landed = { ...EVENT, event_type: 'task_run_completed' }
  const first = step(module, stopping, at(9, { type: 'events', ...post(1), events: [landed] }))
  t.strictSame(sent(first), ['run_started', 'run_event'])
  t.strictSame([first.snapshot.value, first.snapshot.context.times.started_at], ['cancelling', at(9, M.events).at])
  t.strictSame(sent(step(module, first.snapshot, at(10, { ...M.events, events: [landed] }))), ['run_event'])
  t.strictSame(sent(step(module, first.snapshot, M.completed)), ['run_ended'])
  t.strictSame(sent(step(module, stopping, M.completed)), ['run_started', 'run_ended'])
  t.strictSame(
    sent(step(module, stopping, M['failed (cancelled)'])),
    ['run_ended'],
    'a run that never began is not reported as started',
  )
  const late = step(module, stopping, M.started)
  t.strictSame([late.refused, late.repeat], ['illegal_move', undefined], 'it is not begun once it is to stop')
  t.end()
})

t.test('a step depends only on snapshot and message, and changes neither', (t) => {
  const variant = { timeout_seconds: 60, expires_at: '2026-01-02T00:00:00Z' }
  for (const snapshot of [absent(module), ...Object.values(states(variant))]) {
    for (const message of Object.values(M)) {
      const before = JSON.stringify([snapshot.context, message])
      const once = step(module, snapshot, message)
      const twice = step(module, snapshot, message)
      t.equal(JSON.stringify([snapshot.context, message]), before)
      t.same({ ...once, snapshot: once.snapshot.context }, { ...twice, snapshot: twice.snapshot.context })
      if (snapshot.value === 'absent') continue
      const restored = step(module, reopened(module, snapshot), message)
      t.equal(restored.snapshot.value, once.snapshot.value)
      t.same(plain(restored.snapshot.context), plain(once.snapshot.context))
      t.same(plain(restored.facts), plain(once.facts))
    }
  }
  t.end()
})

t.test('terms and deadlines are plain JSON, and the document satisfies its schema', (t) => {
  const check = compile(runRequestDocument)
  const variant = {
    brief: { id: `brief_${'f'.repeat(24)}`, digest: `sha256:${'0'.repeat(64)}` },
    repo: { path: '/srv/acme', branch: 'main' },
    timeout_seconds: 60,
    not_before: '2025-12-31T00:00:00Z',
    retry: { max_attempts: 1, on: ['execution'], backoff_seconds: 0.5 },
    reporting: { trace_summary_required: true },
  }
  for (const [state, snapshot] of Object.entries({ ...states(), ...states(variant as object) })) {
    const document = JSON.parse(JSON.stringify(module.document(snapshot)))
    t.strictSame(check(document), [], state)
    t.notOk('internal' in document)
    t.equal(document.state, state)
    const seen = [module.terms(snapshot), module.deadlines(snapshot, { offerMs: 1, leaseMs: 2 })]
    t.strictSame(JSON.parse(JSON.stringify(seen)), seen)
    const holds = module.deadlines(snapshot, { offerMs: 1, leaseMs: 2 }).length > 0
    t.equal(holds, module.deadlineStates.includes(state), `deadlines of ${state}`)
  }
  t.end()
})

t.test('documentText gives the same document as module.document', (t) => {
  const lease_expires_at = '2026-01-01T00:01:00.000Z'
  const approved = states({
    throttle: 'full',
    approved_by: { id: 'tok_1', name: 'ann', origin: 'ann "a" @ home' },
    not_before: '2026-01-01T00:00:00Z',
    labels: ['gpu "1"'],
    repo: { path: '/r', branch: 'main' },
    retry: { max_attempts: 1, on: ['execution'], backoff_seconds: 0.5 },
    timeout_seconds: 60,
    trace_id: 'a "trace" \u2028',
  } as never)
  for (const [name, snapshot] of [...Object.entries(states()), ...Object.entries(approved)]) {
    const plain = JSON.parse(JSON.stringify(module.document(snapshot)))
    t.strictSame(JSON.parse(documentText(snapshot, undefined)), plain, name)
    t.strictSame(JSON.parse(documentText(snapshot, lease_expires_at)), { ...plain, lease_expires_at }, name)
  }
  t.end()
})

t.test('every stated fact is in the catalogue and satisfies its schema', (t) => {
  const variant = { timeout_seconds: 60, retry: { max_attempts: 9, on: ['execution'], backoff_seconds: 0 } }
  const seen = new Set<string>()
  for (const snapshot of [absent(module), ...Object.values(states()), ...Object.values(states(variant as object))]) {
    for (const message of Object.values(M)) {
      for (const fact of step(module, snapshot, message).facts) {
        if ('recorded' in fact) continue
        seen.add(fact.type)
        t.strictSame(validatePayload(fact.type, JSON.parse(JSON.stringify((fact as OwnFact).payload))), [], fact.type)
      }
    }
  }
  const approved = step(module, run(at(0, { ...CREATE, throttle: 'full' })), M.approve).facts
  for (const { type } of approved) seen.add(type)
  t.equal(seen.size, 13, 'all twelve, and the opening of its engine run')
  t.end()
})

t.test(
  'a request that waits for its provider counts no attempt, builds on what was kept, and gives up after a hundred',
  (t) => {
    const retry = { max_attempts: 1, on: ['execution'] as const, backoff_seconds: 0, wait_for_provider: true }
    let snapshot = run(at(0, { ...CREATE, retry }))
    let last: ReturnType<typeof step> | undefined
    let times = 0
    for (; snapshot.value === 'queued'; times++) {
      const held = { runner_id: RUNNER, attempt: snapshot.context.attempt }
      const now = (message: object) => at(times * 10_000, message as { type: string })
      const offered = step(module, snapshot, now({ type: 'offer', runner_id: RUNNER })).snapshot
      const result = times === 0 ? { retry_after: 7200, preservation_ref: 'intendant/x' } : {}
      last = step(module, offered, now({ ...M.failed, ...held, code: 'usage_limit', result, digest: `d-${times}` }))
      t.match(last.sends.at(-1), {
        to: { kind: 'runner', id: RUNNER },
        message: { type: 'limit', code: 'usage_limit' },
      })
      snapshot = last.snapshot
      if (times === 0) t.equal(last.scheduled[0]!.dueMs, now({ type: '' }).atMs + 7_200_000)
      if (snapshot.value !== 'queued') break
      t.match(snapshot.context.internal, { retries: 0, outage: { preservation_ref: 'intendant/x', count: times + 1 } })
      snapshot = step(module, snapshot, now({ type: 'not_before_reached' })).snapshot
    }
    t.equal(times, 99)
    t.match(last!.snapshot, { value: 'failed', context: { failure: { code: 'usage_limit' } } })
    t.end()
  },
)

t.test('a request whose runner has no agent is for another at once, but does not try a whole fleet at once', (t) => {
  const retry = { max_attempts: 1, on: ['execution'] as const, backoff_seconds: 0, wait_for_provider: true }
  let snapshot = run(at(0, { ...CREATE, retry }))
  for (let times = 0; times <= 10; times++) {
    const held = { runner_id: RUNNER, attempt: snapshot.context.attempt }
    const offered = step(module, snapshot, at(times, { type: 'offer', runner_id: RUNNER })).snapshot
    const failed = at(times, { ...M.failed, ...held, code: 'agent_missing', result: {}, digest: `d-${times}` })
    const { snapshot: queued, scheduled } = step(module, offered, failed)
    const pauses = scheduled.map(({ dueMs }) => dueMs - failed.atMs)
    t.strictSame(pauses, times < 10 ? [0] : [30 * 60_000], `after ${times + 1}`)
    snapshot = step(module, queued, at(times, { type: 'not_before_reached' })).snapshot
  }
  t.end()
})
