import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { runRequestModule as module, runRequestMachine } from '../../machines/run-request.ts'
import { MESSAGES } from './run-request-samples.ts'
import { step } from './step.ts'

const SETTLED = ['completed', 'failed', 'cancelled']

const paths = getShortestPaths(runRequestMachine, {
  events: Object.values(MESSAGES) as never,
  serializeState: (snapshot) => String(snapshot.value),
})

t.test('every state can be reached by messages', (t) => {
  const reached = paths.map(({ state }) => String(state.value))
  t.strictSame([...new Set(reached)].sort(), Object.keys(runRequestMachine.states).sort())
  t.end()
})

t.test('every state but the settled ones can be left', (t) => {
  for (const { state } of paths) {
    const next = Object.values(MESSAGES).map((message) => step(module, state as never, message).snapshot.value)
    const leaves = next.some((value) => value !== state.value)
    t.equal(leaves, !SETTLED.includes(String(state.value)), String(state.value))
  }
  t.end()
})
