/** Random walks of a run request against a model that knows only the rules of the hand-out. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Message } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { runRequestModule as module } from '../../machines/run-request.ts'
import { BY, CREATE, EVENT } from './run-request-samples.ts'
import { after, at, reopened, step } from './step.ts'

const WALKS = Number(process.env.WALKS ?? 500)
/** The same walks in every run, because the states that they visit are counted; SEED=2 takes others. */
const SEED = Number(process.env.SEED ?? 1)
const STEPS_MAX = 60
const RUNNERS = ['runner-1', 'runner-2'] as const
const SETTLED = new Set(['completed', 'failed', 'cancelled'])

type Move = { readonly type: string; readonly [member: string]: unknown }

/** `of` tells which attempt the message names (0: the current one), `from` who sends it. */
const post = (type: string, more: object = {}) =>
  fc
    .record({ of: fc.constantFrom(0, 0, 0, 0, -1, 1), from: fc.constantFrom('holder', 'holder', 'holder', 'other') })
    .map((spoken) => ({ type, ...more, ...spoken }))
const digest = fc.constantFrom('a', 'b')

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 15, arbitrary: fc.constantFrom(...RUNNERS).map((runner_id) => ({ type: 'offer', runner_id })) },
  { weight: 5, arbitrary: post('accepted') },
  { weight: 3, arbitrary: post('started') },
  {
    weight: 9,
    arbitrary: fc.constantFrom(true, true, true, false).chain((counted) => post('offer_expired', { counted })),
  },
  { weight: 4, arbitrary: post('lease_expired') },
  { weight: 2, arbitrary: post('heartbeat') },
  { weight: 2, arbitrary: post('events', { events: [EVENT] }) },
  { weight: 3, arbitrary: post('release') },
  { weight: 2, arbitrary: post('offer_aborted') },
  { weight: 2, arbitrary: post('runner_session_started') },
  { weight: 4, arbitrary: fc.constant({ type: 'requeue', by: BY }) },
  digest.chain((d) => post('completed', { result: {}, digest: d })),
  digest.chain((d) => post('failed', { class: 'execution', message: 'no', digest: d })),
  post('grace_ended'),
  fc.constant({ type: 'cancel', by: BY }),
  fc.constant({ type: 'fail', by: BY, message: 'gone' }),
)

/** What the hand-out promises, and nothing else. */
class Oracle {
  holder: string | undefined
  attempt = 1
  unaccepted = 0
  settled: string | undefined

  /** Called with each step that was taken. */
  took(message: Message<any>, before: string, now: string, facts: readonly string[]): void {
    if (this.settled !== undefined) {
      assert.equal(now, this.settled, 'a settled request stays settled')
      assert.equal(message.type, 'events', 'and takes only late events')
      return
    }
    if (message.type === 'offer') {
      assert.equal(before, 'queued', 'only a queued request is offered')
      assert.equal(this.holder, undefined, 'one holder at a time')
      this.holder = message.runner_id
    } else if (POSTS.has(message.type)) {
      assert.equal(message.runner_id, this.holder, 'only the holder is heard')
      assert.equal(message.attempt ?? 1, this.attempt, 'and only about its attempt')
    }
    if (before === 'lost' && now === 'queued')
      assert.equal(message.type, 'requeue', 'only a person hands a lost request out again')
    if (before === 'started') assert.notEqual(now, 'queued', 'work that has begun is not handed out again')
    if (message.type === 'offer_expired' && message.counted) {
      this.unaccepted += 1
      assert.equal(now, this.unaccepted === 5 ? 'failed' : 'queued', 'exactly five offers')
    }
    if (now === 'queued' && message.type !== 'offer') {
      this.holder = undefined
      this.attempt += 1
    }
    if (SETTLED.has(now)) {
      this.settled = now
      assert.ok(facts.includes(`run_request_${now}`), 'the end is stated')
    }
  }
}

function addressed({ of, from, ...body }: Move, { attempt, offered_to }: RunRequestContext): Move {
  if (of === undefined) return body
  const runner_id = from === 'holder' ? (offered_to ?? RUNNERS[0]) : RUNNERS[1]
  return { ...body, runner_id, attempt: Math.max(1, attempt + Number(of)) }
}

const POSTS = new Set(['accepted', 'started', 'heartbeat', 'events', 'completed', 'failed', 'release'])

t.test('no walk breaks a promise of the hand-out', (t) => {
  const visits = new Map<string, number>()
  fc.assert(
    fc.property(fc.array(move, { maxLength: STEPS_MAX, size: 'max' }), (moves) => {
      const oracle = new Oracle()
      let snapshot = after(module, [at(0, CREATE)])
      moves.forEach((move, index) => {
        const message = at(index + 1, addressed(move, snapshot.context))
        const stepped = step(module, snapshot, message)
        if (stepped.repeat !== undefined || stepped.refused !== undefined) return
        const now = stepped.snapshot.value
        visits.set(now, (visits.get(now) ?? 0) + 1)
        const facts = stepped.facts.map(({ type }) => type)
        oracle.took(message, snapshot.value, now, facts)
        assert.equal(stepped.snapshot.context.attempt, oracle.attempt, 'the attempt goes up by one with each requeue')
        if (oracle.settled === undefined) assert.equal(stepped.snapshot.context.offered_to, oracle.holder)
        snapshot = index % 7 === 0 ? reopened(module, stepped.snapshot) : stepped.snapshot
      })
    }),
    { numRuns: WALKS, seed: SEED },
  )
  const states = Object.keys(module.machine.states).filter((state) => state !== 'absent')
  for (const state of states) t.ok((visits.get(state) ?? 0) >= 10, `the walks visit ${state}`)
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})
