/**
 * Traces of creates that are not committed yet and so unknown to the log. A trace that a caller gives may belong to
 * only one request in its project.
 */
import type { Runtime } from '../api.ts'

const tracesInFlight = new WeakMap<Runtime, Set<string>>()

/** The function to call when no trace was taken. */
export const NOTHING_TAKEN = (): void => {}

/**
 * Takes a trace for commands that are about to be recorded; undefined if it is in use. Returns a function that gives it
 * back, to be called once they are in the log or refused.
 */
export function takeTrace(runtime: Runtime, project: string, traceId: string): (() => void) | undefined {
  const traceKey = `${project}\0${traceId}`
  const inFlight = tracesOf(runtime)
  if (inFlight.has(traceKey) || runtime.journal.hasTrace(project, traceId)) return undefined
  inFlight.add(traceKey)
  return () => inFlight.delete(traceKey)
}

function tracesOf(runtime: Runtime): Set<string> {
  let traces = tracesInFlight.get(runtime)
  if (traces === undefined) {
    traces = new Set()
    tracesInFlight.set(runtime, traces)
  }
  return traces
}
