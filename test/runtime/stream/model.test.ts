/**
 * The stream against its model in one sentence: a watcher sees the matching events after its first cursor, each once,
 * in order, through any commits, backpressure, cuts, resumes and retention.
 */
import fc from 'fast-check'
import t from 'tap'
import type { CommittedEvent } from '../../../runtime/api.ts'
import { encodeCursor, placeOf } from '../../../runtime/stream/cursor.ts'
import { EventStream } from '../../../runtime/stream/event-stream.ts'
import { Filter, type FilterTerms } from '../../../runtime/stream/filter.ts'
import { type StreamLimits, streamLimits } from '../../../runtime/stream/limits.ts'
import { ReadTurns } from '../../../runtime/stream/read-turns.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { type EventDraft, FakeLog } from './fake-log.ts'
import { FakeSink } from './fake-sink.ts'

/** One watcher over all its connections. */
interface Watcher {
  readonly filter: Filter
  /** The sequence of its first hello. */
  readonly start: number
  sink: FakeSink
  /** Ids seen over earlier connections. */
  readonly seen: string[]
}

type Op =
  | { readonly op: 'commit'; readonly drafts: readonly EventDraft[]; readonly isTold: boolean }
  | {
      readonly op: 'watch'
      readonly terms: FilterTerms
      readonly visible?: readonly string[]
      readonly at: number
      readonly room: number
    }
  | { readonly op: 'turn' }
  | { readonly op: 'advance'; readonly ms: number }
  | { readonly op: 'drain'; readonly who: number; readonly room: number }
  | { readonly op: 'resume'; readonly who: number; readonly room: number }
  | { readonly op: 'gone'; readonly who: number }
  | { readonly op: 'trim'; readonly share: number }

const project = fc.constantFrom('a', 'b', 'system')
const type = fc.constantFrom('x', 'y', 'pacing_paused')
const trace = fc.constantFrom('t1', 't2', null)
const word = fc.constantFrom('1', '2', '"project":"a"', 'x","project":"b')
const draft: fc.Arbitrary<EventDraft> = fc.record({
  event_type: type,
  project,
  trace_id: trace,
  payload: fc.dictionary(fc.constantFrom('item_id', 'campaign', 'project', 'event_type'), word, { maxKeys: 3 }),
})
const terms: fc.Arbitrary<FilterTerms> = fc.record(
  {
    project: fc.uniqueArray(project, { minLength: 1, maxLength: 2 }),
    event_type: fc.uniqueArray(type, { minLength: 1, maxLength: 2 }),
    trace_id: fc.constant(['t1']),
    item_id: fc.uniqueArray(word, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: [] },
)
/** Mostly one of two filters, so that groups have several members. */
const commonTerms: fc.Arbitrary<FilterTerms> = fc.constantFrom({}, { project: ['a'] })
const who = fc.nat(7)
const room = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(1_000))
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      op: fc.constant('commit' as const),
      drafts: fc.array(draft, { minLength: 1, maxLength: 6 }),
      isTold: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        op: fc.constant('watch' as const),
        terms: fc.oneof(commonTerms, terms),
        visible: fc.uniqueArray(project, { maxLength: 2 }),
        at: fc.nat(100),
        room,
      },
      { requiredKeys: ['op', 'terms', 'at', 'room'] },
    ) as fc.Arbitrary<Op>,
  },
  { weight: 4, arbitrary: fc.constant({ op: 'turn' as const }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 12_000 }) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('drain' as const), who, room }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('resume' as const), who, room }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('gone' as const), who }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('trim' as const), share: fc.nat(100) }) },
)

/** Small enough that every bound is reached. */
const limits: StreamLimits = { ...streamLimits, frameEventsMax: 3, tailEventsMax: 8, pagesMax: 3, pageFramesMax: 1 }

class World {
  readonly log = new FakeLog()
  readonly platform = new ManualPlatform()
  readonly watchers: Watcher[] = []
  readonly #stream = new EventStream(this.log, new ReadTurns(this.platform), limits)

  constructor() {
    this.log.onCommit((events, commit) => this.#stream.committed(events, commit))
  }

  #connect(filter: Filter, after: number, capacity: number): FakeSink {
    const sink = new FakeSink(capacity)
    sink.subscription = this.#stream.subscribe(filter, after, sink)
    if (sink.frames[0]?.cursor !== encodeCursor(this.log, after)) throw new Error('the hello names another place')
    return sink
  }

  run(step: Op): void {
    const watcher = 'who' in step ? this.watchers[step.who % Math.max(1, this.watchers.length)] : undefined
    switch (step.op) {
      case 'commit':
        this.log.commit(step.drafts, step.isTold)
        return
      case 'watch': {
        const filter = new Filter(step.terms, step.visible === undefined ? undefined : new Set(step.visible))
        const { oldestSequence, lastSequence } = this.log
        const start = oldestSequence - 1 + Math.round(((lastSequence - oldestSequence + 1) * step.at) / 100)
        this.watchers.push({ filter, start, seen: [], sink: this.#connect(filter, start, step.room) })
        return
      }
      case 'turn':
        this.platform.runOnce()
        return
      case 'advance':
        this.platform.ring(step.ms)
        return
      case 'drain':
        if (watcher?.sink.isFull && watcher.sink.ended === undefined) watcher.sink.drain(step.room)
        return
      case 'resume':
        if (watcher !== undefined) this.resume(watcher, step.room)
        return
      case 'gone':
        if (watcher !== undefined) watcher.sink.isGone = true
        return
      case 'trim':
        this.log.trim(Math.floor((this.log.lastSequence * step.share) / 100))
    }
  }

  /** The connection is cut and made again from the last cursor that was received. */
  resume(watcher: Watcher, capacity: number): void {
    const place = placeOf(watcher.sink.cursor, this.log)
    if (!place.ok) return
    watcher.sink.subscription!.close()
    watcher.seen.push(...watcher.sink.ids)
    watcher.sink = this.#connect(watcher.filter, place.sequence, capacity)
  }

  finish(): void {
    for (const watcher of this.watchers) {
      if (watcher.sink.isGone || watcher.sink.ended !== undefined) this.resume(watcher, Number.POSITIVE_INFINITY)
      if (watcher.sink.isFull && watcher.sink.ended === undefined) watcher.sink.drain(Number.POSITIVE_INFINITY)
      watcher.sink.room = Number.POSITIVE_INFINITY
    }
    // An event committed without notice is sent with the next one.
    this.log.commit([{ event_type: 'end', project: 'a' }])
    this.platform.ring(100)
    this.platform.run()
  }

  check(): void {
    for (const watcher of this.watchers) {
      const { sink } = watcher
      const place = placeOf(sink.cursor, this.log)
      const isLost = sink.ended !== undefined || sink.isGone || !place.ok
      const through = place.ok ? place.sequence : Number.parseInt(sink.cursor.split('.')[1]!, 36)
      const end = isLost ? through : this.log.lastSequence
      const wanted = this.log
        .all()
        .filter((event) => inRange(event, watcher.start, end) && watcher.filter.matches(event))
      const got = [...watcher.seen, ...sink.ids]
      if (JSON.stringify(got) !== JSON.stringify(wanted.map(idOf))) {
        throw new Error(`filter ${watcher.filter.key} after ${watcher.start} to ${end}: got ${got.join(' ')}`)
      }
    }
  }
}

const idOf = (event: CommittedEvent): string => JSON.parse(event.text).id
const inRange = (event: CommittedEvent, after: number, through: number): boolean =>
  event.sequence > after && event.sequence <= through

t.test(
  'a watcher gets every later matching event once and in order, whatever happens to its connection and the log',
  async () => {
    fc.assert(
      fc.property(fc.array(op, { minLength: 5, maxLength: 120, size: 'max' }), (steps) => {
        const world = new World()
        for (const step of steps) world.run(step)
        world.finish()
        world.check()
      }),
      { numRuns: Number(process.env.RUNS ?? 1_500) },
    )
  },
)
