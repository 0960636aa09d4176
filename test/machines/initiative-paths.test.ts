import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { initiativeMachine, initiativeModule as module } from '../../machines/initiative.ts'
import { MESSAGES } from './initiative-samples.ts'
import { step } from './step.ts'

const FINAL = ['completed', 'cancelled']

const paths = getShortestPaths(initiativeMachine, {
  events: Object.values(MESSAGES) as never,
  // Waiting requests and the assessment under way decide which messages are taken.
  serializeState: ({ value, context }: any) =>
    `${value} ${context.waiting?.length} ${context.assessment?.trigger_id} ${context.assessment?.result?.decision}`,
  stopWhen: ({ context }: any) => (context.waiting?.length ?? 0) > 2,
})

t.test('every state can be reached by messages', (t) => {
  const reached = paths.map(({ state }) => String(state.value))
  t.strictSame([...new Set(reached)].sort(), Object.keys(initiativeMachine.states).sort())
  t.end()
})

t.test('every state but completed and cancelled can be left', (t) => {
  const leaves = new Map<string, boolean>()
  for (const { state } of paths) {
    const value = String(state.value)
    const left = Object.values(MESSAGES).some(
      (message) => step(module, state as never, message).snapshot.value !== value,
    )
    leaves.set(value, (leaves.get(value) ?? false) || left)
  }
  for (const [value, left] of leaves) t.equal(left, !FINAL.includes(value), value)
  t.end()
})
