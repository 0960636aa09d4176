/**
 * Steps a statechart with XState's own pure functions, and asks the module what the runtime asks: first whether the
 * message is a repeat, then the chart, then the reason of a refusal.
 */
import { deepStrictEqual, strictEqual as equal } from 'node:assert/strict'
import { resolve } from 'node:path'
import { createActor, initialTransition, transition } from 'xstate'
import { canonical } from '../../machines/canonical.ts'
import { validatePayload } from '../../machines/events/index.ts'
import type {
  CancelTimerParams,
  Fact,
  MachineModule,
  Message,
  ScheduleParams,
  SendParams,
  SnapshotOf,
} from '../../machines/machine.ts'
import { type Aspect, differences, type StatedFact } from '../../machines/testimony.ts'
import { encodeChange, encodeRecord } from '../../runtime/record.ts'
import { type Outcome, Stepper } from '../../runtime/stepper.ts'
import { changedRecord } from '../../storage/log/record-change.ts'

/** Where a test's snapshots are kept, whatever folder it was compiled to. Absolute, or tap does not find it. */
export function snapshotFile(name: string): string {
  return resolve('tap-snapshots/machines', `${name}.cjs`)
}

interface Stepped {
  readonly snapshot: SnapshotOf<any>
  readonly repeat?: string
  /** `illegal_move` unless the machine gives a code of its own. */
  readonly refused?: string
  readonly facts: readonly Fact[]
  readonly sends: readonly SendParams[]
  readonly scheduled: readonly ScheduleParams[]
  readonly cancelled: readonly string[]
}

const AT_MS = Date.parse('2026-01-01T00:00:00Z')

/** Walks ask for the same few hundred times over and over. */
const timeTexts = new Map<number, string>()

/** A message as the runtime stamps it: `seconds` after the beginning of the tests' time. */
export function at<B extends { readonly type: string }>(seconds: number, body: B): Message<B> {
  const atMs = AT_MS + seconds * 1000
  let text = timeTexts.get(atMs)
  if (text === undefined) {
    text = new Date(atMs).toISOString().replace('Z', '000Z')
    timeTexts.set(atMs, text)
  }
  return { ...body, at: text, atMs }
}

/** The snapshot of an actor that does not exist. */
export function absent(module: MachineModule): SnapshotOf<any> {
  return initialTransition(module.machine)[0] as SnapshotOf<any>
}

const NOTHING = { facts: [], sends: [], scheduled: [], cancelled: [] }

const steppers = new Map<MachineModule, Stepper>()

/** Every step taken with XState is also taken with the runtime's table, and must come out the same. */
function assertSameInTheTable(module: MachineModule, before: SnapshotOf<any>, message: Message<any>, told: object) {
  let stepper = steppers.get(module)
  if (stepper === undefined) {
    stepper = new Stepper(module)
    steppers.set(module, stepper)
  }
  const outcomes: Outcome[] = []
  const next = stepper.step(before, message, outcomes)
  const of = (kind: Outcome['kind']) => outcomes.filter((one) => one.kind === kind).map((one: any) => one[kind])
  const ours = {
    value: next?.value ?? before.value,
    context: next?.context ?? before.context,
    facts: of('fact'),
    sends: of('send'),
    scheduled: of('schedule'),
    cancelled: of('cancelTimer').map(({ timer }) => timer),
  }
  deepStrictEqual(ours, told, `${message.type} in ${before.value}`)
}

/** What the log keeps of a step, applied to the record before it, gives the record after it. */
function assertSameFromTheChange(module: MachineModule, before: SnapshotOf<any>, after: SnapshotOf<any>): void {
  const record = { outboxNumber: 3, timers: { x: { dueMs: 1, generation: 1 } }, seen: {}, isStored: true }
  const was = { ...record, snapshot: before, version: 4 }
  const is = { ...record, snapshot: after, version: 5, outboxNumber: 4, timers: {}, seen: { 'project/p': 9 } }
  const changed = changedRecord(encodeRecord(module, was), encodeChange(was, is)!)
  const whole = encodeRecord(module, is)
  // Mostly the texts are the same already, and tens of thousands of steps need not be parsed.
  if (changed !== whole) deepStrictEqual(JSON.parse(changed), JSON.parse(whole))
  const context = JSON.stringify(after.context)
  if (!whole.endsWith(`"context":${context}}}`)) deepStrictEqual(JSON.parse(whole).s.context, JSON.parse(context))
  if (before.value === 'absent') return
  for (const member of module.cachedMembers ?? [])
    equal(after.context[member], before.context[member], `${member} is a lasting one`)
}

/** Every stated fact satisfies the catalogue: checked at each step of any test, including tables and walks. */
function assertFact(fact: Fact, where: string): void {
  if ('recorded' in fact) return
  // As the log takes it: a member that is undefined is not JSON, and would end the step.
  const payload = JSON.parse(canonical(fact.payload))
  deepStrictEqual(validatePayload(fact.type, payload), [], `${fact.type} of ${where}`)
}

/** The newest fact of each aspect behind a snapshot that a step has led to. */
const standing = new WeakMap<SnapshotOf<any>, ReadonlyMap<Aspect, StatedFact>>()

/** Checks that what facts assert, of this step or an earlier one, is what the snapshot has after it. */
function assertTestimony(
  { testimony, envelope, kind }: MachineModule,
  facts: readonly Fact[],
  before: SnapshotOf<any>,
  after: SnapshotOf<any>,
) {
  const newest = new Map(standing.get(before))
  for (const fact of facts) {
    const stated = (
      'recorded' in fact ? fact.recorded : { ...envelope(after.context), event_type: fact.type, payload: fact.payload }
    ) as StatedFact
    const asserts = testimony.types.has(stated.event_type)
    deepStrictEqual(asserts || 'recorded' in fact, true, `${fact.type} asserts nothing`)
    if (asserts) for (const aspect of testimony.aspects(stated)) newest.set(aspect, stated)
  }
  const held = testimony.held(after)
  for (const [aspect, stated] of newest)
    deepStrictEqual(differences(testimony.claims(aspect, stated), held), [], `${stated.event_type} of a ${kind}`)
  standing.set(after, newest)
}

/** One message, as the runtime takes it. */
export function step(module: MachineModule, snapshot: SnapshotOf<any>, message: Message<any>): Stepped {
  const repeat = module.repeats(snapshot, message)
  if (repeat !== undefined) return { ...NOTHING, snapshot, repeat }
  const [next, actions] = transition(module.machine, snapshot as any, message as any)
  if (next === (snapshot as unknown)) {
    const { value, context } = snapshot
    assertSameInTheTable(module, snapshot, message, {
      value,
      context,
      facts: [],
      sends: [],
      scheduled: [],
      cancelled: [],
    })
    return { ...NOTHING, snapshot, refused: module.refusal(snapshot, message)?.code ?? 'illegal_move' }
  }
  const taken = next as unknown as SnapshotOf<any>
  const named = actions as unknown as readonly { readonly type: string; readonly params: any }[]
  const paramsOf = (type: string) => named.filter((action) => action.type === type).map(({ params }) => params)
  const asked = {
    facts: paramsOf('xstate.emit').map(({ event }) => event as Fact),
    sends: paramsOf('send').filter((params) => params !== undefined) as SendParams[],
    scheduled: paramsOf('schedule') as ScheduleParams[],
    cancelled: paramsOf('cancelTimer').map(({ timer }: CancelTimerParams) => timer),
  }
  assertSameInTheTable(module, snapshot, message, { value: taken.value, context: taken.context, ...asked })
  assertSameFromTheChange(module, snapshot, taken)
  for (const fact of asked.facts) assertFact(fact, `${message.type} in ${snapshot.value}`)
  assertTestimony(module, asked.facts, snapshot, taken)
  return { snapshot: taken, ...asked }
}

/** The snapshot after all of the messages; every one must be taken. */
export function after(module: MachineModule, messages: readonly Message<any>[]): SnapshotOf<any> {
  let snapshot = absent(module)
  for (const message of messages) {
    const stepped = step(module, snapshot, message)
    if (stepped.refused !== undefined || stepped.repeat !== undefined) {
      throw new Error(`${message.type} in ${snapshot.value}: ${stepped.refused ?? stepped.repeat}`)
    }
    snapshot = stepped.snapshot
  }
  return snapshot
}

/** The snapshot as the journal stores it and opens it again. */
export function reopened(module: MachineModule, snapshot: SnapshotOf<any>): SnapshotOf<any> {
  const persisted = JSON.parse(JSON.stringify(module.machine.getPersistedSnapshot(snapshot as any)))
  return createActor(module.machine, { snapshot: persisted }).getSnapshot() as unknown as SnapshotOf<any>
}

/** A step as one line of a table for people to read. */
export function told(before: SnapshotOf<any>, stepped: Stepped): string {
  if (stepped.repeat !== undefined) return `repeat ${stepped.repeat}`
  if (stepped.refused !== undefined) return `refused ${stepped.refused}`
  const { snapshot, facts, sends, scheduled, cancelled } = stepped
  const parts = [snapshot.value === before.value ? 'stays' : `-> ${snapshot.value}`]
  if (facts.length > 0) parts.push(`facts ${facts.map(({ type }) => type).join(', ')}`)
  if (sends.length > 0) parts.push(`sends ${sends.map(({ to, message }) => `${to.kind}.${message.type}`).join(', ')}`)
  if (scheduled.length > 0) parts.push(`arms ${scheduled.map(({ timer }) => timer).join(', ')}`)
  if (cancelled.length > 0) parts.push(`clears ${cancelled.join(', ')}`)
  return parts.join('; ')
}

/** Every message in every state, as text. */
export function table(
  module: MachineModule,
  states: Readonly<Record<string, SnapshotOf<any>>>,
  messages: Readonly<Record<string, Message<any>>>,
): string {
  const width = Math.max(...Object.keys(messages).map(({ length }) => length))
  const lines: string[] = []
  for (const [state, snapshot] of Object.entries(states)) {
    lines.push(`${state}:`)
    for (const [label, message] of Object.entries(messages)) {
      lines.push(`  ${label.padEnd(width)}  ${told(snapshot, step(module, snapshot, message))}`)
    }
  }
  return lines.join('\n')
}
