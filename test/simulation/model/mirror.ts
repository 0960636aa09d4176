/**
 * The log as the disk has flushed it, kept by the checker: what it holds can never be lost, changed or repeated. All
 * that the model knows of entities is folded from here, never asked of the service.
 */
import type { Change } from '../disk/environment.ts'
import { Violation } from '../violation.ts'

export interface LoggedEvent {
  readonly sequence: number
  readonly text: string
  readonly id: string
  readonly type: string
  readonly project: string
  readonly traceId: string | null
  readonly causationId: string | null
  readonly runRequestId: string | undefined
  readonly throttle: string
  readonly by: string
  readonly occurredAt: string
  readonly recordedAt: string
  readonly payload: Record<string, any>
  /** Virtual time at which it was written. */
  readonly atMs: number
}

export class Mirror {
  /** Sequence n is at index n - 1. */
  readonly events: LoggedEvent[] = []

  get lastSequence(): number {
    return this.events.length
  }

  at(sequence: number): LoggedEvent | undefined {
    return this.events[sequence - 1]
  }

  /** Takes what was flushed. Returns the new events, in order. Throws Violation. */
  take(changes: readonly Change[]): readonly LoggedEvent[] {
    const from = this.events.length
    for (const { table, before, after, atMs } of changes) {
      if (table !== 'events') continue
      if (after === undefined) continue
      const first = after.key as number
      if (before !== undefined) throw new Violation('the log only grows', `event ${first} was written over`)
      if (first !== this.events.length + 1) {
        throw new Violation('the log only grows', `event ${first} came behind event ${this.events.length}`)
      }
      for (const text of after.value.split('\n')) this.events.push(eventOf(this.events.length + 1, text, atMs))
    }
    return from === this.events.length ? NONE : this.events.slice(from)
  }
}

const NONE: readonly LoggedEvent[] = []

function eventOf(sequence: number, text: string, atMs: number): LoggedEvent {
  const event = JSON.parse(text)
  return {
    sequence,
    text,
    id: event.id,
    type: event.event_type,
    project: event.project,
    traceId: event.trace_id,
    causationId: event.causation_id,
    runRequestId: event.run_request_id,
    throttle: event.throttle,
    by: event.by.id,
    occurredAt: event.occurred_at,
    recordedAt: event.recorded_at,
    payload: event.payload,
    atMs,
  }
}
