/** Random walks of a work item against a model that knows only what the ledger promises. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Message } from '../../machines/machine.ts'
import { workItemModule as module } from '../../machines/work-item.ts'
import { BY } from './run-request-samples.ts'
import { after, at, reopened, step } from './step.ts'
import { CHILD, CHILD_CREATE, CREATE, MESSAGES, result } from './work-item-samples.ts'

const WALKS = Number(process.env.WALKS ?? 1_000)
/** The same walks in every run, because the states that they visit are counted; SEED=2 takes others. */
const SEED = Number(process.env.SEED ?? 1)
const STEPS_MAX = 40
const TERMINAL = new Set(['landed', 'cancelled'])
const SETTLED = new Set(['landed', 'cancelled', 'preserved', 'needs_decision', 'failed'])

type Move = { readonly type: string; readonly [member: string]: unknown }

/**
 * `of` tells which run the message names: the one that holds, the one that it was last taken back from, or one that is
 * over.
 */
const ofRun = (type: string, more: object = {}) =>
  fc.constantFrom('now', 'now', 'now', 'now', 'taken', 'before').map((of) => ({ type, of, attempt: 1, ...more }))
const verdict = fc.constantFrom(
  result('complete', { success: true, landed: true }),
  result('complete', { success: true, landed: true }),
  result('complete', { success: true, landed: true }),
  result('complete', { land_blocked: 'git_failed', preservation_ref: 'task/x' }),
  result('defect', { diagnosis: 'x' }),
  result('blocked_on_decision', { finding: 'x', options: [] }),
  result('runner_error', { detail: 'x' }),
)
const owner = (type: string, more: object = {}) => fc.constant({ type, by: BY, ...more })

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ type: 'hand_out' }) },
  { weight: 2, arbitrary: fc.constant({ type: 'take_back', reason: 'its lane is paused' }) },
  { weight: 8, arbitrary: ofRun('run_started', { runner_id: 'r1' }) },
  { weight: 2, arbitrary: ofRun('run_lost', { reason: 'silent' }) },
  { weight: 2, arbitrary: ofRun('run_requeued', { reason: 'again' }) },
  {
    weight: 5,
    arbitrary: verdict.chain((payload) =>
      ofRun('run_event', { event: { id: 'evt_1', event_type: 'task_run_completed', payload } }),
    ),
  },
  { weight: 1, arbitrary: ofRun('run_ended', { outcome: 'completed' }) },
  { weight: 1, arbitrary: ofRun('run_ended', { outcome: 'failed', failure: { class: 'execution', message: 'x' } }) },
  { weight: 1, arbitrary: ofRun('run_ended', { outcome: 'cancelled', stopped_by: BY }) },
  { weight: 1, arbitrary: ofRun('run_ended', { outcome: 'cancelled' }) },
  { weight: 3, arbitrary: fc.constant({ type: 'admit', reason: 'next to start' }) },
  { weight: 1, arbitrary: fc.constant({ ...MESSAGES.block }) },
  { weight: 3, arbitrary: owner('hold') },
  { weight: 4, arbitrary: owner('release', { reason: 'x', unlandable: [CREATE.depends_on![0]] }) },
  { weight: 1, arbitrary: owner('close', { reason: 'x' }) },
  { weight: 1, arbitrary: owner('cancel') },
  { weight: 4, arbitrary: owner('resume', { child: CHILD_CREATE }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('landed', 'failed', 'preserved').map((state) => ({
      type: 'resumption_settled',
      item_id: CHILD,
      state,
    })),
  },
)

/** What the ledger promises, and nothing else. */
class Oracle {
  run: string | undefined
  takenBack: string | undefined
  handOuts = 0
  isStarted = false
  isAnnounced = false

  took(message: Message<any>, before: string, now: string, facts: readonly string[]): void {
    if (message.of === 'taken') {
      this.tookOfTaken(message, before, now)
      this.facts(message, before, now, facts)
      return
    }
    assert.ok(!TERMINAL.has(before), 'landed and cancelled are final')
    if (message.of !== undefined) {
      assert.equal(message.of, 'now', 'only the run that it is handed out as is heard')
      assert.notEqual(this.run, undefined)
      assert.ok(!SETTLED.has(before), 'and only once')
    }
    if (message.type === 'hand_out') {
      assert.equal(before, 'queued')
      assert.equal(this.run, undefined, 'one run at a time')
      assert.equal(this.takenBack, undefined, 'and none beside one that is being stopped')
      this.run = `runreq_${++this.handOuts}`
    }
    this.facts(message, before, now, facts)
    const isTakenBack =
      now === 'held' || message.type === 'take_back' || (message.type === 'cancel' && now === 'cancelled')
    if (isTakenBack && this.run !== undefined) {
      this.takenBack = this.run
      this.run = undefined
    }
    if (SETTLED.has(now) && before !== now) this.run = undefined
    if (now === 'running') assert.ok(this.isStarted, 'it runs because a runner began')
  }

  /** Of a run that was taken back, its end is heard, and that its work is on trunk. */
  private tookOfTaken({ type }: Message<any>, before: string, now: string): void {
    assert.notEqual(this.takenBack, undefined)
    if (type === 'run_ended') {
      assert.equal(now, before)
      this.takenBack = undefined
      return
    }
    assert.equal(type, 'run_event')
    assert.equal(now, before === 'cancelled' || before === 'failed' ? before : 'landed')
  }

  private facts(message: Message<any>, before: string, now: string, facts: readonly string[]): void {
    const has = (name: string) => facts.includes(`work_item_${name}`)
    if (has('submitted')) {
      assert.ok(!this.isAnnounced, 'told once')
      this.isAnnounced = true
    }
    if (has('started')) {
      assert.ok(!this.isStarted, 'the start is stated once')
      this.isStarted = true
    }
    const settles = SETTLED.has(now) && before !== now
    assert.equal(has('settled') || has('cancelled'), settles, 'every end is stated, and nothing else is')
    assert.ok(!(has('settled') && has('cancelled')), 'never both')
    if (message.type === 'cancel' || message.type === 'close') assert.ok(has('cancelled') || now === 'running')
    if (has('cancelled')) assert.equal(now, 'cancelled')
    if (now === 'running' && before === 'queued') assert.ok(has('started'))
  }
}

t.test('no walk breaks a promise of the ledger', (t) => {
  const visits = new Map<string, number>()
  fc.assert(
    fc.property(fc.boolean(), fc.array(move, { maxLength: STEPS_MAX, size: 'max' }), (hasReason, moves) => {
      const oracle = new Oracle()
      const create = { ...CREATE, ...(hasReason ? {} : { reason: undefined }) } as typeof CREATE
      let snapshot = after(module, [at(0, create)])
      oracle.isAnnounced = hasReason
      moves.forEach((move, index) => {
        const message = at(index + 1, addressed(move, oracle))
        const stepped = step(module, snapshot, message)
        if (stepped.repeat !== undefined || stepped.refused !== undefined) return
        const now = stepped.snapshot.value
        visits.set(now, (visits.get(now) ?? 0) + 1)
        oracle.took(
          message,
          snapshot.value,
          now,
          stepped.facts.map(({ type }) => type),
        )
        snapshot = index % 5 === 0 ? reopened(module, stepped.snapshot) : stepped.snapshot
      })
    }),
    { numRuns: WALKS, seed: SEED },
  )
  const states = Object.keys(module.machine.states).filter((state) => state !== 'absent' && state !== 'submitted')
  for (const state of states) t.ok((visits.get(state) ?? 0) >= 10, `the walks visit ${state}`)
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})

function addressed(move: Move, { run, takenBack, handOuts }: Oracle): Move {
  if (move.type === 'hand_out') {
    const run_request = { ...MESSAGES.hand_out.run_request, id: `runreq_${handOuts + 1}` }
    return { ...MESSAGES.hand_out, run_request }
  }
  if (move.of === undefined) return move
  const named = { now: run ?? 'none', taken: takenBack ?? 'none', before: 'runreq_0' }[move.of as 'now']
  return { ...move, run_request_id: named }
}
