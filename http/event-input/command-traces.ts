/**
 * The traces of emitted commands. Each command creates a run request, and a trace belongs to one run request. So a
 * trace that a command states must be unused in its project, and only one command can continue the caller's
 * `traceparent`.
 */
import { TRACE_ID_PATTERN } from '../../machines/documents/fields.ts'
import type { PreparedEvent } from '../../machines/events/envelope.ts'
import { isCommand } from '../../machines/events/index.ts'
import type { Runtime } from '../../runtime/api.ts'
import { commandPlace } from '../../runtime/entities/run-requests.ts'
import { takeTrace } from '../../runtime/entities/traces-in-flight.ts'
import { type HoldUntil, holding } from '../holding.ts'
import type { StatedEvent } from './strict-admission.ts'

export interface CommandTraces {
  /** Indexes of the commands that cannot continue the caller's trace and begin their own. */
  readonly others: ReadonlySet<number>
  /** Index of the first command that states a trace already in use. */
  readonly inUse: number | undefined
}

/**
 * The command's idempotency key. It names the event, so that the same command, sent again, finds the run request it
 * created.
 */
export function commandKey({ id }: PreparedEvent): string {
  return `event:${id}`
}

/** W3C trace context: the runner's `traceparent` is built from the trace id. */
const TRACE_ID = new RegExp(TRACE_ID_PATTERN)

/** Index of the first command whose trace id no run can be traced under; -1 if there is none. */
export function commandWithoutTrace(prepared: readonly PreparedEvent[]): number {
  return prepared.findIndex(({ event_type, trace_id }) => isCommand(event_type) && !TRACE_ID.test(trace_id ?? ''))
}

/**
 * Reserves the traces of a post's commands while `run` and the replies it wraps with `until` go on; by then the
 * commands are in the log or refused. A command recorded before keeps the trace that it has.
 */
export function holdingTraces(
  runtime: Runtime,
  project: { readonly id: string; readonly key: string },
  stated: readonly StatedEvent[],
  prepared: readonly PreparedEvent[],
  run: (traces: CommandTraces, until: HoldUntil) => void,
): void {
  const taken = new Map<string, () => void>()
  const giveBack = (): void => {
    for (const giveOneBack of taken.values()) giveOneBack()
  }
  holding(giveBack, (until) => {
    const others = new Set<number>()
    let inUse: number | undefined
    for (const [i, event] of prepared.entries()) {
      const { id, trace_id, event_type } = event
      if (trace_id === null || !isCommand(event_type) || taken.has(id) || isRecorded(runtime, project, event)) continue
      const giveOneBack = takeTrace(runtime, project.key, trace_id)
      if (giveOneBack !== undefined) taken.set(id, giveOneBack)
      else if (stated[i]!.trace_id === undefined) others.add(i)
      else inUse ??= i
    }
    run({ others, inUse }, until)
  })
}

function isRecorded(runtime: Runtime, project: { readonly id: string; readonly key: string }, event: PreparedEvent) {
  const { id } = commandPlace(runtime, project.id, commandKey(event))
  if (runtime.read({ kind: 'run_request', id }) !== undefined) return true
  return runtime.journal.eventSequence(project.key, event.trace_id, event.id) !== undefined
}
