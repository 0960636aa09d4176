/**
 * A run of batches that is the same whoever computes it: the process that is killed appends them, and the one that
 * looks afterwards knows what batch n must have left.
 */
import type { Step } from '../../storage/journal.ts'
import type { Batch } from '../../storage/log/redo.ts'
import { changeTo, event, state, step } from './steps.ts'

const ACTORS = 13
const STATES = ['queued', 'offered', 'started', 'completed'] as const

export interface ModelActor {
  version: number
  at: string
  /** Number of the last message that it sent; each is consumed by the actor's next step but one. */
  sent: number
}

export type Model = Map<string, ModelActor>

/** The steps of batch `n` on the model, which they advance. */
export function nextBatch(model: Model, n: number): Step[] {
  const steps: Step[] = []
  for (let k = 0; k <= n % 7; k += 1) {
    const id = `r${(n * 5 + k) % ACTORS}`
    const before = model.get(id)
    const version = (before?.version ?? 0) + 1
    const at = STATES[version % STATES.length]!
    const events = Array.from({ length: (n + k) % 3 }, (_, i) =>
      event(`${n}.${k}.${i}`, { traceId: id, itemId: 'wi_1' }),
    )
    steps.push(
      step(id, version, {
        events,
        // Some records are written in full, as after a step on a record of an older shape.
        ...(before !== undefined && version % 3 !== 0 && { change: changeTo(version) }),
        termsRemoved: before === undefined ? [] : [state(before.at)],
        termsAdded: [state(at)],
        timersCleared: before === undefined ? [] : [{ name: 'x', dueMs: before.version }],
        timersSet: [{ name: 'x', dueMs: version, generation: version, message: { type: 'x' } }],
        outbox: [{ n: version, toKind: 'run_request', toId: id, message: { type: 'm' } }],
        ...(before !== undefined && { consumed: { kind: 'run_request', id, n: before.sent } }),
        reservation: { scope: id, key: 'k', value: String(version) },
      }),
    )
    model.set(id, { version, at, sent: version })
  }
  return steps
}

/** The model after this many batches, with the number of events in the log. */
export function modelAfter(batches: number): { model: Model; events: number } {
  const model: Model = new Map()
  let events = 0
  for (let n = 1; n <= batches; n += 1) for (const { events: made } of nextBatch(model, n)) events += made.length
  return { model, events }
}

/** Batches 1 to `count`, as the log numbers them. */
export function firstBatches(count: number): Batch[] {
  const model: Model = new Map()
  let sequence = 0
  return Array.from({ length: count }, (_, i) => {
    const steps = nextBatch(model, i + 1)
    const firstSequence = sequence + 1
    for (const { events } of steps) sequence += events.length
    return { batch: i + 1, firstSequence, lastSequence: sequence, steps }
  })
}
