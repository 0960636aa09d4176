/** Steps and events for the storage tests: short to write, and complete enough for the journal. */
import { createHash } from 'node:crypto'
import type { Commit, Journal, JournalFailure, NewEvent, Step } from '../../storage/journal.ts'

export const AT = '2026-11-21T10:00:00.000001Z'

export function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits)
}

export interface EventOptions {
  readonly project?: string
  readonly traceId?: string | null
  readonly itemId?: string
  readonly occurredAt?: string
  readonly recordedAt?: string
}

export function event(name: string, options: EventOptions = {}): NewEvent {
  const { project = 'demo', traceId = null, itemId, occurredAt = AT, recordedAt = AT } = options
  const id = `evt_${hex(name, 32)}`
  const payload = { name, ...(itemId !== undefined && { item_id: itemId }) }
  const text = JSON.stringify({
    event_type: 'tested',
    id,
    occurred_at: occurredAt,
    payload,
    project,
    recorded_at: recordedAt,
    trace_id: traceId,
  })
  return { id, project, traceId, text, ...(itemId !== undefined && { itemId }) }
}

export function step(id: string, version: number, rest: Partial<Step> = {}): Step {
  return {
    kind: 'run_request',
    id,
    version,
    record: JSON.stringify({ v: version, id, s: { value: 'on', context: { id, count: version } } }),
    termsAdded: [],
    termsRemoved: [],
    events: [],
    timersSet: [],
    timersCleared: [],
    outbox: [],
    ...rest,
  }
}

/** What a `step` of this version changes in the record of the version before. */
export const changeTo = (version: number) => JSON.stringify({ v: version, set: { count: version } })

/** A term of the index `state`, as a record of `order` would have it. */
export const state = (value: string, order = AT) => ({ index: 'state', value, order })

export function append(journal: Journal, ...steps: Step[]): Promise<Commit> {
  return answered((done) => journal.append(steps, done))
}

/** Appends the events as those of some new actor. */
export function appendEvents(journal: Journal, ...events: NewEvent[]): Promise<Commit> {
  return append(journal, step(`of-${events[0]!.id}`, 1, { events }))
}

function answered(
  call: (done: (failure: JournalFailure | null, commit: Commit | null) => void) => void,
): Promise<Commit> {
  return new Promise((resolve, reject) => {
    call((failure, commit) => (failure === null ? resolve(commit!) : reject(failure)))
  })
}
