import t from 'tap'
import { projectIdOf } from '../../../machines/ids.ts'
import { PACING } from '../../../machines/pacing.ts'
import { exclusiveRepository } from '../../../machines/run-request/demand.ts'
import { asksUnderWayMax, retentionSweepMs } from '../../../runtime/limits.ts'
import { JournalFailure } from '../../../storage/journal.ts'
import { BY, itemId, World } from './world.ts'

/** Advances the clock, and lets retention sweep what has become old enough. */
async function sweep({ platform }: World, ms: number): Promise<void> {
  platform.advance(ms)
  // The sweep that began on the way ends first; the next one sees the new time.
  for (let sweeps = 0; sweeps < 2; sweeps++) {
    platform.advance(retentionSweepMs)
    for (let turn = 0; turn < 60; turn++) {
      platform.run()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

t.test(
  'interactive items start first, then the oldest, and an item started earlier in a tick blocks later ones',
  (t) => {
    const world = new World({ maxRunning: 0 })
    for (const key of ['a', 'b', 'c']) world.project(key)
    const upkeep = world.submit('a', { lane: 'maintenance' })
    const first = world.submit('b')
    const second = world.submit('b')
    const third = world.submit('c')
    const next = new World({ maxRunning: 2 }, world)
    t.ok(next.isHandedOut(first))
    t.notOk(next.isHandedOut(second), 'its repository was taken by an item started earlier in the same tick')
    t.ok(next.isHandedOut(third))
    t.notOk(next.isHandedOut(upkeep), 'the cap is reached')
    t.end()
  },
)

t.test('a hand-out makes one approved run request on the item’s trace, with the entry event of its kind', (t) => {
  const world = new World()
  world.project('shop', 'git@x:shop')
  const id = world.submit('shop', { base_ref: 'main', context: { a: 1 }, labels: ['linux'], timeout_seconds: 60 })
  const { context } = world.run(id)
  t.match(context, {
    project: 'shop',
    throttle: 'full',
    trace_id: world.item(id).context.trace_id,
    asked: {
      entry_event: 'execution_requested',
      access: 'full',
      lane: 'interactive',
      labels: ['linux'],
      timeout_seconds: 60,
      work_item_id: id,
      payload: { item_id: id, base_ref: 'main', context: { a: 1 } },
    },
    internal: { approved: true },
  })
  t.equal(exclusiveRepository(context), 'git@x:shop')
  const held = world.ask('work_item', id, { type: 'hold' })
  t.ok(held.ok)
  t.equal(world.runtime.read({ kind: 'run_request', id: context.id })!.value, 'cancelled')
  world.ask('work_item', id, { type: 'release', reason: 'as told' })
  t.not(world.item(id).context.run!.id, context.id, 'the next hand-out is another request')
  t.end()
})

t.test('each kind and role is handed out with its entry event, access and payload', (t) => {
  const world = new World()
  const cases = [
    ['task', {}, 'execution_requested', 'full'],
    ['major_upgrade', {}, 'execution_requested', 'full'],
    ['maintenance', { context: { a: 1 }, base_ref: 'older' }, 'maintenance_requested', 'full'],
    ['release', { payload: { bump: 'minor', objective: 'own' } }, 'release_requested', 'full'],
    ['remediation', { payload: { cve: 'CVE-1' }, context: { a: 1 }, base_ref: 'older' }, 'main_branch_audited', 'full'],
    [
      'campaign_cycle',
      { source: { kind: 'campaign', ref: 'spring', role: 'cycle', cycle: 3 } },
      'execution_requested',
      'full',
    ],
    [
      'campaign_cycle',
      { source: { kind: 'campaign', ref: 'spring', role: 'advance' }, payload: { campaign: 'spring', prompt: 'p' } },
      'campaign_advance_requested',
      'read_only',
    ],
    [
      'campaign_cycle',
      { source: { kind: 'initiative', ref: 'faster', role: 'assessment' }, payload: { initiative: 'faster' } },
      'initiative_advance_requested',
      'read_only',
    ],
  ] as const
  cases.forEach(([kind, more, entryEvent, access], n) => {
    world.project(`p${n}`)
    const id = world.submit(`p${n}`, { kind, ...more } as never)
    const { asked } = world.run(id).context
    t.match(asked, { entry_event: entryEvent, access }, `${kind} ${entryEvent}`)
    if (kind === 'release') t.same(asked.payload, { bump: 'minor', objective: 'own', item_id: id })
    const { objective } = world.item(id).context.asked
    const maintained = { item_id: id, project: `p${n}`, objective, base_ref: 'older', context: { a: 1 } }
    if (kind === 'maintenance') t.same(asked.payload, maintained)
    const remedied = { cve: 'CVE-1', item_id: id, objective, base_ref: 'older', context: { a: 1 } }
    if (kind === 'remediation') t.same(asked.payload, remedied)
    if (entryEvent === 'execution_requested' && kind === 'campaign_cycle')
      t.match(asked.payload, { campaign: 'spring', campaign_cycle: 3, item_id: id })
    if (access === 'read_only') t.same(asked.payload, (more as { payload: object }).payload)
    const again = { max_attempts: 3, on: ['execution', 'dispatch'], backoff_seconds: 30 }
    t.same(asked.retry, access === 'read_only' ? again : undefined, 'only what changes nothing is tried again')
  })
  t.end()
})

t.test('a run names the further projects that its item is told of', (t) => {
  const world = new World()
  world.project('shop')
  const source = { kind: 'initiative', ref: 'faster', role: 'assessment' } as const
  const told = world.submit('shop', { kind: 'campaign_cycle', source, payload: {}, told_of: ['docs', 'api'] })
  t.same(world.run(told).context.made.told_of, ['docs', 'api'])
  t.equal(world.run(world.submit('shop')).context.made.told_of, undefined)
  t.end()
})

t.test('read-only work neither holds a repository nor waits for one', (t) => {
  const world = new World()
  world.project('shop')
  const task = world.submit('shop')
  const source = { kind: 'campaign', ref: 'spring', role: 'advance' } as const
  const advance = world.submit('shop', { kind: 'campaign_cycle', lane: 'campaign', source, payload: {} })
  const second = world.submit('shop')
  t.ok(world.isHandedOut(task))
  t.ok(world.isHandedOut(advance))
  t.notOk(world.isHandedOut(second))
  t.match(world.scheduler.waitingBecause(second)?.detail, new RegExp(task))
  t.end()
})

t.test('an owner has one advance at a time, even while an earlier one is still being stopped', (t) => {
  const world = new World()
  world.project('shop')
  const look = (ref: string) =>
    world.submit('shop', {
      kind: 'campaign_cycle',
      lane: 'campaign',
      source: { kind: 'campaign', ref, role: 'advance' },
      payload: {},
    })
  const first = look('pay')
  const runId = world.run(first).context.id
  world.start(first)
  const second = look('pay')
  t.match(world.scheduler.waitingBecause(second), {
    code: 'stopping',
    detail: new RegExp(`^${runId}, which forms or assesses for`),
  })
  t.ok(world.isHandedOut(look('mail')), 'another owner’s advance is not held up')
  world.ask('work_item', first, { type: 'settle', state: 'landed', reason: 'stood down' })
  t.equal(world.runtime.read({ kind: 'run_request', id: runId })!.value, 'cancelling')
  t.notOk(world.isHandedOut(second))
  const next = world.restarted()
  t.notOk(next.isHandedOut(second), 'nor after a restart')
  next.ask('run_request', runId, { type: 'completed', runner_id: 'r1', result: {}, digest: 'd' })
  t.equal(next.item(first).value, 'landed')
  t.ok(next.isHandedOut(second))
  t.end()
})

t.test('of two waiting assessments of one owner, a tick starts one', (t) => {
  const world = new World({ maxRunning: 0 })
  world.project('shop')
  const source = { kind: 'initiative', ref: 'faster', role: 'assessment' } as const
  const looks = [1, 2].map(() =>
    world.submit('shop', { kind: 'campaign_cycle', lane: 'campaign', source, payload: {} }),
  )
  const next = new World({ maxRunning: 5 }, world)
  t.same(
    looks.map((id) => next.isHandedOut(id)),
    [true, false],
  )
  t.end()
})

t.test('an item starts at its not_before, by the clock alone', (t) => {
  const world = new World()
  world.project('shop')
  const at = new Date(world.platform.wallMs() + 60_000).toISOString()
  const id = world.submit('shop', { not_before: at })
  world.platform.advance(59_900)
  t.equal(world.scheduler.waitingBecause(id)?.code, 'not_before')
  world.platform.advance(200)
  t.ok(world.isHandedOut(id))
  t.end()
})

t.test('as many items of a project start at once as its repository takes, and all that hold it count', (t) => {
  const world = new World({ maxRunning: 10 })
  world.project('shop', 'git@x:shop', 3)
  const first = world.submit('shop')
  const second = world.submit('shop')
  // One of the two runs, and one that no item asked for.
  const [run] = [world.item(first).context.run!.id]
  const projectId = projectIdOf('shop')
  world.holders.set(
    'git@x:shop',
    [run, 'runreq_1'].map((id) => ({ id, projectId })),
  )
  const third = world.submit('shop')
  t.ok(world.isHandedOut(first) && world.isHandedOut(second))
  t.match(world.scheduler.waitingBecause(third), {
    code: 'repository_busy',
    detail: `repository git@x:shop is held by ${first}, ${second} and runreq_1`,
  })
  world.end(first)
  world.holders.set('git@x:shop', [{ id: 'runreq_1', projectId }])
  world.platform.advance(15_500)
  t.ok(world.isHandedOut(third), 'one has left')
  const fourth = world.submit('shop')
  t.notOk(world.isHandedOut(fourth))
  world.ask('project', projectId, { type: 'update', max_writers: 4 })
  t.ok(world.isHandedOut(fourth), 'the limit was raised')
  t.end()
})

t.test('items that are started in the same tick count each other', (t) => {
  const world = new World({ maxRunning: 10 })
  world.project('shop', undefined, 2)
  const gate = world.submit('shop', { lane: 'campaign' })
  world.pause('interactive')
  const waiting = [1, 2, 3].map(() => world.submit('shop'))
  t.ok(world.isHandedOut(gate))
  world.end(gate)
  world.resume('interactive')
  t.same(
    waiting.map((id) => world.isHandedOut(id)),
    [true, true, false],
  )
  t.end()
})

t.test('a project that wants its repository to itself starts beside no other, and no other beside it', (t) => {
  const world = new World({ maxRunning: 10 })
  world.project('many', 'git@x:one', 3)
  world.project('alone', 'git@x:one')
  const first = world.submit('many')
  const alone = world.submit('alone')
  const second = world.submit('many')
  t.ok(world.isHandedOut(first) && world.isHandedOut(second))
  t.equal(world.scheduler.waitingBecause(alone)?.code, 'repository_busy')
  world.end(first)
  t.notOk(world.isHandedOut(alone))
  world.end(second)
  t.ok(world.isHandedOut(alone))
  const third = world.submit('many')
  t.equal(world.scheduler.waitingBecause(third)?.detail, `repository git@x:one is held by ${alone}`)
  t.end()
})

t.test('a change that the scheduler was not told of is found within the safety interval', (t) => {
  const world = new World()
  world.project('shop')
  world.holders.set(projectIdOf('shop'), [{ id: 'runreq_1', projectId: projectIdOf('shop') }])
  const id = world.submit('shop')
  t.match(world.scheduler.waitingBecause(id), { code: 'repository_busy', detail: /runreq_1/ })
  world.holders.clear()
  world.platform.advance(14_000)
  t.notOk(world.isHandedOut(id), 'nothing told the scheduler')
  world.platform.advance(1_500)
  t.ok(world.isHandedOut(id))
  t.end()
})

t.test('a runner that came online without a step is noticed within the safety interval', (t) => {
  const world = new World()
  world.capacity = 0
  world.canTake = () => false
  world.project('shop')
  const id = world.submit('shop')
  t.equal(world.scheduler.waitingBecause(id)?.detail, 'no runner that is online may take it')
  world.capacity = 1
  world.canTake = () => true
  t.notOk(world.isHandedOut(id))
  world.platform.advance(15_500)
  t.ok(world.isHandedOut(id))
  t.end()
})

t.test('no item starts while writes are refused, and it starts when it is released after they resume', (t) => {
  const world = new World({ maxRunning: 0 })
  world.project('shop')
  const id = world.submit('shop')
  const next = new World({ maxRunning: 1 }, world)
  // It was opened on a service that writes: take the hand-out back, and refuse writes before the next one.
  next.ask('work_item', id, { type: 'hold' })
  next.journal.refuse('disk_reserve')
  t.match(next.ask('work_item', id, { type: 'release', reason: 'x' }), { ok: false, refusal: { code: 'disk_reserve' } })
  next.platform.advance(60_000)
  t.equal(next.item(id).value, 'held')
  next.journal.refuse(undefined)
  next.ask('work_item', id, { type: 'release', reason: 'x' })
  t.ok(next.isHandedOut(id))
  t.end()
})

t.test('two schedulers over the same items hand each item out once', (t) => {
  const world = new World({ maxRunning: 0 })
  const ids: string[] = []
  for (let n = 0; n < 20; n++) {
    world.project(`p${n}`)
    ids.push(world.submit(`p${n}`))
  }
  const next = new World({ maxRunning: 100 }, world)
  next.another()
  next.platform.advance(30_000)
  for (const id of ids) t.equal(next.item(id).context.internal.hand_outs, 1)
  t.end()
})

t.test('an item submitted without a reason is admitted, and given its reason to wait', (t) => {
  const world = new World()
  world.project('shop')
  world.pause('interactive')
  const id = world.submit('shop', { reason: undefined } as never)
  const { value, context } = world.item(id)
  t.equal(value, 'queued')
  t.equal(context.reason, 'lane interactive is paused')
  t.end()
})

t.test('of a mass of items, the scheduler asks a bounded number at a time, and all in the end', (t) => {
  const world = new World({ maxRunning: 1_000 })
  const count = 2 * asksUnderWayMax + 50
  const projects = Array.from({ length: count }, (_, n) => `p${n}`)
  for (const key of projects) world.project(key)
  world.pause('interactive')
  world.scheduler.close()
  const ids = projects.map((key) => world.submit(key, { reason: undefined } as never))
  /** Turns until all are as wanted; the most that were under way in one of them. */
  const most = (next: World, isDone: (id: string) => boolean): number => {
    let most = 0
    for (let turn = 0; !ids.every(isDone); turn++) {
      if (turn === 1_000) return Number.NaN
      if (next.platform.runOnce() === 0) next.platform.ring(1_000)
      most = Math.max(most, next.runtime.load.messagesInFlight)
    }
    return most
  }
  const next = new World({ maxRunning: 1_000 }, world)
  t.ok(
    ids.every((id) => next.item(id).value === 'queued'),
    'all are admitted',
  )
  next.runtime.ask(
    { kind: 'pacing', id: PACING.id },
    { type: 'resume', lanes: ['interactive'], by: BY } as never,
    () => {},
  )
  t.equal(
    most(next, (id) => next.isHandedOut(id)),
    asksUnderWayMax,
    'handed out',
  )
  next.runtime.ask(
    { kind: 'pacing', id: PACING.id },
    { type: 'pause', lanes: ['interactive'], by: BY } as never,
    () => {},
  )
  t.equal(
    most(next, (id) => !next.isHandedOut(id)),
    asksUnderWayMax,
    'taken back',
  )
  t.end()
})

t.test('a dependency that can never land blocks its item before every other rule, also at start', (t) => {
  const world = new World({ maxRunning: 0 })
  world.project('a')
  world.project('b')
  const first = world.submit('a')
  const second = world.submit('b', { depends_on: [first], not_before: '2100-01-01T00:00:00Z' })
  const third = world.submit('b', { depends_on: [itemId(999)] })
  t.equal(world.item(third).value, 'needs_decision', 'an unknown dependency, too')
  world.scheduler.close()
  world.ask('work_item', first, { type: 'cancel' })
  t.equal(world.item(second).value, 'queued', 'nobody has looked at it yet')
  t.equal(world.restarted().item(second).value, 'needs_decision')
  t.end()
})

t.test('every item that waits for a dependency is told of its end, whichever of them came first', (t) => {
  for (const isLanded of [true, false]) {
    const world = new World()
    for (const key of ['a', 'b', 'c', 'd']) world.project(key)
    const first = world.submit('a')
    const [one, gone, other] = ['b', 'c', 'd'].map((key) => world.submit(key, { depends_on: [first] }))
    world.ask('work_item', gone!, { type: 'cancel' })
    if (isLanded) world.land(first)
    else world.end(first)
    for (const id of [one!, other!])
      t.same([world.item(id).value, world.isHandedOut(id)], isLanded ? ['queued', true] : ['needs_decision', false])
    t.equal(world.item(gone!).value, 'cancelled')
  }
  t.end()
})

t.test('a landed item outlives retention and restarts until every item that depends on it has settled', async (t) => {
  const hourMs = 3_600_000
  const first = new World({ retentionMs: hourMs, idempotencyMs: 1, lateEventsMs: 1 })
  first.project('shop')
  first.pause('maintenance')
  const landed = first.submit('shop')
  const waiting = first.submit('shop', { lane: 'maintenance', depends_on: [landed] })
  first.land(landed)
  const other = first.submit('shop')
  first.land(other)
  await sweep(first, 2 * hourMs)
  t.equal(first.item(other), undefined, 'an item that nobody depends on is forgotten')
  t.equal(first.item(landed)?.value, 'landed')
  const world = first.restarted()
  await sweep(world, 2 * hourMs)
  const isWaiting = (how: string): void => {
    t.equal(world.item(waiting).value, 'queued', how)
    t.equal(world.scheduler.waitingBecause(waiting)?.code, 'lane_paused', how)
  }
  isWaiting('after a restart')
  world.ask('work_item', waiting, { type: 'hold' })
  await sweep(world, 2 * hourMs)
  world.ask('work_item', waiting, { type: 'release', reason: 'as told', unlandable: [] })
  isWaiting('held and released')
  world.resume('maintenance')
  t.ok(world.isHandedOut(waiting))
  world.land(waiting)
  await sweep(world, 2 * hourMs)
  t.same([world.item(landed), world.item(waiting)], [undefined, undefined])
})

t.test('a landed item is kept while items that will depend on it are being created', async (t) => {
  const world = new World({ retentionMs: 1, idempotencyMs: 1, lateEventsMs: 1 })
  world.project('shop')
  const [landed, other] = [world.submit('shop'), world.submit('shop')]
  for (const id of [landed, other]) world.land(id)
  const arrived = [world.scheduler.expect([landed]), world.scheduler.expect([landed, other])]
  arrived[1]!()
  await sweep(world, 1_000)
  t.same([world.item(landed)?.value, world.item(other)], ['landed', undefined])
  arrived[0]!()
  await sweep(world, 1_000)
  t.equal(world.item(landed), undefined)
})

t.test('an item that is held while it is being blocked is not blocked again until it is released', (t) => {
  const world = new World()
  world.project('shop')
  const dead = world.submit('shop')
  const waiting = world.submit('shop', { depends_on: [dead] })
  const told: string[] = []
  const { ask } = world.runtime
  world.runtime.ask = (ref, message, reply) => {
    if (ref.id === waiting) told.push(message.type)
    ask.call(world.runtime, ref, message, reply)
  }
  let isHeld = false
  world.runtime.onCommit((steps) => {
    // It reaches the mailbox before the scheduler's next tick.
    if (isHeld || !steps.some(({ ref, after }) => ref.id === dead && after.value === 'failed')) return
    isHeld = true
    world.runtime.ask({ kind: 'work_item', id: waiting }, { type: 'hold' }, ({ ok }) => t.ok(ok))
  })
  world.end(dead)
  world.platform.advance(60_000)
  t.equal(world.item(waiting).value, 'held')
  t.same(told, ['hold', 'block'], 'blocked once')
  world.ask('work_item', waiting, { type: 'release', reason: 'as told' })
  t.equal(world.item(waiting).value, 'needs_decision')
  t.end()
})

t.test('a restart keeps what was handed out, counts what runs, and keeps lanes paused', (t) => {
  const world = new World({ maxRunning: 2 })
  for (const key of ['a', 'b', 'c']) world.project(key)
  const running = world.submit('a')
  world.start(running)
  const handedOut = world.submit('b')
  const waiting = world.submit('c')
  world.pause('campaign')
  const next = world.restarted()
  t.same(next.pausedLanes, ['campaign'])
  t.equal(next.item(running).value, 'running')
  t.equal(next.item(handedOut).context.internal.hand_outs, 1)
  t.equal(next.scheduler.waitingBecause(waiting)?.code, 'running_cap')
  next.land(running)
  t.equal(next.item(running).value, 'landed')
  t.ok(next.isHandedOut(waiting))
  t.end()
})

t.test('an item whose project moves to another repository waits for that repository', (t) => {
  const world = new World()
  world.project('a', 'git@x:one')
  world.project('b', 'git@x:one')
  const first = world.submit('a')
  const second = world.submit('b')
  t.equal(world.scheduler.waitingBecause(second)?.code, 'repository_busy')
  world.ask('project', projectIdOf('b'), { type: 'update', repository: 'git@x:two' })
  t.ok(world.isHandedOut(second))
  t.ok(world.isHandedOut(first))
  t.end()
})

t.test(
  'without a configured cap the scheduler uses the runners’ slots, and does not count items that no runner may take',
  (t) => {
    const world = new World()
    world.capacity = 1
    world.project('a')
    world.project('b')
    const odd = world.submit('a', { labels: ['gpu'] })
    t.ok(world.isHandedOut(odd))
    world.canTake = ({ labels }) => labels.length === 0
    const plain = world.submit('b')
    world.platform.advance(1)
    t.equal(
      world.scheduler.waitingBecause(plain)?.code,
      'running_cap',
      'until it hears that no runner may take the other item',
    )
    world.runtime.ask(
      { kind: 'runner', id: 'r9' },
      { type: 'create', id: 'r9', allowed_projects: [], credential_hash: 'a'.repeat(64), fingerprint: 'f' } as never,
      () => {},
    )
    world.platform.run()
    t.ok(world.isHandedOut(plain))
    t.end()
  },
)

t.test('an item is not blocked when its dependency cannot be read from a failed journal', (t) => {
  const world = new World({ maxRunning: 1 })
  world.project('shop')
  const landed = world.submit('shop')
  world.land(landed)
  const read = world.runtime.read.bind(world.runtime)
  world.runtime.read = (ref) => {
    if (ref.id === landed) throw new JournalFailure('stored data cannot be read any more')
    return read(ref)
  }
  const waiting = world.submit('shop', { depends_on: [landed] })
  t.equal(read({ kind: 'work_item', id: waiting })!.value, 'queued', 'nothing is written about an unknown state')
  t.equal(world.restarted().item(waiting).context.run !== undefined, true, 'the next start hands it out')
  t.end()
})

t.test('settled items leave the scheduler’s counts, also after a restart', (t) => {
  const world = new World({ maxRunning: 1 })
  world.project('shop')
  for (let n = 0; n < 50; n++) world.end(world.submit('shop'))
  const view = world.scheduler.view()
  t.same([view.runningCount, view.waitingCount(() => true), [...view.running].length], [0, 0, 0])
  const again = world.restarted().scheduler.view()
  t.same([again.runningCount, again.waitingCount(() => true)], [0, 0])
  t.end()
})

t.test('what holds a repository is found once, however many items could join', (t) => {
  const world = new World()
  world.project('shop', 'repo', 3)
  let looks = 0
  const found = world.holders
  found.get = (repository) => {
    looks++
    return Map.prototype.get.call(found, repository)
  }
  world.start(world.submit('shop'))
  const later = new Date(world.platform.wallMs() + 60_000).toISOString()
  for (let n = 0; n < 40; n++) world.submit('shop', { not_before: later })
  looks = 0
  world.pause('campaign')
  t.ok(looks > 0 && looks < 10, `${looks} looks`)
  world.platform.advance(61_000)
  t.equal([...world.scheduler.view().running].length, 3)
  t.end()
})
