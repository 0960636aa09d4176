import t from 'tap'
import { isBuiltUpon } from '../../../machines/campaign/chain.ts'
import type { CampaignContext } from '../../../machines/campaign/context.ts'
import { campaignModule as module } from '../../../machines/campaign.ts'
import type { Message, OwnFact, SnapshotOf } from '../../../machines/machine.ts'
import { advanced, answers, begins, ends, LANDED, owner, says, settled, taskResult, walk } from '../campaign-samples.ts'
import { at, step } from '../step.ts'

type Snapshot = SnapshotOf<CampaignContext>
type Move = (snapshot: Snapshot) => Message<any>
type Sends = { readonly sends: readonly { readonly message: any }[] }

const toCycle = [says('advance'), answers(advanced)] as const
const step_ = (objective: string) =>
  answers({ result: { decision: { decision: 'advance', reason: 'a gap', objective } } })
const next = step_('Mend it')
const third = step_('Try again')
const keeps = (preservation_ref: string) => ends(taskResult('defect', { preservation_ref }), { state: 'preserved' })
const lands = ends(LANDED)
const more = [says('resume', { add_cycles: 5 }), third] as const

function went(snapshot: Snapshot, ...moves: readonly Move[]) {
  let stepped = { snapshot } as ReturnType<typeof step>
  for (const move of moves) {
    stepped = step(module, stepped.snapshot, move(stepped.snapshot))
    const { repeat, refused } = stepped
    if (repeat !== undefined || refused !== undefined) throw new Error(repeat ?? refused)
  }
  return stepped
}

/** A person closes the preserved item of the nth cycle. */
const closes =
  (cycle: number, said: object = {}): Move =>
  ({ context }) => {
    const { item_id } = context.history[cycle - 1]!.outcome
    const reason = 'closed: wrong approach'
    const news = { item_id, role: 'cycle', state: 'cancelled', reason, started: true, given_up: true }
    return at(60, { type: 'item_settled', ...owner, ...news, ...said })
  }
/** The cycle under way ends before a runner began it. */
const calledOff: Move = (snapshot) => settled(snapshot, 70, { state: 'cancelled', started: false })

/** The base_ref of the cycle that the last of the moves opened. */
const baseOf = ({ sends }: Sends) =>
  sends.map(({ message }) => message).find(({ source }) => source?.role === 'cycle')!.base_ref
const sent = ({ sends }: Sends, type: string) => sends.filter(({ message }) => message.type === type)

/** The cycles whose items are told, in the course of the moves, that their work is on trunk, and with which commit. */
function landedWith(snapshot: Snapshot, ...moves: readonly Move[]): readonly string[] {
  const all: string[] = []
  let now = snapshot
  const { history } = snapshot.context
  const cycleOf = (id: string) => history.find(({ outcome }) => outcome.item_id === id)!.cycle
  for (const move of moves) {
    const stepped = went(now, move)
    for (const { to, message } of sent(stepped, 'superseded') as any) all.push(`${cycleOf(to.id)} ${message.commit}`)
    now = stepped.snapshot
  }
  return all.sort()
}

t.test('work that a person closes is not built upon, whatever state its campaign is in', (t) => {
  const forming = walk(...toCycle, keeps('task/1'))
  t.equal(baseOf(went(forming, next)), 'task/1')
  t.equal(baseOf(went(forming, closes(1), next)), undefined)
  t.equal(baseOf(went(forming, says('pause'), closes(1), says('resume'), next)), undefined)
  const escalate = answers({ result: { decision: 'escalate', reason: 'the price' } })
  t.equal(baseOf(went(forming, escalate, closes(1), says('decide', { decision: 'net' }), next)), undefined)
  const kept = walk(...toCycle, says('pause'), keeps('task/1'))
  t.equal(baseOf(went(kept, says('resume'), next)), 'task/1')
  t.equal(baseOf(went(kept, closes(1), says('resume'), next)), undefined, 'also before the result was judged')
  const other = went(forming, closes(1), next, lands)
  t.strictSame(sent(other, 'superseded'), [], 'and what lands later has not landed it')
  t.end()
})

t.test('when kept work is closed, the next cycle starts from the kept work before it', (t) => {
  const both = walk(...toCycle, keeps('task/1'), next, keeps('task/2'), says('pause'))
  t.equal(baseOf(went(both, ...more)), 'task/2')
  t.equal(baseOf(went(both, closes(2), ...more)), 'task/1')
  t.equal(baseOf(went(both, closes(1), ...more)), undefined, 'not from the work that was built upon it')
  t.equal(baseOf(went(both, closes(2), closes(1), ...more)), undefined)
  t.end()
})

t.test('work that the campaign itself discharges is still built upon', (t) => {
  const asked = taskResult('blocked_on_decision', { preservation_ref: 'task/1' })
  const escalated = walk(...toCycle, ends(asked, { state: 'needs_decision' }))
  const byItself = closes(1, { given_up: undefined })
  t.equal(baseOf(went(escalated, says('decide', { decision: 'net' }), byItself, next)), 'task/1')
  t.end()
})

t.test('the next formation’s prompt says what was given up, and why', (t) => {
  const { snapshot } = went(walk(...toCycle, keeps('task/1'), says('pause')), closes(1), says('resume'))
  const { prompt } = snapshot.context.work
  t.match(prompt, /Its owner gave up that work, and nothing is built upon it: closed: wrong approach/)
  t.match(prompt, /cycle 1 \(defect, not landed, given up by its owner: closed: wrong approach\): Add invoices/)
  t.notMatch(prompt, /Work that is preserved/)
  t.match(module.document(snapshot), { objective_history: [{ outcome: { given_up: /wrong approach/ } }] })
  t.notOk('base_ref' in module.document(snapshot))
  t.end()
})

t.test('a waiting cycle whose base is closed is called off, formed again and not charged', (t) => {
  const waiting = walk(...toCycle, keeps('task/1'), next)
  const { item_id } = waiting.context.work!
  const closed = went(waiting, closes(1))
  t.match(sent(closed, 'cancel_waiting'), [{ to: { id: item_id }, message: { reason: /was given up$/ } }])
  t.match(closed.snapshot.context.reason, /formed again, unless it has begun \(intendant queue cancel wi_/)
  const anew = went(closed.snapshot, calledOff)
  t.match(anew.snapshot, { value: 'active', context: { cycles_completed: 1, work: { role: 'advance' } } })
  t.equal(baseOf(went(anew.snapshot, next)), undefined)
  const paused = went(waiting, says('pause'), closes(1), calledOff)
  t.match(paused.snapshot, { value: 'paused', context: { cycles_completed: 1, work: undefined } })
  t.match(paused.snapshot.context.reason, /^paused by/)
  t.equal(
    went(waiting, calledOff).snapshot.value,
    'escalated',
    'a waiting cycle that a person stops escalates as usual',
  )
  t.end()
})

t.test('work kept by a cycle that started from closed work is not built upon', (t) => {
  const running = walk(...toCycle, keeps('task/1'), next)
  t.equal(baseOf(went(running, closes(1), keeps('task/2'), says('pause'), ...more)), undefined)
  t.equal(baseOf(went(running, closes(1), says('pause'), keeps('task/2'), ...more)), undefined)
  t.equal(baseOf(went(running, says('pause'), keeps('task/2'), closes(1), ...more)), undefined)
  const after = went(running, closes(1), keeps('task/2'), says('pause'), ...more, keeps('task/3'))
  t.match(module.document(after.snapshot), { base_ref: 'task/3' }, 'work kept after that is')
  t.end()
})

t.test('work kept during a pause and landed by other means is not built upon', (t) => {
  const kept = walk(...toCycle, says('pause'), keeps('task/1'))
  const landed = closes(1, { state: 'landed', given_up: undefined, reason: 'as told' })
  t.equal(baseOf(went(kept, landed, says('resume'), next)), undefined)
  t.end()
})

t.test('an owner can have the next task start from trunk', (t) => {
  const escalated = walk(...toCycle, keeps('task/1'), answers({ result: { decision: 'escalate', reason: 'a price' } }))
  for (const move of [says('resume', { from_trunk: true }), says('decide', { decision: 'net', from_trunk: true })]) {
    const gone = went(escalated, move)
    t.match(gone.facts[0], { payload: { from_trunk: true } })
    t.equal(baseOf(went(gone.snapshot, next)), undefined)
    t.equal(isBuiltUpon(gone.snapshot, escalated.context.history[0]!.outcome.item_id), false)
  }
  const waiting = walk(...toCycle, keeps('task/1'), next, says('pause'))
  const anew = went(waiting, says('resume', { add_cycles: 1, from_trunk: true }))
  t.equal(sent(anew, 'cancel_waiting').length, 1, 'also one that waits to start from kept work')
  t.equal(baseOf(went(anew.snapshot, calledOff, next)), undefined)
  t.end()
})

t.test('work counts as built upon until it has landed, was given up, or the campaign is over', (t) => {
  const forming = walk(...toCycle, keeps('task/1'))
  const { item_id } = forming.context.history[0]!.outcome
  const is = (...moves: readonly Move[]) => isBuiltUpon(went(forming, ...moves).snapshot, item_id)
  t.equal(is(), true)
  t.equal(is(says('pause')), true)
  t.equal(is(next), true)
  t.equal(is(closes(1)), false)
  t.equal(is(next, lands), false)
  t.equal(is(says('cancel', { reason: 'x' })), false)
  t.equal(is(next, says('cancel', { reason: 'x' })), true, 'its last cycle may still land it')
  t.equal(isBuiltUpon(walk(...toCycle, says('pause'), keeps('task/1')), item_id), true)
  t.end()
})

t.test('a cycle lands the preserved work that it was built upon, whatever state its campaign is in by then', (t) => {
  const second = walk(...toCycle, keeps('task/1'), next)
  const ways: Record<string, readonly Move[]> = {
    'it goes on': [lands],
    'it is paused': [says('pause'), lands],
    'paused, then complete': [says('pause'), lands, says('complete', { reason: 'enough' })],
    'paused, then cancelled': [says('pause'), lands, says('cancel', { reason: 'enough' })],
    'paused, then cancelled now': [says('pause'), lands, says('cancel', { reason: 'enough', now: true })],
    'paused, then resumed': [says('pause'), lands, says('resume', { add_cycles: 3 })],
    'complete, and its cycle goes on': [says('complete', { reason: 'enough' }), lands],
    'cancelled, and its cycle goes on': [says('cancel', { reason: 'enough' }), lands],
    'being stopped': [says('cancel', { reason: 'enough', now: true }), lands],
    'to start from trunk next': [begins, says('pause'), says('resume', { add_cycles: 1, from_trunk: true }), lands],
  }
  for (const [way, moves] of Object.entries(ways)) t.strictSame(landedWith(second, ...moves), ['1 abc1234'], way)
  const over = went(second, says('pause'), lands, says('complete', { reason: 'enough' })).snapshot
  t.notOk('base_ref' in module.document(over))
  t.equal(over.context.cycles_landed, 0, 'a campaign that is over counts nothing')
  const unnamed = ends(taskResult('complete', { landed: true }))
  t.strictSame(landedWith(second, unnamed), ['1 undefined'], 'also when its runner names no commit')
  t.end()
})

t.test('a cycle lands exactly the work that it was begun upon, except what was given up meanwhile', (t) => {
  const third_ = walk(...toCycle, keeps('task/1'), next, keeps('task/2'), says('pause'), ...more)
  t.strictSame(landedWith(third_, lands), ['1 abc1234', '2 abc1234'])
  t.strictSame(
    landedWith(third_, begins, closes(1), lands),
    ['2 abc1234'],
    'not the closed work, but what stood upon it',
  )
  t.strictSame(landedWith(third_, begins, closes(2), lands), ['1 abc1234'])
  const anew = [says('pause'), says('resume', { from_trunk: true }), keeps('task/3')]
  const fourth = went(third_, begins, ...anew, step_('From trunk')).snapshot
  t.strictSame(landedWith(fourth, lands), [], 'a cycle from trunk lands only itself')
  t.end()
})

t.test('kept work landed by other means also lands the work that it was built upon', (t) => {
  const commit = 'fff9999'
  const byHand = { state: 'landed', given_up: undefined, reason: 'as told', disposition: { landed_commit: commit } }
  const both = walk(...toCycle, keeps('task/1'), next, keeps('task/2'))
  t.strictSame(landedWith(both, closes(2, byHand)), [`1 ${commit}`])
  t.strictSame(landedWith(both, says('complete', { reason: 'enough' }), closes(2, byHand)), [`1 ${commit}`])
  t.strictSame(
    landedWith(both, says('pause'), says('resume', { add_cycles: 2, from_trunk: true }), closes(2, byHand)),
    [`1 ${commit}`],
  )
  t.strictSame(landedWith(both, closes(1, byHand)), [], 'not what was built upon it')
  const gone = went(both, says('pause'), closes(1, byHand), says('resume', { add_cycles: 2 }), third)
  t.equal(baseOf(gone), 'task/2', 'which is still built upon')
  t.strictSame(landedWith(gone.snapshot, lands), ['2 abc1234'])
  const kept = walk(...toCycle, keeps('task/1'), next, says('pause'), keeps('task/2'))
  t.strictSame(landedWith(kept, closes(2, byHand)), [`1 ${commit}`], 'also before the result was judged')
  const unnamed = went(both, closes(2, { ...byHand, disposition: undefined }), says('pause'), ...more)
  t.equal(baseOf(unnamed), undefined, 'without a commit it counts as trunk, and the work below it is left to its owner')
  t.end()
})

t.test('resuming from trunk does not call off a waiting cycle that starts from trunk anyway', (t) => {
  const waiting = walk(...toCycle, says('pause'))
  const resumed = went(waiting, says('resume', { from_trunk: true }))
  t.strictSame(sent(resumed, 'cancel_waiting'), [])
  t.equal(baseOf(went(resumed.snapshot, keeps('task/1'), next)), 'task/1')
  const begun = went(walk(...toCycle, begins, says('pause')), says('resume', { from_trunk: true }))
  t.equal(baseOf(went(begun.snapshot, keeps('task/1'), next)), undefined, 'the next one does')
  t.end()
})

t.test('what a stopped cycle kept is built upon, unless it was to be discarded', (t) => {
  const stops =
    (disposition: object): Move =>
    (snapshot) =>
      settled(snapshot, 30, { state: 'failed', reason: 'run failed (execution, runner_stopped)', disposition })
  const kept = stops({ verdict: 'runner_error', preservation_ref: 'task/1' })
  const stopped = went(walk(...toCycle, begins), kept)
  t.match(module.document(stopped.snapshot), { status: 'escalated', base_ref: 'task/1' })
  t.equal(baseOf(went(stopped.snapshot, says('resume'), next)), 'task/1')
  t.match(landedWith(stopped.snapshot, says('resume'), next, lands), /^1 /, 'and lands with what is built upon it')
  t.equal(baseOf(went(stopped.snapshot, closes(1), says('resume'), next)), undefined, 'a person may give it up')
  const nothing = went(walk(...toCycle, begins), stops({ verdict: 'runner_error' }))
  t.equal(baseOf(went(nothing.snapshot, says('resume'), next)), undefined)
  const before = walk(...toCycle, keeps('task/1'), next, begins, stops({ verdict: 'runner_error' }))
  t.match(module.document(before), { base_ref: 'task/1' }, 'then what was kept before is')
  t.end()
})

t.test('a cycle begun upon kept work may still land it after a resume from trunk', (t) => {
  const begun = walk(...toCycle, keeps('task/1'), next, begins, says('pause'))
  const { item_id } = begun.context.history[0]!.outcome
  const resumed = went(begun, says('resume', { add_cycles: 1, from_trunk: true })).snapshot
  t.equal(isBuiltUpon(resumed, item_id), true)
  t.equal(isBuiltUpon(went(resumed, keeps('task/2')).snapshot, item_id), false)
  t.end()
})

t.test('contexts stored by version 7 are built upon and land as current ones do', (t) => {
  /** As version 7 stored it: one chain, and a result kept during a pause not yet built upon. */
  const stored = (snapshot: Snapshot, internal: object): Snapshot => {
    const { value, context }: any = JSON.parse(JSON.stringify(snapshot))
    const { kept: _, base: __, ...others } = context.internal as object & { kept?: unknown; base?: unknown }
    if (context.work !== undefined) delete context.work.upon
    const old = { value, context: { ...context, internal: { ...others, ...internal } } }
    return { ...snapshot, ...(module.migrations[7]!(old as never) as Snapshot) }
  }
  const itemOf = ({ context }: Snapshot, cycle: number) => context.history[cycle - 1]!.outcome.item_id
  const second = walk(...toCycle, keeps('task/1'), next)
  const one = itemOf(second, 1)
  const old = stored(second, { chain: [one], base_ref: 'task/1' })
  t.strictSame(landedWith(old, lands), ['1 abc1234'])
  t.match(module.document(old), { base_ref: 'task/1' })
  t.equal(baseOf(went(old, keeps('task/2'), says('pause'), ...more)), 'task/2')
  const both = walk(...toCycle, keeps('task/1'), next, keeps('task/2'), says('pause'))
  const chained = stored(both, { chain: [one, itemOf(both, 2)], base_ref: 'task/2' })
  t.equal(baseOf(went(chained, closes(2), ...more)), 'task/1')
  const astray = stored(second, { chain: [], astray: second.context.work!.item_id })
  t.equal(baseOf(went(astray, keeps('task/2'), says('pause'), ...more)), undefined)
  t.equal(went(astray, calledOff).snapshot.value, 'active')
  const kept = walk(...toCycle, keeps('task/1'), next, says('pause'), keeps('task/2'))
  t.equal(baseOf(went(stored(kept, { chain: [one], base_ref: 'task/1' }), ...more)), 'task/2')
  const landed = stored(walk(...toCycle, keeps('task/1'), next, says('pause'), lands), {
    chain: [one],
    base_ref: 'task/1',
  })
  t.strictSame(landedWith(landed, says('complete', { reason: 'enough' })), ['1 abc1234'], 'told in its next step')
  t.strictSame(landedWith(landed, says('resume', { add_cycles: 1 }), says('pause')), ['1 abc1234'], 'once')
  t.notOk('base_ref' in module.document(landed))
  t.strictSame(stored(walk(), { chain: [] }).context, JSON.parse(JSON.stringify(walk().context)))
  t.end()
})

t.test('a cycle whose run could not begin is not charged, and the reason says how to go on', (t) => {
  const detail = `/srv/shop has no commit task/1 ${'and so on '.repeat(200)}`
  const said = { failure_class: 'dispatch', failure_code: 'unknown_base', detail }
  const unbegun = ends(taskResult('runner_error', said), { state: 'failed' })
  const second = walk(...toCycle, keeps('task/1'), next)
  const { snapshot, facts } = went(second, unbegun)
  t.match(snapshot, { value: 'escalated', context: { cycles_completed: 1, work: undefined } })
  t.equal(snapshot.context.history.length, 1)
  t.match(snapshot.context.reason, /^cycle 2 could not begin, and is not charged: \/srv\/shop has no commit task\/1/)
  t.match(snapshot.context.reason, /restore task\/1 and resume it, .*: intendant campaign resume pay --from-trunk$/)
  t.match((facts.at(-1) as OwnFact).payload, { cycles_completed: 1, reason: snapshot.context.reason })
  const again = went(snapshot, says('resume'), next, unbegun).snapshot
  t.match(again, { value: 'escalated', context: { cycles_completed: 1 } }, 'it escalates each time')
  t.equal(sent(went(snapshot, says('resume')), 'close').length, 1, 'the owner’s resume closes the failed item')
  t.equal(baseOf(went(snapshot, says('resume', { from_trunk: true }), next)), undefined)
  const paused = went(second, says('pause'), unbegun).snapshot
  t.match(paused, { value: 'escalated', context: { cycles_completed: 1, pending: { payload: { verdict: 'defect' } } } })
  t.end()
})

t.test('work kept by a cycle whose provider failed is built upon, and the cycle is not charged', (t) => {
  const said = { failure_code: 'usage_limit', preservation_ref: 'task/half' }
  const limited = ends(taskResult('runner_error', said), { state: 'failed' })
  for (const before of [[], [says('pause')]]) {
    const first = walk(...toCycle)
    const { snapshot } = went(first, ...before, limited)
    t.match(snapshot, { value: 'paused', context: { cycles_completed: 0, history: [], work: undefined } })
    t.equal((module.document(snapshot) as any).base_ref, 'task/half')
    const resumed = went(snapshot, says('resume'))
    t.match(resumed.snapshot.context.work.prompt, /"task\/half": the next task starts from it/)
    const again = went(resumed.snapshot, next)
    t.equal(baseOf(again), 'task/half')
    const superseded = sent(went(again.snapshot, lands), 'superseded') as any[]
    t.strictSame(
      superseded.map(({ to }) => to.id),
      [first.context.work!.item_id],
    )
  }
  const without = ends(taskResult('runner_error', { failure_code: 'usage_limit' }), { state: 'failed' })
  const upon = went(walk(...toCycle, keeps('task/1'), next), without)
  t.equal(baseOf(went(upon.snapshot, says('resume'), next)), 'task/1', 'work kept before is still built upon')
  t.end()
})

t.test('a cycle whose run reports only by its failure that it could not begin is not charged either', (t) => {
  const failure = { class: 'dispatch', code: 'not_configured', message: 'no agent' }
  const fails = (it: Snapshot) =>
    settled(it, 40, { state: 'failed', failure, reason: 'run failed (dispatch, not_configured): no agent' })
  const { context, value } = went(walk(...toCycle), fails).snapshot
  t.strictSame([value, context.cycles_completed, context.history], ['escalated', 0, []])
  t.match(context.reason, /not_configured\): no agent; check its runner, and resume it$/)
  const begun = ends(taskResult('runner_error', { failure_class: 'execution' }), { state: 'failed' })
  t.match(went(walk(...toCycle), begun).snapshot, { value: 'escalated', context: { cycles_completed: 1 } })
  t.end()
})

t.test('the run’s failure counts where the result does not say why it failed', (t) => {
  const plain = { terminal: { event_id: 'evt_1', payload: taskResult('runner_error') } }
  const failing =
    (failure: object, more: object = {}) =>
    (it: Snapshot) =>
      settled(it, 40, { state: 'failed', ...plain, failure: { message: 'x', ...failure }, ...more })
  const limited = went(walk(...toCycle), failing({ class: 'execution', code: 'usage_limit' }, { retry_after: 60 }))
  t.match(limited.snapshot, { value: 'paused', context: { cycles_completed: 0, paused: { until: /^2/ } } })
  const unbegun = went(walk(...toCycle), failing({ class: 'dispatch', code: 'not_configured' })).snapshot
  t.match(unbegun, { value: 'escalated', context: { cycles_completed: 0, reason: /could not begin/ } })
  const told = { event_id: 'evt_1', payload: taskResult('runner_error', { failure_code: 'usage_limit' }) }
  const said = went(walk(...toCycle), failing({ class: 'execution', code: 'exit_1' }, { terminal: told })).snapshot
  t.equal(said.value, 'paused', 'and the result where the run does not')
  t.end()
})

t.test('in repeated outages the work of the last one is built upon, and the items before it are closed', (t) => {
  const half = (n: number): Move =>
    ends(taskResult('runner_error', { failure_code: 'usage_limit', preservation_ref: `task/half-${n}` }), {
      state: 'failed',
    })
  const back = says('provider_back')
  let { snapshot } = went(walk(...toCycle, keeps('task/1'), next), half(0)) as { snapshot: Snapshot }
  for (let n = 1; n <= 9; n++) {
    const before = snapshot.context.internal.kept.at(-1)!.item_id
    const again = went(snapshot, back, third, half(n))
    const { item_id } = again.snapshot.context.internal.kept.at(-1)
    const closed = sent(again, 'close') as any[]
    t.match(closed, [{ to: { id: before }, message: { discharges: true, reason: `its work continues in ${item_id}` } }])
    snapshot = again.snapshot
  }
  t.strictSame(
    snapshot.context.internal.kept.map(({ ref }) => ref),
    ['task/1', 'task/half-9'],
  )
  const [first, last] = snapshot.context.internal.kept
  t.equal(last!.upon, first!.item_id)
  const resumed = went(snapshot, back, third)
  t.equal(baseOf(resumed), 'task/half-9')
  const told = sent(went(resumed.snapshot, lands), 'superseded') as any[]
  t.strictSame(
    told.map(({ to }) => to.id),
    [last!.item_id, first!.item_id],
  )
  t.end()
})

t.test('whether a cycle has landed is decided by on_trunk of its item', (t) => {
  const byHand = (more: object): Move => closes(1, { state: 'landed', given_up: undefined, reason: 'as told', ...more })
  const outcomeAfter = (move: Move) => went(walk(...toCycle, keeps('task/1')), move).snapshot.context.history[0].outcome
  t.match(outcomeAfter(byHand({ on_trunk: true })), { state: 'landed', landed: true })
  t.match(outcomeAfter(byHand({})), { state: 'landed', landed: false }, 'what resumed it had nothing to land')
  t.end()
})
