/** Random walks of a campaign against a model that knows only what campaigns promise. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import type { CampaignContext } from '../../machines/campaign/context.ts'
import { campaignMachine, campaignModule as module } from '../../machines/campaign.ts'
import type { Fact, Message, SnapshotOf } from '../../machines/machine.ts'
import { CREATE, messagesFor, run, states } from './campaign-samples.ts'
import { at, reopened, step } from './step.ts'

const WALKS = Number(process.env.WALKS ?? 400)
const STEPS_MAX = 60
const OVER = new Set(['completed', 'cancelled'])
const RUNNING = new Set(['staged', 'active'])

/** The moves to try, by their labels in the samples; likelier ones more often. */
const LABELS = Object.keys(messagesFor(run(at(0, CREATE))))
const OFTEN = [
  'advance',
  'item_reported (advance)',
  'item_started',
  'item_settled (landed)',
  'item_settled (defect)',
  'resume (more cycles)',
]
const CYCLE = ['advance', 'item_reported (advance)']
/** Nothing, a first cycle, and a second one that is built upon what the first kept. */
const BEGINNINGS = [[], CYCLE, [...CYCLE, 'item_settled (defect)', 'item_reported (advance)']]
const SELDOM = ['create', 'complete', 'cancel']
const label = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...OFTEN) },
  { weight: 12, arbitrary: fc.constantFrom(...LABELS.filter((one) => ![...SELDOM, 'cancel (now)'].includes(one))) },
  { weight: 1, arbitrary: fc.constantFrom(...SELDOM) },
  { weight: 2, arbitrary: fc.constant('cancel (now)') },
)

type Sent = { readonly to: { readonly id: string }; readonly message: Record<string, any> }

/** What a campaign promises, and nothing else. */
class Oracle {
  cycles = 0
  results = new Set<string>()
  landed = 0
  /** The cycle under way, if a runner has begun it. */
  begun: string | undefined
  /** The cycle that was called off before it was known to have begun. */
  calledOff: string | undefined
  /** It was escalated, and no owner has answered yet. */
  isAsked = false
  opened = 0
  ended = 0
  /** Requests that came while the advance under way was being formed. */
  joined = 0
  /** An owner paused it, and no owner has lifted the pause yet. */
  isOwnersPause = false
  /** The kept work that the cycle under way starts from. */
  base: string | undefined
  /** The item under way, and its role. */
  open = new Map<string, string>()
  budget = CREATE.max_cycles

  took(
    message: Message<any>,
    before: string,
    after: SnapshotOf<CampaignContext>,
    facts: readonly Fact[],
    sends: readonly Sent[],
  ): void {
    const { value, context } = after
    assert.ok(!OVER.has(before) || value === before, 'a final status stays')
    if (message.type === 'resume') this.budget += message.add_cycles ?? 0
    this.isOwnersPause = value === 'paused' && (this.isOwnersPause || message.type === 'pause')
    if (this.isOwnersPause) assert.equal(context.paused?.by, 'owner', 'a pause by an owner is lifted by an owner only')
    if (message.type === 'item_started') this.started(message.item_id, value)
    if (OVER.has(value) && (message.type === 'complete' || message.type === 'cancel')) this.callsOff()
    this.asks(message, value, before)
    if (message.type === 'item_settled') this.lands(message, sends)
    if (message.type === 'item_settled') this.settled(message, before, value)
    const created = sends.filter(({ message }) => message.type === 'create')
    const settledNow = new Set(sends.filter(({ message }) => message.type === 'settle').map(({ to }) => to.id))
    for (const { to, message: item } of created) {
      assert.equal(item.source.ref, 'pay')
      if (item.source.role === 'advance') this.opened++
      else {
        assert.ok(RUNNING.has(before), 'a stopped campaign dispatches nothing')
        this.cycles++
        assert.ok(this.cycles <= this.budget, 'the budget is kept')
        assert.equal(item.source.cycle, this.cycles, 'a cycle is counted once')
        this.base = item.base_ref
      }
      if (!settledNow.has(to.id)) this.open.set(to.id, item.source.role)
    }
    for (const id of settledNow) this.open.delete(id)
    assert.ok(this.open.size <= 1, 'one item is under way at a time')
    assert.equal(context.work?.item_id, [...this.open.keys()][0], 'and the campaign knows which')
    const isForming = context.work?.role === 'advance'
    if (message.type === 'advance' && created.length === 0) this.joined++
    this.ended += facts.filter(({ type }) => type === 'campaign_advance_completed').length
    assert.equal(this.opened + this.joined - this.ended, isForming ? 1 + this.joined : 0, 'each advance ends once')
    if (!isForming) {
      this.opened += this.joined
      this.joined = 0
    }
    assert.ok(RUNNING.has(value) || context.work?.role !== 'advance', 'a stopped campaign forms nothing')
    assert.equal(context.cycles_completed, this.cycles)
    assert.equal(context.cycles_landed, this.landed)
    if (before !== value) this.entered(value, facts)
    for (const fact of facts) {
      const { reason = 'x' } = ('recorded' in fact ? fact.recorded.payload : fact.payload) as { reason?: string }
      assert.notEqual(reason.trim(), '', 'no end without a reason')
    }
  }

  /** The cycle counts from then on, even if it was called off at that moment. */
  private started(item_id: string, now: string): void {
    this.begun = item_id
    if (this.calledOff !== item_id || !OVER.has(now)) return
    this.calledOff = undefined
    this.cycles++
  }

  private callsOff(): void {
    const [cycle] = [...this.open].find(([, role]) => role === 'cycle') ?? []
    if (cycle === undefined || cycle === this.begun || cycle === this.calledOff) return
    this.calledOff = cycle
    this.cycles--
  }

  /** An escalated campaign stays escalated over a pause until an owner says more than that the pause is over. */
  private asks({ type, add_cycles }: Message<any>, now: string, before: string): void {
    if (now === 'escalated') this.isAsked = true
    else if (before === 'escalated' && type !== 'pause') this.isAsked = false
    if (!this.isAsked || OVER.has(now)) return
    if (now === 'active') assert.ok(add_cycles > 0, 'a pause is no answer')
    if (now === 'active') this.isAsked = false
    else assert.ok(now === 'paused' || now === 'escalated')
  }

  private lands({ item_id, terminal }: Message<any>, sends: readonly Sent[]): void {
    if (this.open.get(item_id) !== 'cycle' || terminal?.payload.landed !== true) return
    const isTold = sends.some(({ message }) => message.type === 'superseded')
    assert.equal(isTold, this.base !== undefined, 'the work that it was built upon lands with it, in the same step')
  }

  private settled({ item_id, started, terminal, failure, outage }: Message<any>, before: string, now: string): void {
    const role = this.open.get(item_id)
    if (!this.open.delete(item_id) || role !== 'cycle') return
    const isOutage = failure?.code === 'provider_unavailable' || outage !== undefined
    const isForgotten = OVER.has(before)
    const isFree = !started || (isOutage && now !== 'cancelled')
    if (terminal === undefined && isFree && !isForgotten) this.cycles--
    if (terminal === undefined || isForgotten) return
    this.kept = terminal
    if (now !== 'paused') this.count()
  }

  private kept: { readonly event_id: string; readonly payload: Record<string, unknown> } | undefined

  /** A result kept during a pause is counted on resume. */
  count(): void {
    if (this.kept === undefined || this.results.has(this.kept.event_id)) return
    this.results.add(this.kept.event_id)
    if (this.kept.payload.landed === true) this.landed++
    this.kept = undefined
  }

  goesOn(): void {
    this.count()
  }

  forgets(): void {
    this.kept = undefined
  }

  private entered(now: string, facts: readonly Fact[]): void {
    const types = facts.map(({ type }) => type)
    // Stated once, even if the campaign was paused in between.
    if (now === 'escalated' && types.includes('campaign_resumed')) return
    if (now === 'completed' || now === 'cancelled' || now === 'escalated')
      assert.ok(types.includes(`campaign_${now}`), now)
    if (now === 'paused') assert.ok(types.includes('campaign_paused') || types.includes('campaign_owner_paused'))
  }
}

t.test('no walk breaks a promise of campaigns', (t) => {
  const visits = new Map<string, number>()
  fc.assert(
    fc.property(
      fc.constantFrom(...BEGINNINGS),
      fc.array(label, { maxLength: STEPS_MAX, size: 'max' }),
      (begun, tried) => {
        const labels = [...begun, ...tried]
        const oracle = new Oracle()
        let snapshot = run(at(0, CREATE)) as SnapshotOf<CampaignContext>
        labels.forEach((name, index) => {
          const message = fresh(messagesFor(snapshot)[name]!, index)
          const stepped = step(module, snapshot, message)
          if (stepped.repeat !== undefined || stepped.refused !== undefined) return
          const next = stepped.snapshot as SnapshotOf<CampaignContext>
          visits.set(next.value, (visits.get(next.value) ?? 0) + 1)
          if (message.type === 'resume' || message.type === 'provider_back') oracle.goesOn()
          if (message.type === 'complete' || message.type === 'cancel') oracle.forgets()
          oracle.took(message, snapshot.value, next, stepped.facts as readonly Fact[], stepped.sends as never)
          snapshot = index % 5 === 0 ? reopened(module, next) : next
        })
      },
    ),
    { numRuns: WALKS },
  )
  for (const state of Object.keys(module.machine.states).filter((one) => one !== 'absent'))
    t.ok((visits.get(state) ?? 0) >= 10, `the walks visit ${state}`)
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})

/** Makes results, requests and objectives differ from each other. */
function fresh(message: Message<any>, index: number): Message<any> {
  const { terminal, event_id, result } = message
  const decision = result?.decision
  const objective = typeof decision === 'object' ? { decision: { ...decision, objective: `Step ${index}` } } : {}
  return {
    ...message,
    ...at(100 + index, { type: message.type }),
    ...(terminal === undefined ? {} : { terminal: { ...terminal, event_id: `evt_${index}` } }),
    ...(event_id === undefined ? {} : { event_id: `evt_asked_${index}` }),
    ...(result === undefined ? {} : { result: { ...result, ...objective } }),
  }
}

t.test('every state can be reached by messages, and all but the final ones can be left', (t) => {
  const all = states()
  const reached = new Set(Object.values(all).map(({ value }) => value))
  t.strictSame(
    [...reached].sort(),
    Object.keys(campaignMachine.states)
      .filter((one) => one !== 'absent')
      .sort(),
  )
  for (const [name, snapshot] of Object.entries(all)) {
    const next = Object.values(messagesFor(snapshot)).map((message) => step(module, snapshot, message).snapshot.value)
    t.equal(
      next.some((value) => value !== snapshot.value),
      !OVER.has(snapshot.value),
      name,
    )
  }
  const paths = getShortestPaths(campaignMachine, {
    events: Object.values(messagesFor(all.staged!)) as never,
    serializeState: ({ value, context }) => `${value} ${context.work?.role}`,
  })
  t.ok(paths.length >= 5, 'XState finds its way through the chart')
  t.end()
})
