import t from 'tap'
import { workItemDocument } from '../../machines/documents/work-item.ts'
import { type Message, type OwnFact, SERVICE_BY, type SnapshotOf } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { workItemModule as module } from '../../machines/work-item.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'
import { CHILD, CREATE, DEPENDENCY, ITEM, MESSAGES as M, RUN, result, runEvent, states } from './work-item-samples.ts'

t.snapshotFile = snapshotFile('work-item')

function run(...messages: readonly Message<any>[]): SnapshotOf<any> {
  return after(module, messages)
}

const RUNNING = [M.create, M.hand_out, M.run_started]
const payloadOf = (facts: readonly unknown[], n = 0) => (facts[n] as OwnFact).payload as Record<string, any>

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...states() }, M), 'work item')
  t.end()
})

t.test('an item that resumes another tells it how it ended', (t) => {
  t.matchSnapshot(table(module, states({ resumes: `wi_${'f'.repeat(24)}` }), M), 'work item that resumes another')
  t.end()
})

t.test('a hand-out makes the run request in the same step, and the item stays queued until a runner begins', (t) => {
  const { snapshot, facts, sends } = step(module, run(M.create), M.hand_out)
  t.equal(snapshot.value, 'queued')
  t.equal(snapshot.context.reason, `handed out: ${RUN}`)
  t.strictSame(facts, [], 'nothing has started, so nothing is stated')
  t.strictSame(sends[0]!.to, { kind: 'run_request', id: RUN })
  t.match(sends[0]!.message, { type: 'create', approved: true, work_item_id: ITEM, trace_id: CREATE.trace_id })
  const started = step(module, snapshot, M.run_started)
  t.equal(started.snapshot.value, 'running')
  t.strictSame(
    started.facts.map(({ type }) => type),
    ['work_item_started'],
  )
  t.end()
})

t.test('only one of two schedulers hands an item out', (t) => {
  t.equal(step(module, run(M.create, M.hand_out), M.hand_out).refused, 'illegal_move')
  t.end()
})

t.test('an item that was taken back is handed out again only once its run has ended', (t) => {
  const ended = M['run_ended (cancelled)']
  const back = run(M.create, M.hand_out, M.hold, M.release)
  t.equal(step(module, back, M.hand_out).refused, 'illegal_move', 'the runner may still be at work')
  const other = step(module, back, { ...ended, run_request_id: 'runreq_x' } as Message<any>)
  t.equal(other.repeat, 'of_another_run')
  const queued = step(module, back, ended)
  t.equal(queued.snapshot.value, 'queued')
  t.strictSame([queued.facts, queued.sends], [[], []])
  t.equal(step(module, queued.snapshot, M.hand_out).refused, undefined)
  const held = step(module, run(M.create, M.hand_out, M.hold), ended).snapshot
  t.equal(held.value, 'held')
  t.equal(step(module, step(module, held, M.release).snapshot, M.hand_out).refused, undefined)
  const blocked = run(M.create, M.hand_out, M.hold, { ...M.release, unlandable: [] }, M.block)
  t.equal(blocked.value, 'needs_decision', 'it never started')
  const again = step(module, step(module, blocked, ended).snapshot, M.release).snapshot
  t.equal(step(module, again, M.hand_out).refused, undefined)
  t.end()
})

t.test(
  'an item taken back because no runner can begin it is queued, and handed out again once its run has ended',
  (t) => {
    const { snapshot, facts, sends } = step(module, run(M.create, M.hand_out), M.take_back)
    t.match(snapshot, { value: 'queued', context: { reason: 'lane campaign is paused', run: undefined } })
    t.strictSame(facts, [])
    t.match(sends, [{ to: { kind: 'run_request', id: RUN }, message: { type: 'cancel' } }])
    t.equal(step(module, snapshot, M.hand_out).refused, 'illegal_move')
    t.equal(step(module, step(module, snapshot, M['run_ended (cancelled)']).snapshot, M.hand_out).refused, undefined)
    t.equal(step(module, run(M.create), M.take_back).refused, 'illegal_move', 'it is not handed out')
    t.equal(step(module, run(...RUNNING), M.take_back).refused, 'illegal_move', 'it is running')
    t.end()
  },
)

t.test('an item being stopped whose run reports its work on trunk has landed', (t) => {
  const landed = M['run_event (complete)']
  for (const back of [
    [M.hold],
    [M.hold, M.release],
    [M.take_back],
    [M.hold, { ...M.release, unlandable: [] }, M.block],
  ]) {
    const { snapshot, facts } = step(module, run(M.create, M.hand_out, ...back), landed)
    t.equal(snapshot.value, 'landed')
    t.match(facts, [{ type: 'work_item_settled', payload: { state: 'landed' } }])
    t.equal(step(module, snapshot, landed).repeat, 'already_settled')
    t.equal(step(module, snapshot, M['run_ended (completed)']).snapshot.context.internal.taken_back, undefined)
    t.ok(
      step(module, run(M.create, M.hand_out, ...back), M['run_event (defect)']).repeat,
      'no other result of it is heard',
    )
  }
  for (const end of [M.cancel, M['settle (failed)']]) {
    const { snapshot, facts } = step(module, run(M.create, M.hand_out, end), landed)
    t.notSame(snapshot.value, 'landed', 'it is over')
    t.match(snapshot.context.disposition, { verdict: 'complete', landed_commit: 'abc1234' })
    t.strictSame(facts, [])
  }
  t.end()
})

t.test(
  'an item settled while its run was under way remembers that until the run has ended, and states nothing then',
  (t) => {
    const ends = ['completed', 'failed', 'cancelled'].map((outcome) => M[`run_ended (${outcome})` as keyof typeof M])
    for (const last of ['settle (landed)', 'settle (cancelled)', 'settle (failed)', 'cancel'] as const) {
      const before = run(M.create, M.hand_out, M[last])
      t.match(module.terms(before), [{}, {}, {}, {}, { index: 'taken_back' }], last)
      for (const end of ends) {
        const { snapshot, facts, sends } = step(module, before, end)
        t.equal(snapshot.value, before.value)
        t.strictSame([facts, sends, snapshot.context.internal.taken_back], [[], [], undefined], last)
        t.notMatch(module.terms(snapshot), [{}, {}, {}, {}, { index: 'taken_back' }])
        t.equal(step(module, snapshot, end).repeat, 'already_settled')
      }
    }
    t.end()
  },
)

t.test('each verdict settles a task as its table says', (t) => {
  const settled = (payload: object) => {
    const { value, context } = step(module, run(...RUNNING), runEvent(8, payload)).snapshot
    return [value, context.disposition]
  }
  const landed = { success: true, landed: true, preservation_ref: 'abc' }
  const ref = { preservation_ref: 'task/x' }
  t.strictSame(settled(result('complete', landed)), ['landed', { verdict: 'complete', landed_commit: 'abc' }])
  t.strictSame(settled(result('complete', { success: true })), ['landed', { verdict: 'complete' }])
  t.strictSame(settled(result('complete', { land_blocked: 'git_failed', ...ref })), [
    'preserved',
    { verdict: 'complete', ...ref },
  ])
  t.strictSame(settled(result('remainder', { gaps: ['x'], landed: true, preservation_ref: 'abc' })), [
    'landed',
    { verdict: 'remainder', landed_commit: 'abc' },
  ])
  t.strictSame(settled(result('remainder', { gaps: ['x'], ...ref })), ['preserved', { verdict: 'remainder', ...ref }])
  t.strictSame(settled(result('defect', { diagnosis: 'x', ...ref })), ['preserved', { verdict: 'defect', ...ref }])
  const unlike = { preservation_ref: 'task/x\n## Decisions' }
  t.strictSame(settled(result('defect', { diagnosis: 'x', ...unlike })), ['preserved', { verdict: 'defect' }])
  t.equal(settled(result('blocked_on_decision', { finding: 'x', options: [] }))[0], 'needs_decision')
  const asked = result('blocked_on_decision', { finding: 'which?', options: ['a', 'b'] })
  t.equal(step(module, run(...RUNNING), runEvent(8, asked)).snapshot.context.reason, 'decision needed: which? (a; b)')
  t.equal(settled(result('runner_error', { detail: 'x' }))[0], 'failed')
  const kept = settled(result('defect', { diagnosis: 'x', ...ref, worktree: '/w', worktree_removed: false }))
  t.match(kept[1], { worktree: '/w', worktree_removed: false })
  t.end()
})

t.test('each kind is settled by its own terminal event only', (t) => {
  const kinds = {
    task: 'task_run_completed',
    campaign_cycle: 'task_run_completed',
    major_upgrade: 'task_run_completed',
    maintenance: 'project_maintenance_completed',
    release: 'release_completed',
    remediation: 'remediation_completed',
  } as const
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    const running = run(at(0, { ...CREATE, kind }), M.hand_out, M.run_started)
    for (const type of new Set(Object.values(kinds))) {
      const payload =
        type === 'task_run_completed' ? result('complete', { success: true }) : { success: true, cve: 'x' }
      const { snapshot } = step(module, running, runEvent(8, payload, type))
      t.equal(snapshot.value, type === kinds[kind] ? 'landed' : 'running', `${kind} by ${type}`)
    }
    if (kinds[kind] === 'task_run_completed') continue
    const failed = step(module, running, runEvent(8, { success: false, cve: 'x' }, kinds[kind])).snapshot
    t.equal(failed.value, 'failed')
    t.equal(failed.context.disposition, undefined)
    const kept = { success: false, cve: 'x', preservation_ref: 'task/x' }
    t.strictSame(step(module, running, runEvent(8, kept, kinds[kind])).snapshot.context.disposition, {
      preservation_ref: 'task/x',
    })
  }
  t.end()
})

t.test('advances and assessments are not settled by their run but by their source', (t) => {
  for (const role of ['advance', 'assessment'] as const) {
    const source = { kind: 'campaign', ref: 'spring', role } as const
    const running = run(at(0, { ...CREATE, kind: 'campaign_cycle', source }), M.hand_out, M.run_started)
    t.equal(step(module, running, M['run_event (complete)']).repeat, 'settles_nothing')
    t.equal(step(module, running, M['settle (landed)']).snapshot.value, 'landed')
  }
  t.end()
})

t.test('maintenance that ends after its checkout sync was refused says why, unless a later attempt could sync', (t) => {
  const type = 'project_validation_completed'
  const refused = (n: number) => runEvent(n, { status: 'error', sync_failure: 'dirty_tree' }, type)
  const upkeep = run(at(0, { ...CREATE, kind: 'maintenance' }), M.hand_out, M.run_started)
  const told = step(module, upkeep, refused(8)).snapshot
  t.equal(told.value, 'running')
  const reasonAfter = (before: SnapshotOf<any>, end: Message<any>): string =>
    step(module, before, end).snapshot.context.reason
  const because = 'the checkout sync was refused (dirty_tree): '
  const ended = M['run_ended (completed)']
  t.equal(reasonAfter(told, ended), `${because}run ended without its project_maintenance_completed`)
  t.match(reasonAfter(told, M['run_ended (failed)']), `): ${because}`)
  const failed = runEvent(9, { success: false, summary: 'x' }, 'project_maintenance_completed')
  t.equal(reasonAfter(told, failed), 'maintenance failed: x', 'its own result says it')
  t.equal(step(module, upkeep, runEvent(8, { status: 'ok' }, type)).repeat, 'settles_nothing')
  t.equal(step(module, run(...RUNNING), refused(8)).repeat, 'settles_nothing', 'of no maintenance')
  const again = step(module, told, M.run_requeued).snapshot
  t.notMatch(again.context.run, { sync_failure: 'dirty_tree' })
  t.end()
})

t.test('a run that ends without a task result fails its item with that reason', (t) => {
  const { snapshot, facts } = step(module, run(...RUNNING), M['run_ended (completed)'])
  t.equal(snapshot.value, 'failed')
  t.equal(snapshot.context.reason, 'run ended without a task result')
  t.equal(facts[0]!.type, 'work_item_settled')
  t.end()
})

t.test('an item with a lost run stays running until a person has decided', (t) => {
  const lost = run(...RUNNING, M.run_lost)
  t.equal(lost.value, 'running')
  t.match(lost.context.reason, /its run is lost: its runner fell silent/)
  const again = step(module, lost, M.run_requeued).snapshot
  t.equal(again.context.reason, 'its run is waiting for a runner again (attempt 2): requeued by ann')
  t.equal(step(module, again, M['run_event (complete)']).repeat, 'of_another_run', 'the old attempt is over')
  const second = step(module, again, at(20, { ...M.run_started, attempt: 2, runner_id: 'runner-2' }))
  t.strictSame(second.facts, [], 'its start is stated once')
  t.equal(second.snapshot.context.reason, 'running on runner-2 again (attempt 2)')
  t.end()
})

t.test('a running item that a person stops is cancelled once its run has ended, unless its work landed first', (t) => {
  const stopping = step(module, run(...RUNNING), M.cancel)
  t.equal(stopping.snapshot.value, 'running')
  t.equal(stopping.snapshot.context.reason, 'stopping')
  t.match(stopping.sends, [{ to: { kind: 'run_request', id: RUN }, message: { type: 'cancel', by: BY } }])
  for (const end of ['run_ended (completed)', 'run_ended (failed)', 'run_ended (cancelled)'] as const) {
    const { snapshot, facts } = step(module, stopping.snapshot, M[end])
    t.equal(snapshot.value, 'cancelled', end)
    t.strictSame(
      facts.map(({ type }) => type),
      ['work_item_cancelled'],
    )
  }
  const done = step(module, stopping.snapshot, M['run_event (complete)'])
  t.equal(done.snapshot.value, 'landed')
  t.equal(done.facts[0]!.type, 'work_item_settled')
  const noted = step(module, stopping.snapshot, M['run_event (not landed)'])
  t.equal(noted.snapshot.value, 'running', 'a result that landed nothing does not end the stop')
  t.match(payloadOf(step(module, noted.snapshot, M['run_ended (cancelled)']).facts), {
    state: 'cancelled',
    disposition: { preservation_ref: 'task/tidy-up' },
  })
  const discarded = step(module, noted.snapshot, M['cancel (discard)'])
  t.same(
    step(module, discarded.snapshot, M['run_ended (cancelled)']).snapshot.context.disposition,
    { verdict: 'complete' },
    'nothing continues work that was to be discarded',
  )
  t.equal(step(module, stopping.snapshot, M.cancel).repeat, 'already_stopping')
  const more = step(module, stopping.snapshot, M['cancel (discard)'])
  t.match(more.sends, [{ message: { type: 'cancel', reason: 'it leaks', discard_work: true } }], 'a stronger stop')
  t.equal(step(module, more.snapshot, M['cancel (discard)']).repeat, 'already_stopping')
  t.equal(step(module, more.snapshot, M.cancel).repeat, 'already_stopping', 'a weaker stop changes nothing')
  t.end()
})

t.test('the result of a run that was stopped says where the work is, and the end of the run settles the item', (t) => {
  const stopped = result('runner_error', { failure_class: 'cancelled', preservation_ref: 'task/x' })
  const noted = step(module, run(...RUNNING), runEvent(8, stopped))
  t.equal(noted.snapshot.value, 'running')
  for (const [end, state, reason] of [
    ['run_ended (failed)', 'failed', 'run failed (execution): tests failed'],
    ['run_ended (cancelled)', 'cancelled', 'run cancelled'],
    ['run_ended (by a person)', 'cancelled', `run cancelled by ${BY.name}: enough`],
  ] as const) {
    const disposition = { verdict: 'runner_error', preservation_ref: 'task/x' }
    t.match(payloadOf(step(module, noted.snapshot, M[end]).facts), { state, reason, disposition }, end)
  }
  t.end()
})

t.test('a result that tells of an outage of the provider settles nothing, unless a campaign waits for it', (t) => {
  const outage = result('runner_error', { failure_code: 'usage_limit', preservation_ref: 'task/x' })
  const noted = step(module, run(...RUNNING), runEvent(8, outage))
  t.equal(noted.snapshot.value, 'running')
  t.match(noted.snapshot.context, { disposition: { preservation_ref: 'task/x' } })
  const ended = step(module, noted.snapshot, M['run_ended (failed)'])
  t.match(payloadOf(ended.facts), { state: 'failed', disposition: { preservation_ref: 'task/x' } })
  const broken = step(module, run(...RUNNING), runEvent(8, result('runner_error', { failure_code: 'git_failed' })))
  t.equal(broken.snapshot.value, 'failed')
  t.end()
})

t.test('nothing continues the work of a run that a person stopped itself, to discard its work', (t) => {
  const settled = (event: Message<any>, end: Message<any>, running = run(...RUNNING)) => {
    const noted = step(module, running, event).snapshot
    t.equal(noted.value, 'running', 'only the end of such a run settles the item')
    const { facts } = step(module, noted, { ...end, discard_work: true } as never)
    return { ...payloadOf(facts), type: facts[0]!.type } as Record<string, any>
  }
  const discards = { discard_work: true } as const
  const stopped = runEvent(8, result('runner_error', { failure_class: 'cancelled', preservation_ref: 'task/x' }))
  const defect = { ...M['run_event (defect)'], ...discards }
  const completed = { ...M['run_ended (completed)'], stopped_by: BY, stop_reason: 'it leaks' }
  for (const [event, end, state, type, reason] of [
    [stopped, M['run_ended (by a person)'], 'cancelled', 'work_item_cancelled', `run cancelled by ${BY.name}: enough`],
    [stopped, M['run_ended (failed)'], 'failed', 'work_item_settled', 'run failed (execution): tests failed'],
    [defect, M['run_ended (cancelled)'], 'cancelled', 'work_item_settled', 'run cancelled'],
    [defect, completed, 'cancelled', 'work_item_cancelled', `run cancelled by ${BY.name}: it leaks`],
  ] as const) {
    const item = settled(event, end)
    t.match(item, { state, type, reason })
    t.notOk('preservation_ref' in item.disposition, reason)
  }
  const landed = step(module, run(...RUNNING), { ...M['run_event (complete)'], ...discards } as never)
  t.equal(landed.snapshot.value, 'landed', 'what is on trunk has landed')
  const source = { kind: 'campaign', ref: 'spring', role: 'cycle' } as const
  const cycle = run(at(0, { ...CREATE, kind: 'campaign_cycle', source }), M.hand_out, M.run_started)
  const held = runEvent(8, result('runner_error', { detail: 'x', preservation_ref: 'task/x' }))
  t.notOk('preservation_ref' in settled(held, M['run_ended (by a person)'], cycle).disposition)
  const { sends } = step(module, step(module, cycle, held).snapshot, {
    ...M['run_ended (by a person)'],
    ...discards,
  } as never)
  t.notOk('terminal' in (sends[0]!.message as object), 'nor does its campaign hear of a result to build upon')
  t.end()
})

t.test('a cancelled item’s reason is the person’s, not that of its run', (t) => {
  const end = (...stops: object[]) => {
    const asked = stops.map((stop, n) => at(10 + n, { type: 'cancel', by: BY, ...stop }))
    const stopping = asked.reduce((snapshot, stop) => step(module, snapshot, stop as never).snapshot, run(...RUNNING))
    const ended = { ...M['run_ended (by a person)'], stop_reason: 'its work item was cancelled' }
    return payloadOf(step(module, stopping, ended as never).facts).reason
  }
  t.equal(end({}), `cancelled by ${BY.name}`)
  t.equal(end({ reason: 'it leaks' }), `cancelled by ${BY.name}: it leaks`)
  t.equal(
    end({ reason: 'it leaks' }, { discard_work: true }),
    `cancelled by ${BY.name}: it leaks`,
    'the reason of the first stop',
  )
  const first = step(module, run(...RUNNING), at(10, { type: 'cancel', by: BY, reason: 'it leaks' }) as never)
  const more = step(module, first.snapshot, at(11, { type: 'cancel', by: BY, discard_work: true }) as never)
  t.match(
    more.sends,
    [{ message: { type: 'cancel', reason: 'it leaks', discard_work: true } }],
    'its runner is told the reason',
  )
  t.end()
})

t.test('a stop by a person states work_item_cancelled, and every other end work_item_settled, never both', (t) => {
  for (const [label, snapshot] of Object.entries(states())) {
    for (const [name, message] of Object.entries(M)) {
      const types = step(module, snapshot, message).facts.map(({ type }) => type)
      const ends = types.filter((type) => type === 'work_item_cancelled' || type === 'work_item_settled')
      t.ok(ends.length <= 1, `${name} in ${label}`)
    }
  }
  t.end()
})

t.test('a hold takes a handed-out item back, and its run is no longer heard', (t) => {
  const { snapshot, sends } = step(module, run(M.create, M.hand_out), M.hold)
  t.equal(snapshot.value, 'held')
  t.match(sends, [{ to: { kind: 'run_request', id: RUN }, message: { type: 'cancel' } }])
  t.equal(step(module, snapshot, M.run_started).repeat, 'of_another_run')
  const released = step(module, snapshot, M.release).snapshot
  t.equal(released.value, 'queued')
  t.equal(step(module, released, M.run_started).repeat, 'of_another_run')
  t.end()
})

t.test('an item that its initiative has staged calls for a person, and no other held item does', (t) => {
  const owned = { ...M.create, source: { kind: 'initiative', ref: 'checkout', role: 'cycle' } } as Message<any>
  const held = (origin: string) => ({ ...M.hold, by: { ...SERVICE_BY, origin } }) as Message<any>
  const staged = run(owned, held('initiative checkout'))
  const calls = (snapshot: SnapshotOf<any>) => module.terms(snapshot).filter(({ index }) => index === 'attention')
  const { at } = staged.context.operator_actions.at(-1)
  t.strictSame(calls(staged), [{ index: 'attention', value: 'staged', order: at }])
  t.strictSame(calls(step(module, staged, M.release).snapshot), [])
  t.strictSame(calls(step(module, staged, M.hold).snapshot), [], 'a person holds it')
  t.strictSame(calls(run(owned, M.hold)), [])
  t.strictSame(calls(run(owned, held('initiative other'))), [])
  t.strictSame(calls(run(M.create, held('initiative checkout'))), [], 'a member that it holds')
  t.end()
})

t.test('an initiative releases what is held for it, and not what a person or another initiative holds', (t) => {
  const as = (message: object, origin: string) => ({ ...message, by: { ...SERVICE_BY, origin } }) as any
  const held = run(M.create, as(M.hold, 'initiative checkout'))
  t.equal(step(module, held, as(M.release, 'initiative checkout')).snapshot.value, 'queued')
  t.equal(step(module, held, as(M.release, 'initiative other')).repeat, 'held_by_another')
  t.equal(step(module, held, as(M.hold, 'initiative other')).repeat, 'already_held')
  t.equal(step(module, held, M.release).snapshot.value, 'queued')
  const { snapshot, facts } = step(module, held, M.hold)
  t.equal(facts[0]!.type, 'work_item_held')
  t.match(payloadOf(facts), { state: 'held', operator_action: { origin: M.hold.by!.origin, previous_state: 'held' } })
  t.equal(step(module, snapshot, as(M.release, 'initiative checkout')).repeat, 'held_by_another')
  t.equal(step(module, snapshot, as(M.hold, 'initiative checkout')).repeat, 'already_held')
  t.equal(step(module, snapshot, M.hold).repeat, 'already_held')
  t.equal(step(module, snapshot, M.release).snapshot.value, 'queued')
  t.end()
})

t.test('a dependency that can never land needs a decision, and a release drops it', (t) => {
  const blocked = step(module, run(M.create), M.block)
  t.equal(blocked.snapshot.value, 'needs_decision')
  t.notOk('disposition' in payloadOf(blocked.facts), 'no work exists')
  const { snapshot, facts } = step(module, blocked.snapshot, M.release)
  t.equal(snapshot.value, 'queued')
  t.equal(facts[0]!.type, 'work_item_released')
  t.notOk('depends_on' in payloadOf(facts))
  t.equal(snapshot.context.settled_at, undefined)
  t.match(payloadOf(facts).operator_action, {
    command: 'release',
    previous_state: 'needs_decision',
    previous_settled_at: M.block.at,
  })
  t.equal(step(module, snapshot, M.hand_out).snapshot.value, 'queued', 'and it can be handed out as before')
  t.end()
})

t.test('an item that has started cannot be released', (t) => {
  t.equal(step(module, run(...RUNNING, M['run_event (decision)']), M.release).refused, 'illegal_move')
  t.end()
})

t.test('preserved work is resumed as a child item, and has landed when that lands', (t) => {
  const preserved = run(...RUNNING, M['run_event (not landed)'])
  const { snapshot, sends, facts } = step(module, preserved, M.resume)
  t.equal(snapshot.value, 'preserved')
  t.strictSame(sends[0]!.to, { kind: 'work_item', id: CHILD })
  t.strictSame(facts, [])
  t.equal(step(module, snapshot, M.resume).repeat, 'replay')
  const other = { ...M.resume, child: { ...CREATE, id: DEPENDENCY } }
  t.equal(step(module, snapshot, other).refused, 'illegal_move', 'one at a time')
  const failed = step(module, snapshot, M['resumption_settled (failed)']).snapshot
  t.equal(failed.value, 'preserved')
  const again = step(module, failed, other).snapshot
  t.equal(again.value, 'preserved', 'then it may be resumed again')
  const landedAgain = step(module, again, { ...M['resumption_settled (landed)'], item_id: DEPENDENCY } as Message<any>)
  t.equal(landedAgain.snapshot.value, 'landed')
  t.match(landedAgain.snapshot.context.resumptions, [
    { item_id: CHILD, state: 'failed' },
    { item_id: DEPENDENCY, state: 'landed' },
  ])
  const landed = step(module, snapshot, M['resumption_settled (landed)'])
  t.equal(landed.snapshot.value, 'landed')
  t.match(payloadOf(landed.facts), {
    state: 'landed',
    disposition: { verdict: 'complete', landed_commit: 'def5678', preservation_ref: 'task/tidy-up' },
    operator_action: { command: 'resume', previous_state: 'preserved' },
  })
  const closed = step(module, snapshot, M.close).snapshot
  const late = step(module, closed, M['resumption_settled (landed)'])
  t.equal(late.snapshot.value, 'cancelled', 'the owner’s close is final')
  t.strictSame([late.facts, late.sends], [[], []])
  t.end()
})

t.test('an item that is over is kept until the one that resumes its work owes nothing either', (t) => {
  const endOf = (snapshot: SnapshotOf<any>) => module.retirement!.at(snapshot)
  const closed = run(...RUNNING, M['run_event (not landed)'], M.resume, M.close)
  t.equal(endOf(closed), undefined, 'the resumption goes on')
  const failed = step(module, closed, M['resumption_settled (failed)']).snapshot
  t.equal(endOf(failed), undefined, 'the resumption still owes something')
  const landed = step(module, failed, M['resumption_settled (landed)']).snapshot
  t.equal(endOf(landed), M.close.at)
  t.equal(endOf(run(...RUNNING, M['run_event (not landed)'], M.close)), M.close.at, 'one that was not resumed')
  t.end()
})

t.test('when preserved work lands by other means, the item resuming it is cancelled unless it has begun', (t) => {
  const commit = 'fed9876'
  const preserved = run(...RUNNING, M['run_event (not landed)'], M.resume)
  const { snapshot: landed, sends } = step(module, preserved, M.superseded)
  t.equal(landed.value, 'landed')
  t.strictSame(sends, [{ to: { kind: 'work_item', id: CHILD }, message: { type: 'superseded', commit } }])
  const child = (...messages: readonly Message<any>[]) =>
    run(at(0, { ...CREATE, resumes: ITEM, id: CHILD }), ...messages)
  for (const waits of [child(), child(M.hand_out), child(M.hold)]) {
    const end = step(module, waits, M.superseded)
    t.match(end.snapshot, { value: 'cancelled', context: { reason: /^not begun: .* on trunk as fed9876$/ } })
    t.strictSame(
      end.facts.map(({ type }) => type),
      ['work_item_settled'],
      'no person has stopped it',
    )
    const last = end.sends.at(-1)!
    t.match(last, { to: { id: ITEM }, message: { type: 'resumption_settled', state: 'cancelled' } })
  }
  t.equal(
    step(module, child(M.hand_out, M.run_started), M.superseded).repeat,
    'runs_on',
    'an item that has begun ends on its own',
  )
  const told = (state: string) => at(40, { type: 'resumption_settled', item_id: CHILD, state })
  const kept = step(module, landed, told('preserved')).snapshot
  t.match(kept, { value: 'landed', context: { reason: landed.context.reason } })
  t.strictSame(kept.context.resumptions, [{ item_id: CHILD, state: 'preserved' }])
  t.equal(step(module, kept, told('preserved')).repeat, 'already_settled')
  t.strictSame(step(module, kept, told('landed')).snapshot.context.resumptions, [{ item_id: CHILD, state: 'landed' }])
  t.end()
})

t.test('a failed item that kept work lands when work built upon it does', (t) => {
  const kept = result('runner_error', { detail: 'five hours', preservation_ref: 'task/half' })
  const { snapshot, facts } = step(module, run(...RUNNING, runEvent(8, kept)), M.superseded)
  t.match(snapshot, { value: 'landed', context: { reason: 'its work is on trunk as fed9876' } })
  const disposition = { verdict: 'runner_error', preservation_ref: 'task/half', landed_commit: 'fed9876' }
  t.match(payloadOf(facts), { state: 'landed', disposition })
  const nothing = run(...RUNNING, M['run_event (runner error)'])
  t.equal(step(module, nothing, M.superseded).repeat, 'already_settled', 'it kept nothing')
  t.end()
})

t.test('preserved work without a ref cannot be resumed', (t) => {
  const preserved = run(...RUNNING, runEvent(8, result('defect', { diagnosis: 'x' })))
  const { refused } = step(module, preserved, M.resume)
  t.equal(refused, 'illegal_move')
  t.match(module.refusal(preserved, M.resume as never), { detail: 'it has no ref under which its work is preserved' })
  t.end()
})

t.test('close and cancel keep origin, trace, objective and disposition, and record the action', (t) => {
  const preserved = run(...RUNNING, M['run_event (not landed)'])
  const { snapshot, facts } = step(module, step(module, preserved, M.resume).snapshot, M.close)
  t.equal(facts[0]!.type, 'work_item_cancelled')
  t.match(payloadOf(facts), {
    state: 'cancelled',
    reason: 'closed: done by hand',
    origin: CREATE.origin,
    objective: CREATE.objective,
    disposition: { preservation_ref: 'task/tidy-up' },
    operator_action: { command: 'close', previous_state: 'preserved', previous_reason: `resumed as ${CHILD}` },
  })
  t.strictSame(
    snapshot.context.operator_actions.map(({ command }: any) => command),
    ['resume', 'close'],
  )
  t.equal(module.envelope(snapshot.context).trace_id, CREATE.trace_id)
  const givenUp = step(module, preserved, { ...M.cancel, with_initiative: 'checkout' })
  t.match(payloadOf(givenUp.facts), { state: 'cancelled', disposition: { preservation_ref: 'task/tidy-up' } })
  t.end()
})

t.test('a reason is one line', (t) => {
  const { reason } = run(at(0, { ...CREATE, reason: ' a \n\n b\t' })).context
  t.equal(reason, 'a b')
  t.equal(run(at(0, { ...CREATE, reason: ' \n' })).context.reason, 'none recorded')
  t.equal(run(at(0, { ...CREATE, reason: 'x'.repeat(9_999) })).context.reason.length, 500)
  t.end()
})

t.test('terms are plain JSON, and the document satisfies its schema', (t) => {
  const check = compile(workItemDocument)
  const variant = {
    resumes: CHILD,
    base_ref: 'x',
    context: { a: 1 },
    labels: ['linux'],
    not_before: '2026-01-01T00:00:00Z',
  }
  for (const [label, snapshot] of Object.entries({ ...states(), ...states(variant) })) {
    const document = JSON.parse(JSON.stringify(module.document(snapshot)))
    t.strictSame(check(document), [], label)
    t.equal(document.state, snapshot.value)
    t.notOk('internal' in document)
    t.strictSame(JSON.parse(JSON.stringify(module.terms(snapshot))), module.terms(snapshot))
  }
  t.end()
})

t.test('a step depends only on snapshot and message, and changes neither', (t) => {
  for (const snapshot of [absent(module), ...Object.values(states())]) {
    for (const message of Object.values(M)) {
      const before = JSON.stringify([snapshot.context, message])
      const once = step(module, snapshot, message)
      t.equal(JSON.stringify([snapshot.context, message]), before)
      if (snapshot.value === 'absent') continue
      const restored = step(module, reopened(module, snapshot), message)
      t.equal(restored.snapshot.value, once.snapshot.value)
      t.same(JSON.parse(JSON.stringify(restored.facts)), JSON.parse(JSON.stringify(once.facts)))
    }
  }
  t.end()
})

t.test('a reason is cut only between whole characters', (t) => {
  for (const before of ['', 'x']) {
    const words = before + '\u{1f6e0}'.repeat(400)
    const queued = step(module, run(M.create), at(9, { type: 'cancel', by: BY, reason: words }))
    t.ok(queued.snapshot.context.reason.isWellFormed())
    const settled = step(module, run(...RUNNING), runEvent(9, result('remainder', { gaps: [words] })))
    t.ok(String(payloadOf(settled.facts).reason).isWellFormed())
  }
  t.end()
})
