/** Random days of a ledger against a model that knows only the pacing rules. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Lane } from '../../../machines/run-request/lanes.ts'
import { itemId, World } from './world.ts'

const WALKS = Number(process.env.WALKS ?? 60)
const DEEDS_MAX = 60
const LANES = ['interactive', 'campaign', 'maintenance'] as const
/** Projects `a` and `b` share a repository. */
const REPOSITORIES: Record<string, string> = { a: 'git@x:one', b: 'git@x:one', c: 'git@x:two' }

type Deed =
  | {
      readonly do: 'submit'
      readonly project: string
      readonly lane: Lane
      readonly after: readonly number[]
      readonly inMs: number
    }
  | { readonly do: 'hold' | 'release' | 'cancel' | 'land' | 'fail' | 'begin' | 'requeue'; readonly which: number }
  | { readonly do: 'pause' | 'resume'; readonly lane: Lane }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'restart' }

const which = fc.nat({ max: 30 })
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('submit' as const),
      project: fc.constantFrom('a', 'b', 'c'),
      lane: fc.constantFrom(...LANES),
      after: fc.oneof({ weight: 3, arbitrary: fc.constant<readonly number[]>([]) }, fc.array(which, { maxLength: 2 })),
      inMs: fc.constantFrom(0, 0, 0, 5_000),
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'hold',
        'release',
        'cancel',
        'land',
        'land',
        'fail',
        'begin',
        'begin',
        'requeue',
      ) as fc.Arbitrary<'hold'>,
      which,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('pause', 'resume') as fc.Arbitrary<'pause'>,
      lane: fc.constantFrom(...LANES),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(100, 6_000) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
)

class Walk {
  world: World
  readonly ids: string[] = []
  readonly lanes = new Map<string, string>()
  readonly repositories = new Map<string, string>()
  readonly notBeforeMs = new Map<string, number>()
  readonly handOuts = new Map<string, number>()
  paused = new Set<string>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
    this.world = new World({ maxRunning: max })
    for (const [key, repository] of Object.entries(REPOSITORIES)) this.world.project(key, repository)
  }

  take(deed: Deed): void {
    switch (deed.do) {
      case 'submit':
        this.submit(deed)
        break
      case 'pause':
      case 'resume':
        this.world[deed.do](deed.lane)
        if (deed.do === 'pause') this.paused.add(deed.lane)
        else this.paused.delete(deed.lane)
        break
      case 'wait':
        this.world.platform.advance(deed.ms)
        break
      case 'restart':
        this.world = this.world.restarted()
        break
      default:
        this.operate(deed.do, deed.which)
    }
    this.world.platform.advance(300)
  }

  private submit({ project, lane, after, inMs }: Extract<Deed, { do: 'submit' }>): void {
    const depends_on = [...new Set(after.map((n) => this.ids[n] ?? itemId(9_999)))]
    const dueMs = this.world.platform.wallMs() + inMs
    const not_before = new Date(dueMs).toISOString()
    const id = this.world.submit(project, { lane, depends_on, ...(inMs === 0 ? {} : { not_before }) })
    this.ids.push(id)
    this.lanes.set(id, lane)
    this.repositories.set(id, REPOSITORIES[project]!)
    if (inMs > 0) this.notBeforeMs.set(id, Date.parse(not_before))
  }

  private operate(what: string, n: number): void {
    const id = this.ids[n % Math.max(1, this.ids.length)]
    if (id === undefined) return
    const { value, context } = this.world.item(id)
    const isActive = value === 'running' || this.world.isHandedOut(id)
    const mayBegin = this.world.isHandedOut(id) || (this.waitsAgain(id) && this.isRoomFor(id))
    if (what === 'begin') {
      if (mayBegin) this.world.start(id)
    } else if (what === 'land' || what === 'fail') {
      if (isActive && (mayBegin || !this.waitsAgain(id)) && !context.internal.stopping)
        this.world[what === 'land' ? 'land' : 'end'](id)
    } else if (what === 'requeue') {
      if (value === 'running' && !this.waitsAgain(id) && !context.internal.stopping) this.world.requeue(id)
    } else {
      const unlandable = this.world.scheduler.unlandable(context.depends_on)
      this.world.ask('work_item', id, { type: what, reason: 'as told', unlandable })
    }
  }

  private state(id: string): string | undefined {
    return this.ids.includes(id) ? this.world.item(id).value : undefined
  }

  /** Handed out, or running; one that waits for a runner again only while one may go on with it. */
  isActive(id: string): boolean {
    if (this.waitsAgain(id)) return !this.paused.has(this.lanes.get(id)!)
    return this.state(id) === 'running' || this.world.isHandedOut(id)
  }

  private waitsAgain(id: string): boolean {
    return this.state(id) === 'running' && this.world.run(id).value === 'queued'
  }

  /** What the dispatcher would ask, and the cap. */
  private isRoomFor(id: string): boolean {
    const others = this.ids.filter((other) => other !== id && this.isActive(other) && !this.waitsAgain(other))
    const isFree = others.every((other) => this.repositories.get(other) !== this.repositories.get(id))
    return isFree && others.length < this.#max && !this.paused.has(this.lanes.get(id)!)
  }

  /** What holds at every moment, and what must have happened by now. */
  check(): void {
    const active = this.ids.filter((id) => this.isActive(id))
    // What went on while nobody could go on with that is not stopped because of it.
    const first = active.filter((id) => !this.waitsAgain(id))
    assert.ok(first.length <= this.#max, 'no more than may run')
    const taken = first.map((id) => this.repositories.get(id))
    assert.equal(new Set(taken).size, taken.length, 'one item a repository')
    for (const id of this.ids) {
      const { value, context } = this.world.item(id)
      const before = this.handOuts.get(id) ?? 0
      const handedOutNow = context.internal.hand_outs > before
      this.handOuts.set(id, context.internal.hand_outs)
      if (handedOutNow) {
        assert.ok(!this.paused.has(this.lanes.get(id)!), 'nothing starts in a paused lane')
        assert.ok((this.notBeforeMs.get(id) ?? 0) <= this.world.platform.wallMs(), 'nothing starts before its time')
        for (const dependency of context.depends_on)
          assert.equal(this.state(dependency), 'landed', 'nothing starts before what it depends on')
      }
      if (value === 'queued' && context.run === undefined) this.mustWait(id, context.depends_on, active)
      assert.notEqual(value, 'submitted', 'what was submitted is in the queue')
    }
  }

  private mustWait(id: string, dependsOn: readonly string[], active: readonly string[]): void {
    const states = dependsOn.map((dependency) => this.state(dependency))
    const isDead = states.some(
      (state) => state === undefined || !['submitted', 'queued', 'held', 'running', 'landed'].includes(state),
    )
    assert.ok(!isDead, 'what can never land is no reason to wait')
    const waits =
      active.length >= this.#max ||
      active.some((other) => this.repositories.get(other) === this.repositories.get(id)) ||
      (this.notBeforeMs.get(id) ?? 0) > this.world.platform.wallMs() ||
      states.some((state) => state !== 'landed') ||
      this.paused.has(this.lanes.get(id)!)
    assert.ok(waits, `${id} waits without a reason: ${this.world.scheduler.waitingBecause(id)?.detail}`)
  }
}

t.test('no day breaks a pacing rule, and nothing waits without a reason', (t) => {
  let handOuts = 0
  fc.assert(
    fc.property(fc.constantFrom(1, 2, 3), fc.array(deed, { maxLength: DEEDS_MAX, size: 'max' }), (max, deeds) => {
      const walk = new Walk(max)
      for (const one of deeds) {
        walk.take(one)
        walk.check()
      }
      for (const count of walk.handOuts.values()) handOuts += count
      walk.world.scheduler.close()
    }),
    { numRuns: WALKS },
  )
  t.ok(handOuts > WALKS, `enough was handed out: ${handOuts}`)
  t.end()
})
