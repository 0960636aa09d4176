/** Searches and replays share one time budget in each turn of the event loop, and each makes progress. */
import { setImmediate as untilNext } from 'node:timers/promises'
import t from 'tap'
import { EventStream } from '../../../runtime/stream/event-stream.ts'
import { Filter } from '../../../runtime/stream/filter.ts'
import { type EventsFound, findEvents } from '../../../runtime/stream/find-events.ts'
import { charsPerLook, readTurnMs, rowsPerTurnMax, streamLimits } from '../../../runtime/stream/limits.ts'
import { NewestEvents } from '../../../runtime/stream/newest-events.ts'
import { ReadTurns } from '../../../runtime/stream/read-turns.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { FakeJournal } from './fake-log.ts'
import { FakeSink } from './fake-sink.ts'

const NOTHING = new Filter({ event_type: ['rare'] })

/** A log whose reads take time; records how long its readers held up each turn. */
class World {
  readonly platform = new ManualPlatform()
  readonly turns = new ReadTurns(this.platform)
  readonly log = new FakeJournal()
  longestMs = 0
  #over = 0

  constructor(count: number, costs: { readonly pageMs?: number; readonly eventMs?: number; readonly chars?: number }) {
    const payload = { text: 'x'.repeat(costs.chars ?? 0) }
    const drafts = Array.from({ length: count }, () => ({ event_type: 'one', project: 'p', trace_id: 'long', payload }))
    this.log.commit(drafts)
    const { log, platform } = this
    for (const name of ['events', 'eventsBackward'] as const) {
      const read = log[name].bind(log)
      log[name] = (...asked) => {
        platform.nowMs += costs.pageMs ?? 0
        return read(...asked)
      }
    }
    const event = log.event.bind(log)
    log.event = (sequence) => {
      platform.nowMs += costs.eventMs ?? 0
      return event(sequence)
    }
  }

  search(filter: Filter, limit = 100, isHinted = false): { found?: EventsFound; turns: number } {
    const search: { found?: EventsFound; turns: number } = { turns: 0 }
    const query = { filter, order: 'asc', from: 0, limit } as const
    const hint = { of: 'trace', ids: ['long'] } as const
    void findEvents(this.log, this.turns, isHinted ? { ...query, hint } : query, () => true).then((found) => {
      search.found = found
      search.turns = this.#over
    })
    return search
  }

  /** Runs turns until `isSo`; `begunMs`: the clock before the work of the first turn began. */
  async until(isSo: () => boolean, begunMs: number): Promise<void> {
    await untilNext()
    this.longestMs = this.platform.nowMs - begunMs
    while (!isSo()) {
      if (this.#over++ > 5_000) throw new Error('it does not come to an end')
      const before = this.platform.nowMs
      this.platform.runOnce()
      await untilNext()
      this.longestMs = Math.max(this.longestMs, this.platform.nowMs - before)
    }
  }
}

t.test('sixty concurrent searches together stay within the time of a turn, and progress side by side', async (t) => {
  const world = new World(3_000, { pageMs: 1 })
  const begunMs = world.platform.nowMs
  const searches = Array.from({ length: 60 }, () => world.search(NOTHING))
  await world.until(() => searches.every(({ found }) => found !== undefined), begunMs)
  t.ok(world.longestMs <= readTurnMs + 1, `a turn of ${world.longestMs} ms`)
  const turns = searches.map((search) => search.turns)
  t.ok(
    Math.max(...turns) - Math.min(...turns) <= 2 * 60,
    `they end side by side: ${Math.min(...turns)} to ${Math.max(...turns)}`,
  )
})

t.test('replays, searches and look-ups by id share the time of a turn', async (t) => {
  const world = new World(5 * rowsPerTurnMax, { pageMs: 1 })
  const begunMs = world.platform.nowMs
  const stream = new EventStream(world.log, world.turns, { ...streamLimits, frameEventsMax: rowsPerTurnMax })
  const sinks = Array.from({ length: 20 }, (_, i) => {
    const sink = new FakeSink(Number.POSITIVE_INFINITY)
    // Different places, so that none shares a page with another.
    sink.subscription = stream.subscribe(new Filter({}), i, sink)
    return sink
  })
  const searches = Array.from({ length: 20 }, () => world.search(NOTHING))
  const newest = new NewestEvents(world.log, world.turns)
  let lookedUp = 0
  for (let n = 0; n < 20; n += 1)
    void newest
      .find(`evt_${'f'.repeat(32)}`, new Filter({}), () => true)
      .then(() => {
        lookedUp += 1
      })
  const isOver = () =>
    lookedUp === 20 && stream.counts().live === 20 && searches.every(({ found }) => found !== undefined)
  await world.until(isOver, begunMs)
  t.ok(world.longestMs <= readTurnMs + 2, `a turn of ${world.longestMs} ms`)
  for (const [i, sink] of sinks.entries()) t.equal(sink.ids.length, 5 * rowsPerTurnMax - i)
  stream.close()
})

t.test('a search begins at once while the turn has time left, and otherwise in the next turn', async (t) => {
  const world = new World(10, { pageMs: readTurnMs })
  const begunMs = world.platform.nowMs
  const [first, second] = [world.search(NOTHING), world.search(NOTHING)]
  await untilNext()
  t.ok(first.found)
  t.notOk(second.found)
  await world.until(() => second.found !== undefined, begunMs)
  t.equal(world.log.reads, 2)
})

t.test('the time used up in a turn does not count in the next one', async (t) => {
  const platform = new ManualPlatform()
  const turns = new ReadTurns(platform)
  const done: string[] = []
  const read = (name: string, tookMs: number) => () => {
    platform.nowMs += tookMs
    done.push(name)
  }
  void turns.first(read('long', readTurnMs))
  platform.runOnce()
  void turns.first(read('at once', readTurnMs))
  t.same(done, ['long', 'at once'])
  turns.enter(read('a', 0))
  turns.enter(read('b', 0))
  platform.runOnce()
  t.same(done, ['long', 'at once', 'a', 'b'], 'both in one turn')
})

t.test('a page whose rows are slow to match continues in the next turn and misses none', async (t) => {
  const world = new World(30, { chars: charsPerLook })
  const costly = new (class extends Filter {
    override matchesText(text: string): boolean {
      world.platform.nowMs += 1
      return super.matchesText(text)
    }
  })({ event_type: ['one'] })
  const begunMs = world.platform.nowMs
  const search = world.search(costly, 20)
  await world.until(() => search.found !== undefined, begunMs)
  t.same(
    search.found!.texts,
    world.log
      .all()
      .slice(0, 20)
      .map(({ text }) => text),
  )
  t.equal(search.found!.next, 20)
  t.ok(world.longestMs <= readTurnMs + 1, `a turn of ${world.longestMs} ms`)
  t.equal(world.log.reads, 1, 'rows already read are kept until they were matched')
})

t.test('when each event of a history is slow to read, a turn reads one over all searches', async (t) => {
  const world = new World(50, { eventMs: 3 })
  const begunMs = world.platform.nowMs
  const searches = Array.from({ length: 10 }, () => world.search(new Filter({ trace_id: ['long'] }), 20, true))
  await world.until(() => searches.every(({ found }) => found !== undefined), begunMs)
  t.equal(world.longestMs, 3)
  for (const { found } of searches) t.equal(found!.texts.length, 20)
})

t.test('a read that throws in its turn rejects its own caller, and the others go on', async (t) => {
  const platform = new ManualPlatform()
  const turns = new ReadTurns(platform)
  const said: string[] = []
  const thrown = turns.next(() => {
    throw new Error('thrown')
  })
  turns.enter(() => said.push('next'))
  const later = turns.first(() => said.push('behind who waits'))
  platform.runOnce()
  await t.rejects(thrown, { message: 'thrown' })
  await later
  t.same(said, ['next', 'behind who waits'])
  platform.run()
  await t.rejects(
    turns.first(() => {
      throw new Error('at once')
    }),
    { message: 'at once' },
  )
  turns.enter(() => {
    throw new Error('of a stream')
  })
  turns.enter(() => said.push('last'))
  platform.nextTurn(() => {})
  t.throws(() => platform.run(), { message: 'of a stream' })
  platform.run()
  t.equal(said.at(-1), 'last', 'the others go on')
})
