import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { workItemModule as module, workItemMachine } from '../../machines/work-item.ts'
import { step } from './step.ts'
import { MESSAGES } from './work-item-samples.ts'

const TERMINAL = ['landed', 'cancelled']

const paths = getShortestPaths(workItemMachine, {
  events: Object.values(MESSAGES) as never,
  // A queued item that is handed out takes other messages than one that is not.
  serializeState: ({ value, context }) => `${value} ${context.run?.id} ${context.internal?.stopping}`,
})

t.test('every state can be reached by messages', (t) => {
  const reached = paths.map(({ state }) => String(state.value))
  t.strictSame([...new Set(reached)].sort(), Object.keys(workItemMachine.states).sort())
  t.end()
})

t.test('every state but landed and cancelled can be left', (t) => {
  for (const { state } of paths) {
    const next = Object.values(MESSAGES).map((message) => step(module, state as never, message).snapshot.value)
    const leaves = next.some((value) => value !== state.value)
    t.equal(leaves, !TERMINAL.includes(String(state.value)), String(state.value))
  }
  t.end()
})
