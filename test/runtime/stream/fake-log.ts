/**
 * A log in memory for the tests of the event stream. It takes commits and forgets its oldest events, only when the test
 * says so.
 */
import type { CommittedEvent } from '../../../runtime/api.ts'
import { payloadFields } from '../../../runtime/stream/fields.ts'
import type { EventSource } from '../../../runtime/stream/log-window.ts'
import type { Commit, EventPage } from '../../../storage/journal.ts'

export interface EventDraft {
  readonly event_type: string
  readonly project: string
  readonly trace_id?: string | null
  readonly run_request_id?: string
  /** Default: derived from the sequence. */
  readonly id?: string
  /** Name of the token that caused it. */
  readonly by?: string
  readonly payload?: Readonly<Record<string, unknown>>
}

export class FakeLog implements EventSource {
  readonly epoch: string
  oldestSequence = 1
  lastSequence = 0
  /** Number of pages read. */
  reads = 0
  readonly #events: CommittedEvent[] = []
  #listener: ((events: readonly CommittedEvent[], commit: Commit) => void) | undefined

  constructor(epoch = 'e0e0e0e0e0e0') {
    this.epoch = epoch
  }

  /** All events were recorded by one start. */
  incarnationAt(sequence: number): string | undefined {
    return sequence > 0 ? 'i0i0i0' : undefined
  }

  onCommit(listener: (events: readonly CommittedEvent[], commit: Commit) => void): void {
    this.#listener = listener
  }

  /** @param isTold whether listeners are called */
  commit(drafts: readonly EventDraft[], isTold = true): readonly CommittedEvent[] {
    const firstSequence = this.lastSequence + 1
    const events = drafts.map((draft, index) => committedEvent(firstSequence + index, draft))
    for (const event of events) this.#events.push(event)
    this.lastSequence += events.length
    if (isTold) this.#listener?.(events, { batch: 1, firstSequence, lastSequence: this.lastSequence })
    return events
  }

  /** Forgets everything up to and including this sequence. */
  trim(through: number): void {
    this.oldestSequence = Math.max(this.oldestSequence, through + 1)
  }

  all(): readonly CommittedEvent[] {
    return this.#events
  }

  events(after: number, limit: number, bytesMax: number): EventPage {
    this.reads += 1
    const from = Math.max(after, this.oldestSequence - 1)
    const events: { sequence: number; text: string }[] = []
    let bytes = 0
    for (let i = from; i < this.lastSequence && events.length < limit; i++) {
      const { sequence, text } = this.#events[i]!
      bytes += text.length
      if (bytes > bytesMax && events.length > 0) break
      events.push({ sequence, text })
    }
    return { events, oldestSequence: this.oldestSequence, lastSequence: this.lastSequence }
  }
}

/** Adds what lists and look-ups read: pages backwards, histories and single events. */
export class FakeJournal extends FakeLog {
  /** Number of single events read. */
  eventReads = 0
  /** Number of rows read backwards. */
  rowsBackward = 0

  eventsBackward(before: number, limit: number, bytesMax: number): EventPage {
    const { oldestSequence, lastSequence } = this
    const events: { sequence: number; text: string }[] = []
    let bytes = 0
    for (let i = Math.min(before - 1, lastSequence); i >= oldestSequence && events.length < limit; i--) {
      const { sequence, text } = this.all()[i - 1]!
      bytes += text.length
      if (bytes > bytesMax && events.length > 0) break
      events.push({ sequence, text })
    }
    this.rowsBackward += events.length
    return { events, oldestSequence, lastSequence }
  }

  history(of: 'trace' | 'item', id: string, after: number, limit: number): readonly number[] {
    const field = of === 'trace' ? 'trace_id' : 'item_id'
    const isOf = (event: CommittedEvent): boolean => event.sequence > after && event[field] === id
    return this.all()
      .filter((event) => isOf(event) && event.sequence >= this.oldestSequence)
      .slice(0, limit)
      .map((event) => event.sequence)
  }

  historyBackward(of: 'trace' | 'item', id: string, before: number, limit: number): readonly number[] {
    const all = this.history(of, id, 0, Number.POSITIVE_INFINITY)
    return all
      .filter((sequence) => sequence < before)
      .reverse()
      .slice(0, limit)
  }

  event(sequence: number): string | undefined {
    this.eventReads += 1
    return sequence < this.oldestSequence ? undefined : this.all()[sequence - 1]?.text
  }

  hasTrace(project: string, traceId: string): boolean {
    return this.all().some((event) => event.project === project && event.trace_id === traceId)
  }

  eventSequence(project: string, traceId: string | null, id: string): number | undefined {
    const isIt = (event: CommittedEvent): boolean => event.project === project && event.trace_id === traceId
    return this.all().find((event) => isIt(event) && JSON.parse(event.text).id === id)?.sequence
  }
}

/** An event as the runtime commits it: canonical text, and the fields that Watch filters by. */
export function committedEvent(sequence: number, draft: EventDraft): CommittedEvent {
  const { event_type, project, payload = {}, run_request_id } = draft
  const trace_id = draft.trace_id ?? null
  const id = draft.id ?? `evt_${sequence.toString(16).padStart(32, '0')}`
  const at = '2026-01-01T00:00:00.000000Z'
  const text = JSON.stringify({
    by: { id: 'tok_1', name: draft.by ?? 'somebody' },
    causation_id: null,
    event_type,
    gather_id: null,
    id,
    occurred_at: at,
    parent_span_id: null,
    payload,
    project,
    recorded_at: at,
    ...(run_request_id === undefined ? {} : { run_request_id }),
    span_id: null,
    throttle: 'full',
    trace_id,
  })
  const own = run_request_id === undefined ? {} : { run_request_id }
  return { sequence, text, event_type, project, trace_id, ...own, ...payloadFields(payload) }
}
