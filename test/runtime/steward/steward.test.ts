/** The steward on the real actor system and a journal in memory: pending work is found again at a start. */
import t from 'tap'
import { projectIdOf } from '../../../machines/ids.ts'
import { modules } from '../../../machines/index.ts'
import type { ActorRef } from '../../../runtime/api.ts'
import { setAsideRetryMs } from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { createRuntime } from '../../../runtime/runtime.ts'
import { defaultSettings } from '../../../runtime/settings.ts'
import { viewOf } from '../../../runtime/steward/member-views.ts'
import { createSteward, type Steward } from '../../../runtime/steward/steward.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { MemoryJournal } from '../../storage/memory.ts'
import { mistaken } from '../mistaken.ts'

const BY = { id: 'tok_1', name: 'ann', origin: 'here' }
const SHOP = { kind: 'project', ref: 'shop' }
const CREATE = {
  type: 'create',
  id: 'checkout',
  outcome: 'Pay by invoice',
  projects: ['shop'],
  intent_refs: [],
  members: [SHOP],
  homes: { 'project:shop': 'shop' },
  authorized_by: 'ann',
  budget: { max_assessments: 9, max_actions: 9 },
}

class World {
  readonly platform = new ManualPlatform()
  readonly journal = new MemoryJournal()
  readonly runtime = createRuntime(
    this.journal,
    { ...defaultSettings, home: '/nowhere' },
    { platform: this.platform, log: silentLogger, modules, onFatal: (failure) => assertNever(failure) },
  )

  constructor() {
    const id = projectIdOf('shop')
    this.ask('project', id, { type: 'create', id, key: 'shop', name: 'shop' })
    this.ask('initiative', 'checkout', CREATE)
  }

  ask(kind: 'project' | 'initiative' | 'work_item', id: string, message: object): any {
    let answer: unknown
    this.runtime.ask({ kind, id }, { by: BY, ...message } as never, (given) => {
      answer = given
    })
    this.platform.run()
    return answer
  }

  /** What the steward logs. */
  readonly told: any[] = []
  /** Where this returns true, telling the initiative throws. */
  failsAt: (ref: ActorRef) => boolean = () => false
  /** What the steward sees of an initiative at its start. */
  shown: (snapshot: any) => any = (snapshot) => snapshot

  steward(): Steward {
    const { runtime, told } = this
    const log = { ...silentLogger, error: (fields: object) => told.push(fields) }
    const steward = createSteward(mistaken(runtime, this), log)
    this.platform.run()
    return steward
  }

  get initiative(): any {
    return this.runtime.read({ kind: 'initiative', id: 'checkout' })
  }

  /** An assessment has answered with a dispatch while no steward runs. */
  answerUnheard(): void {
    const first = this.steward()
    this.ask('initiative', 'checkout', { type: 'advance', trigger_id: 't1' })
    first.close()
    this.report({ decision: 'dispatch', member: SHOP, objective: 'Print' })
  }

  /** The run of the assessment ends with this decision. */
  report(decision: object): void {
    const { item_id } = this.initiative.context.assessment
    const result = { reason: 'so', ...decision }
    const news = {
      type: 'item_reported',
      item_id,
      role: 'assessment',
      run_request_id: 'runreq_1',
      outcome: 'completed',
    }
    this.ask('initiative', 'checkout', { ...news, result })
  }
}

function assertNever(failure: Error): never {
  throw failure
}

t.test('an advance that was pending at a stop is assessed after the next start', (t) => {
  const w = new World()
  w.ask('initiative', 'checkout', { type: 'advance', trigger_id: 't1' })
  t.equal(w.initiative.value, 'active', 'no steward runs')
  w.steward()
  t.equal(w.initiative.value, 'assessing')
  t.equal(w.initiative.context.assessment.trigger_id, 't1')
  t.end()
})

t.test('a decision that was pending at a stop is judged after the next start, once', (t) => {
  const w = new World()
  w.answerUnheard()
  t.equal(w.initiative.value, 'deciding', 'no steward runs')
  w.steward()
  w.steward()
  t.equal(w.initiative.value, 'active')
  t.equal(w.initiative.context.actions.length, 1)
  const { item_id } = w.initiative.context.actions[0]
  t.equal(w.runtime.read({ kind: 'work_item', id: item_id })?.value, 'queued')
  t.end()
})

t.test('work that a decision starts just before the initiative is cancelled is cancelled with it', (t) => {
  const w = new World()
  w.answerUnheard()
  const { context } = w.initiative
  const view = viewOf(w.runtime, context)
  const items = view.items.map(({ item_id }) => item_id)
  const tell = (message: object) =>
    w.runtime.ask({ kind: 'initiative', id: 'checkout' }, { by: BY, ...message } as never, ({ ok }) => t.ok(ok))
  tell({ type: 'judge', item_id: context.assessment.item_id, view })
  tell({ type: 'cancel', reason: 'too dear', items })
  w.platform.run()
  t.equal(w.initiative.value, 'cancelled')
  const { item_id } = w.initiative.context.actions[0]
  t.match(w.runtime.read({ kind: 'work_item', id: item_id }), {
    value: 'cancelled',
    context: { reason: 'cancelled by ann: initiative checkout cancelled: too dear' },
  })
  t.end()
})

t.test('an initiative is shown how the items that it has started have ended', (t) => {
  const w = new World()
  w.answerUnheard()
  w.steward()
  const { item_id } = w.initiative.context.actions[0]
  const shown = () => viewOf(w.runtime, w.initiative.context)
  t.match(shown(), { items: [{ item_id, state: 'queued' }], ended: [] })
  w.ask('work_item', item_id, { type: 'cancel', reason: 'too dear' })
  const reason = 'cancelled by ann: too dear'
  t.match(shown(), { items: [], ended: [{ item_id, project: 'shop', state: 'cancelled', reason }] })
  t.end()
})

t.test('the steward assesses nothing while writes are refused, and does so afterwards', (t) => {
  const w = new World()
  w.steward()
  w.ask('initiative', 'checkout', { type: 'advance', trigger_id: 't1' })
  t.equal(w.initiative.value, 'assessing')
  w.report({ decision: 'wait' })
  t.equal(w.initiative.value, 'active')
  w.runtime.ask({ kind: 'initiative', id: 'checkout' }, { type: 'advance', trigger_id: 't2', by: BY } as never, () => {
    w.journal.refuse('disk_reserve')
  })
  w.platform.run()
  t.equal(w.initiative.value, 'active', 'it waits')
  w.journal.refuse(undefined)
  w.platform.advance(250)
  w.platform.run()
  t.equal(w.initiative.value, 'assessing')
  t.end()
})

t.test('an initiative at which the steward fails is passed over, retried ever later, and the others go on', (t) => {
  const w = new World()
  w.ask('initiative', 'other', { ...CREATE, id: 'other' })
  const stateOf = (id: string) => w.runtime.read({ kind: 'initiative', id })?.value
  w.failsAt = ({ id }) => id === 'checkout'
  const steward = w.steward()
  for (const id of ['checkout', 'other']) w.ask('initiative', id, { type: 'advance', trigger_id: 't1' })
  t.same([stateOf('checkout'), stateOf('other')], ['active', 'assessing'])
  t.match(w.told, [{ by: 'steward', kind: 'initiative', id: 'checkout', failures: 1, retry_in_ms: setAsideRetryMs }])
  t.same(steward.health, { passedOverCount: 1, ticksFailed: 0 })
  w.platform.advance(setAsideRetryMs)
  t.match(w.told.slice(1), [{ id: 'checkout', failures: 2, retry_in_ms: 2 * setAsideRetryMs }])
  w.failsAt = () => false
  w.platform.advance(2 * setAsideRetryMs - 1)
  t.equal(stateOf('checkout'), 'active')
  w.platform.advance(1)
  t.equal(stateOf('checkout'), 'assessing')
  t.same(steward.health, { passedOverCount: 0, ticksFailed: 0 })
  t.end()
})

t.test('an unusable initiative does not keep the steward from starting', (t) => {
  const w = new World()
  w.ask('initiative', 'checkout', { type: 'advance', trigger_id: 't1' })
  w.shown = (snapshot) => ({ ...snapshot, context: {} })
  const steward = w.steward()
  t.match(w.told, [{ kind: 'initiative', id: 'checkout', failures: 1 }])
  t.equal(steward.health.passedOverCount, 1)
  w.platform.advance(setAsideRetryMs)
  t.equal(w.initiative.value, 'assessing', 'its committed state is read again')
  t.equal(steward.health.passedOverCount, 0)
  t.end()
})
