/** Random walks of an initiative against a model that knows only what SPEC 6.18 promises. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { STEERING_DECISIONS } from '../../machines/documents/initiative.ts'
import type { View } from '../../machines/initiative/context.ts'
import { initiativeModule as module } from '../../machines/initiative.ts'
import {
  CAMPAIGN,
  CREATE,
  IDLE_VIEW,
  ITEM,
  MESSAGES,
  MOVED_VIEW,
  OWNER,
  PROJECT,
  run,
  VIEW,
} from './initiative-samples.ts'
import { at, reopened, step } from './step.ts'

const WALKS = Number(process.env.WALKS ?? 500)
const STEPS_MAX = 50

type Move = { readonly type: string; readonly [member: string]: any }
const MEMBERS = [CAMPAIGN, ITEM, PROJECT]
const view = fc.constantFrom<View>(...Array<View>(9).fill(VIEW), MOVED_VIEW, IDLE_VIEW)
const member = fc.constantFrom(...Array(6).fill(undefined), ...MEMBERS)
const given = (name: string, arbitrary: fc.Arbitrary<any>) =>
  arbitrary.map((value) => (value === undefined ? {} : { [name]: value }))

const result = fc
  .tuple(fc.constantFrom(...STEERING_DECISIONS, 'jump'), given('member', fc.constantFrom(...MEMBERS)), fc.nat(3))
  .map(([decision, more, n]) => ({
    decision,
    reason: 'so',
    ...more,
    objective: `o${n}`,
    question: `q${n}`,
    text: `t${n}`,
  }))

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc
      .tuple(fc.nat(8), given('member', member))
      .map(([n, more]) => ({ type: 'advance', by: OWNER, trigger_id: `t${n}`, ...more })),
  },
  { weight: 60, arbitrary: view.map((seen) => ({ type: 'assess', view: seen })) },
  {
    weight: 60,
    arbitrary: result.map((said) => ({
      type: 'item_reported',
      outcome: 'completed',
      result: said,
      role: 'assessment',
    })),
  },
  { weight: 60, arbitrary: view.map((seen) => ({ type: 'judge', view: seen })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('execution', 'dispatch').map((failed) => ({
      type: 'item_reported',
      outcome: 'failed',
      role: 'assessment',
      failure: { class: failed, message: 'no' },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constant({
      type: 'item_settled',
      role: 'assessment',
      state: 'cancelled',
      reason: 'x',
      started: false,
    }),
  },
  {
    weight: 30,
    arbitrary: fc
      .constantFrom(
        { state: 'landed', on_trunk: true },
        { state: 'landed', on_trunk: true },
        // Complete without a change: there was nothing to land.
        { state: 'landed' },
        { state: 'preserved' },
        { state: 'cancelled' },
      )
      .map((end) => ({ type: 'item_settled', of: 'cycle', role: 'cycle', reason: 'x', started: true, ...end })),
  },
  {
    weight: 2,
    arbitrary: given('applicable_members', fc.constantFrom(undefined, [CAMPAIGN])).map((more) => ({
      type: 'decide',
      by: OWNER,
      decision: 'x',
      ...more,
    })),
  },
  {
    weight: 2,
    arbitrary: fc.nat(2).map((n) => ({
      type: 'record_finding',
      by: OWNER,
      finding_id: `find_${n}`,
      from: { kind: 'person', id: 'ann' },
      to: [PROJECT],
      kind: 'note',
      text: `finding ${n}`,
      refs: [],
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('complete', 'cancel').map((type) => ({ type, by: OWNER, reason: 'x', items: [] })),
  },
)

/** What is promised, and no more: who was asked for what; what was opened, stated, settled and sent. */
class Oracle {
  readonly asked = new Set<string>()
  readonly opened = new Map<string, 'open' | 'over'>()
  readonly steered = new Map<string, any>()
  readonly actions = new Set<string>()
  readonly works = new Set<string>()
  readonly consumed = new Set<string>()
  readonly landed = new Set<string>()
  current: string | undefined
  charged = 0

  took(message: Move, before: string, stepped: ReturnType<typeof step>): void {
    const payloads = stepped.facts.map((fact: any) => ({ type: fact.type, ...(fact.payload ?? fact.recorded.payload) }))
    const settledNow = new Set(stepped.sends.filter(({ message }) => message.type === 'settle').map(({ to }) => to.id))
    for (const { to, message: sent } of stepped.sends) {
      if (sent.type === 'create' && (sent as any).source.role === 'assessment') this.#open(to.id, settledNow.has(to.id))
      if (sent.type === 'create' && (sent as any).source.role === 'cycle') {
        assert.ok(!this.works.has(to.id), 'no work is started twice')
        this.works.add(to.id)
      }
      if (sent.type === 'settle') this.#settle(to.id)
    }
    if (message.type === 'item_settled' && message.role === 'assessment') this.#settle(message.item_id)
    if (message.type === 'item_settled' && message.on_trunk === true) this.landed.add(message.item_id)
    for (const payload of payloads) this.#stated(payload, before)
    const made = payloads.filter(({ type }) => type === 'initiative_action_requested').length
    const sentOthers = stepped.sends.filter(({ message: { type } }) =>
      ['advance', 'pause', 'release', 'hold', 'escalate'].includes(type),
    )
    assert.ok(made === 1 || sentOthers.length === 0, 'only an applied outcome reaches a member')
    this.#holds(stepped.snapshot)
  }

  #open(id: string, isOver: boolean): void {
    assert.ok(isOver || this.current === undefined, 'one assessment at a time')
    assert.ok(!this.opened.has(id), 'each is opened once')
    this.opened.set(id, 'open')
    if (!isOver) this.current = id
  }

  #settle(id: string): void {
    assert.equal(this.opened.get(id), 'open', 'each is settled once')
    this.opened.set(id, 'over')
    if (this.current === id) this.current = undefined
  }

  #stated(payload: any, before: string): void {
    switch (payload.type) {
      case 'initiative_advance_requested':
        assert.ok(!this.asked.has(payload.trigger_id), 'a request is stated once')
        this.asked.add(payload.trigger_id)
        if (payload.follow_up_of !== undefined && payload.trigger_id.startsWith('follow-up:')) {
          assert.equal(
            this.steered.get(payload.follow_up_of.steer_id).follow_up_of,
            undefined,
            'never after a follow-up',
          )
        }
        break
      case 'initiative_steered':
        assert.ok(!this.steered.has(payload.steer_id), 'an assessment ends once')
        assert.equal(payload.success, payload.outcome !== 'failed')
        if (before === 'completed' || before === 'cancelled')
          assert.ok(['rejected', 'failed', 'skipped'].includes(payload.outcome))
        this.steered.set(payload.steer_id, payload)
        break
      case 'initiative_action_requested':
        assert.ok(!this.actions.has(payload.action_id), 'an action is admitted once')
        assert.equal(this.steered.get(payload.steer_id)?.outcome, 'applied')
        this.actions.add(payload.action_id)
        break
      case 'finding_consumed': {
        const once = `${payload.finding_id} ${payload.work_item_id}`
        assert.ok(!this.consumed.has(once), 'a landing consumes a finding once')
        assert.ok(this.landed.has(payload.work_item_id), 'only work on trunk consumes')
        this.consumed.add(once)
      }
    }
  }

  #holds({ context, value }: any): void {
    assert.equal(context.assessment?.item_id, this.current)
    assert.equal(context.actions_applied, this.actions.size)
    assert.ok(context.actions_applied <= context.budget.max_actions, 'the budget of actions holds')
    assert.ok(context.assessments_made <= context.budget.max_assessments, 'the budget of assessments holds')
    const waiting = context.waiting.map(({ trigger_id }: any) => trigger_id)
    assert.equal(new Set([...waiting, context.assessment?.trigger_id]).size, waiting.length + 1, 'no request twice')
    if (value === 'completed' || value === 'cancelled') assert.deepEqual(waiting, [])
  }
}

t.test('no walk breaks a promise of steering', (t) => {
  const visits = new Map<string, number>()
  fc.assert(
    fc.property(fc.array(move, { maxLength: STEPS_MAX, size: 'max' }), (moves) => {
      const oracle = new Oracle()
      let snapshot = run(at(0, CREATE), MESSAGES.record_finding)
      moves.forEach((one, index) => {
        const message = at(index + 1, addressed(one, snapshot, oracle)) as Move & { at: string; atMs: number }
        const stepped = step(module, snapshot, message)
        if (stepped.repeat !== undefined || stepped.refused !== undefined) return
        oracle.took(message, snapshot.value, stepped)
        for (const { type, payload, recorded } of stepped.facts as readonly any[]) {
          const told = type === 'initiative_steered' ? (payload ?? recorded.payload).outcome : type
          visits.set(told, (visits.get(told) ?? 0) + 1)
        }
        snapshot = index % 5 === 0 ? reopened(module, stepped.snapshot) : stepped.snapshot
      })
    }),
    { numRuns: WALKS, seed: 18 },
  )
  const seen = ['applied', 'waited', 'no_op', 'skipped', 'rejected', 'stale', 'failed', 'finding_consumed']
  for (const outcome of seen) t.ok((visits.get(outcome) ?? 0) >= 3, `the walks reach outcome ${outcome}`)
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})

/** Names what the message is about: the assessment under way, the next request, or one of our cycles. */
function addressed(move: Move, { context }: any, { works }: Oracle): Move {
  switch (move.type) {
    case 'assess':
      return { ...move, trigger_id: context.waiting[0]?.trigger_id ?? 'none' }
    case 'item_settled':
      return {
        ...move,
        item_id: move.of === 'cycle' ? ([...works].at(-1) ?? 'wi_none') : (context.assessment?.item_id ?? 'wi_none'),
      }
    case 'judge':
    case 'item_reported':
      return { ...move, item_id: context.assessment?.item_id ?? 'wi_none' }
    default:
      return move
  }
}
