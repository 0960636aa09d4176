/**
 * What those around the service were told, and when: the only truth that counts after it died. An entry names the event
 * that must be in the log because of it.
 */

/** An event of the log, as far as it is compared. */
export interface Fact {
  readonly id: string
  readonly type: string
  readonly requestId: string | undefined
  /** The state of its run request and the attempt, where the event says so. */
  readonly state: string | undefined
  readonly attempt: number | undefined
  readonly greeting: string | undefined
  /** The work item that it names, and the state that it states. */
  readonly itemId: string | undefined
  readonly itemState: string | undefined
  /** The sentinel that it is about, the time at which that fell due, and the item that it names. */
  readonly sentinel: { readonly name: string; readonly dueAt?: string; readonly itemId?: string } | undefined
  /** Its subject, where that is a brief or an observation. */
  readonly subject: string | undefined
  readonly recordedMs: number
}

export interface Told {
  /** Monotonic clock, as in the shim's trace. */
  readonly atNs: number
  readonly atMs: number
  /** `factKey` or the id of the event. */
  readonly key: string
}

interface WatchedFrame {
  readonly atNs: number
  readonly cursor: string
  readonly facts: readonly Fact[]
}

export const nowNs = (): number => Number(process.hrtime.bigint())

export function factOf(event: any): Fact {
  const payload = event.payload ?? {}
  const isMove = event.event_type.startsWith('run_request_')
  const isOfItem = event.event_type.startsWith('work_item_')
  const isOfSentinel = event.event_type.startsWith('sentinel_')
  return {
    id: event.id,
    type: event.event_type,
    requestId: event.run_request_id,
    state: isMove ? payload.state : undefined,
    attempt: isMove ? payload.attempt : undefined,
    greeting: typeof payload.greeting === 'string' ? payload.greeting : undefined,
    itemId: isOfItem ? payload.item_id : undefined,
    itemState: isOfItem ? payload.state : undefined,
    sentinel: isOfSentinel ? { name: payload.sentinel, dueAt: payload.due_at, itemId: payload.item_id } : undefined,
    subject: payload.observation_id ?? payload.formation_brief_id,
    recordedMs: Date.parse(event.recorded_at),
  }
}

/** The names under which an event may be looked up. */
export function keysOf(fact: Fact): string[] {
  const keys = [fact.id]
  if (fact.greeting !== undefined) keys.push(`greeting ${fact.greeting}`)
  if (fact.itemId !== undefined) keys.push(`${fact.type} ${fact.itemId}`)
  if (fact.sentinel !== undefined) keys.push(`${fact.type} ${fact.sentinel.itemId ?? fact.sentinel.name}`)
  if (fact.subject !== undefined) keys.push(`${fact.type} ${fact.subject}`)
  if (fact.requestId !== undefined) keys.push(`${fact.type} ${fact.requestId}`)
  if (fact.requestId !== undefined && fact.attempt !== undefined)
    keys.push(`${fact.type} ${fact.requestId}/${fact.attempt}`)
  return keys
}

/** The number at the end of a cursor: how many events of the log's whole life lie before it. */
export const sequenceOf = (cursor: string): number => Number.parseInt(cursor.split('.')[1]!, 36)

export class Memory {
  told: Told[] = []
  /** Run requests whose creation was acknowledged. */
  created = new Map<string, number>()
  /** What Watch sent, frame by frame. */
  watched: WatchedFrame[] = []
  /** Backups that were reported complete. */
  backups: { readonly atNs: number; readonly path: string }[] = []
  /** `request/attempt` -> the runner that was told to begin. */
  readonly begun = new Map<string, { readonly atNs: number; readonly runner: string }>()
  /** Answers that a careful client does not expect. */
  readonly faults: string[] = []
  /** Places in the log that answers named, each further than the one before. */
  reached: { readonly atNs: number; readonly sequence: number }[] = []

  reach(cursor: string): void {
    const sequence = sequenceOf(cursor)
    if (sequence > this.lastSequence) this.reached.push({ atNs: nowNs(), sequence })
  }

  get lastSequence(): number {
    return this.reached.at(-1)?.sequence ?? 0
  }

  tell(key: string): void {
    this.told.push({ atNs: nowNs(), atMs: Date.now(), key })
  }

  begin(request: string, attempt: number, runner: string): void {
    const key = `${request}/${attempt}`
    const holder = this.begun.get(key)?.runner
    if (holder !== undefined && holder !== runner) this.faults.push(`${key} was begun by ${holder} and by ${runner}`)
    this.begun.set(key, { atNs: nowNs(), runner })
    this.tell(`run_request_started ${key}`)
  }

  watch(frame: { cursor: string; events?: any[] }): void {
    this.watched.push({ atNs: nowNs(), cursor: frame.cursor, facts: (frame.events ?? []).map(factOf) })
  }

  /** The last place that Watch sent, or the beginning. */
  get cursor(): string {
    return this.watched.at(-1)?.cursor ?? 'earliest'
  }

  get watchedFacts(): Fact[] {
    return this.watched.flatMap(({ facts }) => facts)
  }

  /** The memory of the same people, had they died at this moment. */
  until(atNs: number): Memory {
    const earlier = new Memory()
    earlier.told = this.told.filter((one) => one.atNs <= atNs)
    earlier.watched = this.watched.filter((one) => one.atNs <= atNs)
    earlier.reached = this.reached.filter((one) => one.atNs <= atNs)
    earlier.backups = this.backups.filter((one) => one.atNs <= atNs)
    earlier.created = new Map([...this.created].filter(([, one]) => one <= atNs))
    for (const [key, one] of this.begun) if (one.atNs <= atNs) earlier.begun.set(key, one)
    return earlier
  }
}
