import fc from 'fast-check'
import t from 'tap'
import { createMachine, transition } from 'xstate'
import type { MachineModule } from '../../machines/machine.ts'
import { MachineRefused, type Outcome, Stepper } from '../../runtime/scope.ts'
import { toyModule } from './toy.ts'

const messages = [
  'create',
  'bump',
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

t.test('the cached scope steps exactly as XState does', async (t) => {
  const walk = fc.array(fc.record({ type: fc.constantFrom(...messages), text: fc.string() }), { maxLength: 30 })
  fc.assert(
    fc.property(walk, (steps) => {
      const stepper = new Stepper(toyModule)
      let ours = stepper.initial
      let theirs: any = stepper.initial
      for (const [index, step] of steps.entries()) {
        const message = { ...step, id: 'toy', to: 'other', afterMs: 5, at: 'now', atMs: index }
        const outcomes: Outcome[] = []
        const next = stepper.step(ours, message, outcomes)
        const [expected, actions] = transition(toyModule.machine, theirs, message as never)
        t.equal(next === ours, expected === theirs, 'both hand the same snapshot back or neither')
        t.same(JSON.parse(JSON.stringify(next)), JSON.parse(JSON.stringify(expected)))
        t.same(
          outcomes.map((outcome) => Object.values(outcome)[1]),
          actions.map((action: any) => (action.type === 'xstate.emit' ? action.params.event : action.params)),
        )
        ours = next
        theirs = expected
      }
    }),
    { numRuns: 200 },
  )
})

t.test('a step leaves the snapshot that it was given as it was', async (t) => {
  const stepper = new Stepper(toyModule)
  const created = stepper.step(stepper.initial, { type: 'create', id: 'a', at: '', atMs: 0 } as never, [])
  const before = JSON.stringify(created)
  stepper.step(created, { type: 'bump', at: '', atMs: 0 } as never, [])
  t.equal(JSON.stringify(created), before)
  t.equal(JSON.stringify(stepper.initial.value), '"absent"')
})

t.test('a step that throws does not disturb the next one', async (t) => {
  const stepper = new Stepper(toyModule)
  const created = stepper.step(stepper.initial, { type: 'create', id: 'a', at: '', atMs: 0 } as never, [])
  t.throws(() => stepper.step(created, { type: 'break', at: '', atMs: 0 } as never, []))
  const outcomes: Outcome[] = []
  const next = stepper.step(created, { type: 'bump', at: '', atMs: 0 } as never, outcomes)
  t.equal(next.context.count, 1)
  t.equal(outcomes.length, 1)
})

t.test('the messages that a state takes leave out those that only the runtime sends', async (t) => {
  const stepper = new Stepper(toyModule)
  t.same(stepper.allowed(stepper.initial), ['create'])
  const created = stepper.step(stepper.initial, { type: 'create', id: 'a', at: '', atMs: 0 } as never, [])
  t.same(stepper.allowed(created), ['break', 'bump', 'later', 'never', 'record', 'sleep', 'stop', 'tell'])
})

t.test('what a durable machine cannot have is refused when it is registered', async (t) => {
  const withMachine = (config: object): MachineModule => ({ ...toyModule, machine: createMachine(config as never) })
  const refused: Record<string, object> = {
    'no state absent': { initial: 'on', states: { on: {} } },
    'another initial state': { initial: 'on', states: { on: {}, absent: {} } },
    'a timer of XState': { initial: 'absent', states: { absent: { after: { 10: 'on' } }, on: {} } },
    'an invoked actor': { initial: 'absent', states: { absent: { invoke: { src: 'work' } } } },
    'nested states': { initial: 'absent', states: { absent: { initial: 'a', states: { a: {} } } } },
    'a final state': { initial: 'absent', states: { absent: {}, end: { type: 'final' } } },
  }
  for (const [why, config] of Object.entries(refused))
    t.throws(() => new Stepper(withMachine(config)), MachineRefused, why)
})
