/**
 * Traces under way in creates that are not committed yet: the log cannot know them, and a trace that was given
 * is one request's alone in its project.
 */
import type { Runtime } from '../api.ts'

const tracesInFlight = new WeakMap<Runtime, Set<string>>()

/** Gives nothing back, where nothing was taken. */
export const NOTHING_TAKEN = (): void => {}

/**
 * Take a trace for commands that are about to be recorded, unless it is in use. Answers the function that gives it
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
