/** Reading the log for a page: bounded in rows and time, with nothing skipped between two pages. */
import { setImmediate as untilNext } from 'node:timers/promises'
import t from 'tap'
import { Filter } from '../../../runtime/stream/filter.ts'
import {
  type EventQuery,
  type EventsFound,
  findEvents,
  findInTrace,
  historyRowsMax,
  pageMsMax,
} from '../../../runtime/stream/find-events.ts'
import { ReadTurns } from '../../../runtime/stream/read-turns.ts'
import { CorruptRow } from '../../../storage/checked-text.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { FakeJournal } from './fake-log.ts'

const ALL = new Filter({})

/** A search in which each turn takes this long. */
async function search(log: FakeJournal, from: number, turnMs: number): Promise<EventsFound> {
  const platform = new ManualPlatform()
  let found: EventsFound | undefined
  const query = { filter: new Filter({ event_type: ['rare'] }), order: 'asc', from, limit: 10 } as const
  const done = findEvents(log, new ReadTurns(platform), query, () => true).then((page) => {
    found = page
  })
  while (found === undefined) {
    await untilNext()
    platform.nowMs += turnMs
    platform.runOnce()
  }
  await done
  return found
}

t.test('a search whose turns are slow gives short pages, and each goes on where the last ended', async (t) => {
  const log = new FakeJournal()
  const types = Array.from({ length: 6_000 }, (_, n) => (n % 2_999 === 0 ? 'rare' : 'common'))
  log.commit(types.map((event_type) => ({ event_type, project: 'p' })))
  const whole = await search(log, 0, 1)
  t.equal(whole.texts.length, 3)
  t.equal(whole.next, undefined)

  const texts: string[] = []
  let pages = 0
  for (let from: number | undefined = 0; from !== undefined; pages++) {
    const page: EventsFound = await search(log, from, pageMsMax / 2)
    texts.push(...page.texts)
    from = page.next
  }
  t.same(texts, whole.texts)
  t.ok(pages > 2, `in ${pages} pages`)
})

t.test(
  'a page of a trace moves past rows that have left the log even when it finds few events, in either order',
  async (t) => {
    const log = longTrace(400)
    const event = log.event.bind(log)
    log.event = (sequence) => (sequence <= 150 || sequence > 250 ? undefined : event(sequence))
    for (const order of ['asc', 'desc'] as const) {
      const texts: string[] = []
      let pages = 0
      for (let from: number | undefined = order === 'asc' ? 0 : 401; from !== undefined; pages++) {
        const platform = new ManualPlatform()
        let found: EventsFound | undefined
        const filter = new Filter({ trace_id: ['long'] })
        const query = { filter, order, from, limit: 1_000, hint: { of: 'trace', ids: ['long'] } } as const
        const turns = new ReadTurns(platform)
        Object.defineProperty(turns, 'isOver', { get: () => true })
        void findEvents(log, turns, query, () => true).then((page) => {
          found = page
        })
        while (found === undefined) {
          await untilNext()
          platform.nowMs += pageMsMax / 20
          platform.runOnce()
        }
        t.not(found.next, from, 'the next page gets further')
        if (found.next === from) return
        texts.push(...found.texts)
        from = found.next
      }
      t.equal(texts.length, 100, order)
      t.ok(pages > 10, `in ${pages} pages`)
    }
  },
)

t.test('a page ends before an unreadable event in either order, and the next page fails on it', async (t) => {
  const log = new FakeJournal()
  log.commit(Array.from({ length: 9 }, () => ({ event_type: 'one', project: 'p', trace_id: 'short' })))
  const rotten = new CorruptRow('event 5 does not match its checksum')
  const [events, backward, event] = [log.events.bind(log), log.eventsBackward.bind(log), log.event.bind(log)]
  // As the log does: events before the damage are returned first, and reading from the damage throws.
  const upTo = <P extends { readonly events: readonly { readonly sequence: number }[] }>(page: P): P => {
    const at = page.events.findIndex(({ sequence }) => sequence === 5)
    if (at === 0) throw rotten
    return at < 0 ? page : { ...page, events: page.events.slice(0, at) }
  }
  log.events = (...asked) => upTo(events(...asked))
  log.eventsBackward = (...asked) => upTo(backward(...asked))
  log.event = (sequence) => {
    if (sequence === 5) throw rotten
    return event(sequence)
  }
  const page = async (rest: Partial<EventQuery>) => {
    const platform = new ManualPlatform()
    let isOver = false
    const found = findEvents(
      log,
      new ReadTurns(platform),
      { filter: ALL, order: 'asc', from: 0, limit: 100, ...rest },
      () => true,
    )
    const end = (): void => {
      isOver = true
    }
    found.then(end, end)
    while (!isOver) {
      await untilNext()
      platform.runOnce()
    }
    return found
  }
  const hint = { of: 'trace', ids: ['short'] } as const
  for (const [rest, count, next] of [
    [{}, 4, 4],
    [{ order: 'desc', from: 10 }, 4, 6],
    [{ hint, filter: new Filter({ trace_id: ['short'] }) }, 4, 4],
  ] as const) {
    const { texts, next: behind } = await page(rest as Partial<EventQuery>)
    t.equal(texts.length, count)
    t.equal(behind, next)
    await t.rejects(page({ ...(rest as Partial<EventQuery>), from: next }), { name: 'CorruptRow' })
  }
})

/** A trace of this many events, the last of another project. */
function longTrace(count: number): FakeJournal {
  const log = new FakeJournal()
  const project = (n: number) => (n === count - 1 ? 'q' : 'p')
  log.commit(Array.from({ length: count }, (_, n) => ({ event_type: 'one', project: project(n), trace_id: 'long' })))
  return log
}

t.test('one event of a long trace is found without reading the trace', async (t) => {
  const log = longTrace(400)
  const { id } = JSON.parse(log.all()[300]!.text)
  const { text, isWhole } = await findInTrace(log, new ReadTurns(new ManualPlatform()), 'long', id, ALL, () => true)
  t.equal(JSON.parse(text!).id, id)
  t.equal(isWhole, true)
  t.ok(log.eventReads <= 2, `${log.eventReads} events read`)
})

t.test('an event is found even in another project than its trace began with', async (t) => {
  const log = longTrace(400)
  const { id } = JSON.parse(log.all()[399]!.text)
  const { text } = await findInTrace(log, new ReadTurns(new ManualPlatform()), 'long', id, ALL, () => true)
  t.equal(JSON.parse(text!).id, id)
  const absent = await findInTrace(
    log,
    new ReadTurns(new ManualPlatform()),
    'long',
    `evt_${'f'.repeat(32)}`,
    ALL,
    () => true,
  )
  t.same(absent, { isWhole: true })
  t.same(await findInTrace(log, new ReadTurns(new ManualPlatform()), 'no such trace', id, ALL, () => true), {
    isWhole: true,
  })
})

t.test(
  'for a token of few projects, an event is found by its project, not by other projects’ events of the same id',
  async (t) => {
    const log = longTrace(400)
    const { id } = JSON.parse(log.all()[300]!.text)
    log.commit([{ event_type: 'one', project: 'q', trace_id: 'long', id }])
    const visible = new Filter({}, new Set(['o', 'q']))
    const { text } = await findInTrace(log, new ReadTurns(new ManualPlatform()), 'long', id, visible, () => true)
    t.match(JSON.parse(text!), { id, project: 'q' })
    t.equal(log.eventReads, 1)
  },
)

t.test('in a trace of other projects only, nothing is read, and the answer is as for an unknown trace', async (t) => {
  const log = longTrace(400)
  const { id } = JSON.parse(log.all()[300]!.text)
  const visible = new Filter({}, new Set(['o']))
  t.same(await findInTrace(log, new ReadTurns(new ManualPlatform()), 'long', id, visible, () => true), {
    isWhole: true,
  })
  t.equal(log.eventReads, 0)
})

/**
 * A log of `count` events of the item and trace `long`, `own` ones of project `o`, others of `p`; and a count of reads.
 */
function logOfOthers(count: number, own: readonly number[]) {
  const log = new FakeJournal()
  log.commit([
    { event_type: 'one', project: 'p', trace_id: 'long' },
    { event_type: 'one', project: 'o', trace_id: 'long' },
  ])
  const [theirs, ours] = log.all().map(({ text }) => text)
  const counted = { reads: 0 }
  const long = Object.assign(Object.create(log) as FakeJournal, {
    lastSequence: count,
    history: (_: string, id: string, after: number, limit: number) =>
      Array.from({ length: id === 'long' ? Math.min(limit, count - after) : 0 }, (_, n) => after + n + 1),
    historyBackward: (_: string, id: string, before: number, limit: number) =>
      Array.from({ length: id === 'long' ? Math.min(limit, before - 1) : 0 }, (_, n) => before - n - 1),
    hasTrace: (project: string, id: string) =>
      id === 'long' && (project === 'p' || (project === 'o' && own.length > 0)),
    event: (sequence: number) => {
      counted.reads++
      return own.includes(sequence) ? ours!.replace('"one"', `"own_${sequence}"`) : theirs
    },
    events: () => {
      throw new Error('the log is scanned')
    },
  })
  return { long, counted }
}

/** Every page that a reader of project `o` gets, to the end. */
async function pagesFor(
  { long, counted }: ReturnType<typeof logOfOthers>,
  of: 'trace' | 'item',
  id: string,
  order: 'asc' | 'desc',
) {
  const platform = Object.assign(new ManualPlatform(), {
    nextTurn: (callback: () => void) => void setImmediate(callback),
  })
  const filter = new Filter({}, new Set(['o']))
  const found: number[] = []
  const ends: (number | undefined)[] = []
  let readsMax = 0
  let from: number | undefined = order === 'asc' ? 0 : long.lastSequence + 1
  while (from !== undefined) {
    counted.reads = 0
    const query = { filter, order, from, limit: 2, hint: { of, ids: [id] } } as const
    const page: EventsFound = await findEvents(long, new ReadTurns(platform), query, () => true)
    for (const text of page.texts) found.push(Number(/own_(\d+)/.exec(text)![1]))
    readsMax = Math.max(readsMax, counted.reads)
    ends.push(page.next)
    from = page.next
  }
  return { found, ends, readsMax }
}

t.test('a hidden item gives the same pages as an absent one, and a page reads a bounded part of it', async (t) => {
  const others = logOfOthers(250_100, [])
  for (const order of ['asc', 'desc'] as const) {
    const hidden = await pagesFor(others, 'item', 'long', order)
    const absent = await pagesFor(others, 'item', 'nowhere', order)
    t.same(hidden.found, [])
    t.same(hidden.ends, absent.ends)
    t.ok(hidden.readsMax <= historyRowsMax + 1, `${hidden.readsMax} read for a page`)
    t.equal(absent.readsMax, 0)
  }
  const short = logOfOthers(historyRowsMax, [])
  for (const order of ['asc', 'desc'] as const)
    t.same((await pagesFor(short, 'item', 'long', order)).ends, [undefined], 'a short log makes one page')
})

t.test('events of the reader’s project in a foreign item or trace are found once each, in bounded pages', async (t) => {
  const own = [99_999, 100_000, 100_001, 180_500, 200_000, 250_100]
  const item = logOfOthers(250_100, own)
  const spoken = own.map((sequence) => sequence - 95_000).filter((sequence) => sequence <= 90_000)
  const trace = logOfOthers(90_000, spoken)
  for (const order of ['asc', 'desc'] as const) {
    const inOrder = (all: readonly number[]) => (order === 'asc' ? all : all.toReversed())
    const ofItem = await pagesFor(item, 'item', 'long', order)
    t.same(ofItem.found, inOrder(own), `of the item, ${order}`)
    t.ok(ofItem.readsMax <= historyRowsMax + 1, `${ofItem.readsMax} read for a page`)
    const ofTrace = await pagesFor(trace, 'trace', 'long', order)
    t.same(ofTrace.found, inOrder(spoken), `of the trace, ${order}`)
    t.ok(ofTrace.readsMax <= 20_500, `${ofTrace.readsMax} read for a page`)
  }
})

t.test(
  'of a trace of project system, the events for everyone are found, even if the first is for others',
  async (t) => {
    const log = new FakeJournal()
    const types = ['token_created', 'token_revoked', 'pacing_paused', 'token_created']
    log.commit(types.map((event_type) => ({ event_type, project: 'system', trace_id: 'mixed' })))
    const platform = Object.assign(new ManualPlatform(), {
      nextTurn: (callback: () => void) => void setImmediate(callback),
    })
    const query = { filter: new Filter({}, new Set(['o'])), order: 'asc', from: 0, limit: 2 } as const
    const hint = { of: 'trace', ids: ['mixed'] } as const
    const { texts, next } = await findEvents(log, new ReadTurns(platform), { ...query, hint }, () => true)
    t.same(texts, [log.all()[2]!.text])
    t.equal(next, undefined)
  },
)

t.test('a page of a long trace of project system reads a bounded number of its events', async (t) => {
  const { long, counted } = logOfOthers(150_000, [])
  const system = Object.assign(long, { hasTrace: (project: string) => project === 'system' })
  const query = { filter: new Filter({}, new Set(['o'])), order: 'asc', from: 0, limit: 2 } as const
  const platform = Object.assign(new ManualPlatform(), {
    nextTurn: (callback: () => void) => void setImmediate(callback),
  })
  const scanned = Object.assign(system, { events: () => ({ events: [], oldestSequence: 1, lastSequence: 150_000 }) })
  await findEvents(scanned, new ReadTurns(platform), { ...query, hint: { of: 'trace', ids: ['long'] } }, () => true)
  t.ok(counted.reads <= 100_001 + 20_500, `${counted.reads} read`)
})

t.test('a page in which every event matches reads only what it returns', async (t) => {
  const log = longTrace(400)
  const query = { filter: new Filter({ trace_id: ['long'] }), order: 'asc', from: 0, limit: 50 } as const
  const { texts, next } = await findEvents(
    log,
    new ReadTurns(new ManualPlatform()),
    { ...query, hint: { of: 'trace', ids: ['long'] } },
    () => true,
  )
  t.equal(texts.length, 50)
  t.equal(next, 50)
  t.equal(log.eventReads, 50)
})

t.test('large events are read backwards a few at a time, down to the oldest', async (t) => {
  const log = new FakeJournal()
  const payload = { text: 'x'.repeat(400_000) }
  log.commit(Array.from({ length: 7 }, () => ({ event_type: 'one', project: 'p', payload })))
  const platform = new ManualPlatform()
  let pages = 0
  const counted = Object.assign(Object.create(log), {
    eventsBackward: (before: number, limit: number, bytesMax: number) => {
      const page = log.eventsBackward(before, limit, bytesMax)
      pages += 1
      t.ok(page.events.length <= 2)
      setImmediate(() => platform.run())
      return page
    },
  })
  const query = { filter: new Filter({}), order: 'desc', from: 8, limit: 50 } as const
  const { texts, next } = await findEvents(counted, new ReadTurns(platform), query, () => true)
  t.equal(texts.length, 7)
  t.equal(next, undefined)
  t.equal(pages, 4)
})

t.test(
  'a page reads only as much of a long history as it needs, and a bounded part when nothing matches',
  async (t) => {
    const { long } = logOfOthers(100_000, [])
    const read = { sequences: 0 }
    const counting = (name: 'history' | 'historyBackward'): FakeJournal['history'] => {
      const history = long[name] as FakeJournal['history']
      return (...asked) => {
        const sequences = history(...asked)
        read.sequences += sequences.length
        return sequences
      }
    }
    Object.assign(long, { history: counting('history'), historyBackward: counting('historyBackward') })
    const platform = Object.assign(new ManualPlatform(), {
      nextTurn: (callback: () => void) => void setImmediate(callback),
    })
    const hint = { of: 'trace', ids: ['long', 'nowhere'] } as const
    for (const order of ['asc', 'desc'] as const) {
      const from = order === 'asc' ? 40_000 : 60_000
      const query = { filter: ALL, order, from, limit: 1, hint } as const
      read.sequences = 0
      const one = await findEvents(long, new ReadTurns(platform), query, () => true)
      t.equal(one.texts.length, 1)
      t.equal(one.next, order === 'asc' ? 40_001 : 59_999)
      t.ok(read.sequences <= 500, `${read.sequences} sequences read for one event, ${order}`)
      read.sequences = 0
      const none = await findEvents(
        long,
        new ReadTurns(platform),
        { ...query, filter: new Filter({ event_type: ['rare'] }) },
        () => true,
      )
      t.equal(none.texts.length, 0)
      t.ok(Math.abs(none.next! - from) >= 20_000)
      t.ok(read.sequences <= 20_500, `${read.sequences} sequences read without a match, ${order}`)
    }
  },
)

t.test('events of several histories are merged in order, each once', async (t) => {
  const log = new FakeJournal()
  const traces = ['a', 'b', 'c', 'd']
  const commits = Array.from({ length: 900 }, (_, n) => ({
    event_type: 'one',
    project: 'p',
    trace_id: traces[(n * n) % 4]!,
  }))
  log.commit(commits)
  const filter = new Filter({ trace_id: ['b', 'a', 'b'] })
  const platform = Object.assign(new ManualPlatform(), {
    nextTurn: (callback: () => void) => void setImmediate(callback),
  })
  const all = log.all().flatMap(({ sequence, text }) => (filter.matchesText(text) ? [{ sequence, text }] : []))
  for (const order of ['asc', 'desc'] as const) {
    const texts: string[] = []
    for (let from: number | undefined = order === 'asc' ? 0 : 901; from !== undefined; ) {
      const query = { filter, order, from, limit: 170, hint: { of: 'trace', ids: ['b', 'a', 'b'] } } as const
      const page: EventsFound = await findEvents(log, new ReadTurns(platform), query, () => true)
      texts.push(...page.texts)
      from = page.next
    }
    const expected = all.map(({ text }) => text)
    t.same(texts, order === 'asc' ? expected : expected.reverse(), order)
  }
})
