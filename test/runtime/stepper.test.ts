import fc from 'fast-check'
import t from 'tap'
import { createActor, createMachine, transition } from 'xstate'
import type { MachineModule } from '../../machines/machine.ts'
import { encodeRecord } from '../../runtime/record.ts'
import { MachineRefused, type Outcome, Stepper } from '../../runtime/stepper.ts'
import { toyModule } from './toy.ts'

const messages = [
  'create',
  'bump',
  'ring',
  'look',
  'tell',
  'hear',
  'later',
  'never',
  'stop',
  'start',
  'sleep',
  'wake',
  'nonsense',
]

/** Where XState's pure functions start. */
const stepsOfXState = (from: any, message: object) => transition(toyModule.machine, from, message as never)

function created(stepper: Stepper) {
  return stepper.step(stepper.initial, { type: 'create', id: 'a', at: '', atMs: 0 } as never, [])!
}

t.test("the stepper's table takes the same steps as XState", async (t) => {
  const walk = fc.array(fc.record({ type: fc.constantFrom(...messages), text: fc.string() }), { maxLength: 30 })
  fc.assert(
    fc.property(walk, (steps) => {
      const stepper = new Stepper(toyModule)
      let ours = stepper.initial
      let theirs: any = createActor(toyModule.machine).getSnapshot()
      for (const [index, step] of steps.entries()) {
        const message = { ...step, id: 'toy', to: 'other', afterMs: 5, at: 'now', atMs: index }
        const outcomes: Outcome[] = []
        const next = stepper.step(ours, message, outcomes)
        const isTaken = theirs.can(message)
        const [expected, actions] = stepsOfXState(theirs, message)
        t.equal(next !== undefined, isTaken, 'both take the message or neither')
        ours = next ?? ours
        theirs = expected
        t.same({ value: ours.value, context: ours.context }, { value: theirs.value, context: theirs.context })
        t.same(
          outcomes.map((outcome) => Object.values(outcome)[1]),
          actions.map((action: any) => (action.type === 'xstate.emit' ? action.params.event : action.params)),
        )
      }
    }),
    { numRuns: 200 },
  )
})

t.test('XState can open the snapshots that the runtime persists', async (t) => {
  const stepper = new Stepper(toyModule)
  const record = { snapshot: created(stepper), version: 1, outboxNumber: 0, timers: {}, seen: {}, isStored: true }
  const { s } = JSON.parse(encodeRecord({ version: 1 }, record))
  const opened = createActor(toyModule.machine, { snapshot: s }).getSnapshot()
  t.same({ value: opened.value, context: opened.context }, { value: 'on', context: record.snapshot.context })
  t.same(stepper.restore(s), record.snapshot)
})

t.test('a step does not change the snapshot that it is given', async (t) => {
  const stepper = new Stepper(toyModule)
  const snapshot = created(stepper)
  const before = JSON.stringify(snapshot)
  stepper.step(snapshot, { type: 'bump', at: '', atMs: 0 } as never, [])
  t.equal(JSON.stringify(snapshot), before)
  t.equal(stepper.initial.value, 'absent')
})

t.test(
  'a message that changes nothing returns the same snapshot, and one that is not taken returns undefined',
  async (t) => {
    const stepper = new Stepper(toyModule)
    const snapshot = created(stepper)
    t.equal(stepper.step(snapshot, { type: 'record', events: [], at: '', atMs: 0 } as never, []), snapshot)
    t.equal(stepper.step(snapshot, { type: 'start', at: '', atMs: 0 } as never, []), undefined)
  },
)

t.test('a step that throws leaves no outcomes behind for the next one', async (t) => {
  const stepper = new Stepper(toyModule)
  const snapshot = created(stepper)
  t.throws(() => stepper.step(snapshot, { type: 'break', at: '', atMs: 0 } as never, []))
  const outcomes: Outcome[] = []
  const next = stepper.step(snapshot, { type: 'bump', at: '', atMs: 0 } as never, outcomes)
  t.equal(next?.context.count, 1)
  t.equal(outcomes.length, 1)
})

t.test('the allowed messages of a state leave out internal ones', async (t) => {
  const stepper = new Stepper(toyModule)
  t.same(stepper.allowed(stepper.initial), ['create'])
  t.same(stepper.allowed(created(stepper)), [
    'break',
    'bump',
    'later',
    'never',
    'record',
    'ring',
    'sleep',
    'stop',
    'tell',
  ])
})

t.test('a machine that uses what a durable machine cannot have is refused at registration', async (t) => {
  const withMachine = (config: object): MachineModule => ({ ...toyModule, machine: createMachine(config as never) })
  const refused: Record<string, object> = {
    'no state absent': { initial: 'on', states: { on: {} } },
    'another initial state': { initial: 'on', states: { on: {}, absent: {} } },
    'a timer of XState': { initial: 'absent', states: { absent: { after: { 10: 'on' } }, on: {} } },
    'an invoked actor': { initial: 'absent', states: { absent: { invoke: { src: 'work' } } } },
    'nested states': { initial: 'absent', states: { absent: { initial: 'a', states: { a: {} } } } },
    'an action on entry': { initial: 'absent', states: { absent: { entry: () => {} } } },
    'a move without a message': { initial: 'absent', states: { absent: { always: 'on' }, on: {} } },
    'a message of the root': { initial: 'absent', states: { absent: {} }, on: { stop: '.absent' } },
    'a wildcard': { initial: 'absent', states: { absent: { on: { '*': 'on' } }, on: {} } },
    'an effect that nobody carries out': {
      initial: 'absent',
      states: { absent: { on: { go: { actions: () => {} } } } },
    },
    'a final state': { initial: 'absent', states: { absent: {}, end: { type: 'final' } } },
  }
  for (const [why, config] of Object.entries(refused))
    t.throws(() => new Stepper(withMachine(config)), MachineRefused, why)
})
