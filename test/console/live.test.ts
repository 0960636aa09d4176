import { mock } from 'node:test'
import t from 'tap'
import { Live, type Open } from '../../console/live.ts'

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

/** A stream whose other side is the test. */
function stream() {
  const opened: { since: string; heard: Parameters<Open>[1]; filter: Parameters<Open>[2]; isClosed: boolean }[] = []
  const live = new Live((since, heard, filter) => {
    const one = { since, heard, filter, isClosed: false }
    opened.push(one)
    return {
      close: () => {
        one.isClosed = true
      },
    }
  })
  const told: unknown[] = []
  live.listen({ begin: () => void told.push(live.cursor), events: (events) => void told.push(...events) })
  return { live, opened, told, last: () => opened.at(-1)! }
}

const hello = (cursor: string) => ({ type: 'hello', cursor, oldest: 'a' })
const events = (cursor: string, ...list: object[]) => ({ type: 'events', cursor, events: list })

t.test('after a connection ends, the next starts behind the last frame, and nobody begins anew', async (t) => {
  const { live, opened, told, last } = stream()
  t.equal(last().since, 'latest')
  last().heard.frame(hello('c1'))
  last().heard.frame(events('c2', { id: 1 }))
  last().heard.frame({ type: 'bookmark', cursor: 'c3' })
  t.equal(live.connection, 'live')
  last().heard.end(1006)
  t.equal(live.connection, 'connecting')
  mock.timers.tick(1_000)
  t.equal(opened.length, 2)
  t.equal(last().since, 'c3')
  last().heard.frame(hello('c3'))
  last().heard.frame(events('c4', { id: 2 }))
  t.same(told, ['c1', { id: 1 }, { id: 2 }])
  live.close()
})

t.test('a cursor that is too old, or of another log, begins anew', async (t) => {
  for (const end of [
    (heard: Parameters<Open>[1]) => heard.frame({ type: 'error', problem: { status: 410 } }),
    (heard: Parameters<Open>[1]) => heard.end(4410),
  ]) {
    const { live, told, last } = stream()
    last().heard.frame(hello('c1'))
    end(last().heard)
    last().heard.end(1000)
    mock.timers.tick(1_000)
    t.equal(last().since, 'latest')
    last().heard.frame(hello('d1'))
    t.same(told, ['c1', 'd1'])
    live.close()
  }
})

t.test('a refused token, right or query is final, and told once', async (t) => {
  for (const status of [400, 401, 403])
    for (const isByFrame of [true, false]) {
      const { live, opened, last } = stream()
      const seen: string[] = []
      live.onConnection((connection) => seen.push(connection))
      if (isByFrame) last().heard.frame({ type: 'error', problem: { status } })
      last().heard.end(isByFrame ? 1000 : 4000 + status)
      mock.timers.tick(60_000)
      t.equal(opened.length, 1)
      t.same(seen, ['refused'], `${status} ${isByFrame ? 'in a frame' : 'as the code of the end'}`)
      live.close()
    }
})

t.test('any other error of the service ends only that connection', async (t) => {
  const { live, told, last } = stream()
  const seen: string[] = []
  live.onConnection((connection) => seen.push(connection))
  last().heard.frame(hello('c1'))
  last().heard.frame({ type: 'error', problem: { status: 503 } })
  last().heard.end(1012)
  mock.timers.tick(1_000)
  t.equal(last().since, 'c1')
  last().heard.frame(hello('c1'))
  t.same(told, ['c1'])
  t.same(seen, ['live', 'connecting', 'live'])
  live.close()
})

t.test('whoever has stopped listening is told nothing more', async (t) => {
  const { live, told, last } = stream()
  const seen: unknown[] = []
  const endListening = live.listen({
    begin: () => void seen.push(live.cursor),
    events: (events) => void seen.push(...events),
  })
  const endWatching = live.onConnection((connection) => void seen.push(connection))
  last().heard.frame(hello('c1'))
  t.same(seen, ['live', 'c1'])
  endListening()
  endWatching()
  last().heard.frame(events('c2', { id: 1 }))
  last().heard.end(1006)
  t.same(seen, ['live', 'c1'])
  t.same(told, ['c1', { id: 1 }])
  live.close()
})

t.test('a connection that is silent for half a minute is given up, and what it says later is ignored', async (t) => {
  const { live, opened, told, last } = stream()
  last().heard.frame(hello('c1'))
  const silent = last()
  mock.timers.tick(29_000)
  t.equal(silent.isClosed, false)
  mock.timers.tick(1_000)
  t.equal(silent.isClosed, true)
  silent.heard.end(1006)
  mock.timers.tick(250)
  t.equal(opened.length, 2, 'its end has changed nothing')
  silent.heard.frame(events('c9', { id: 9 }))
  silent.heard.end(1006)
  mock.timers.tick(20_000)
  t.same(told, ['c1'])
  t.equal(opened.length, 2)
  mock.timers.tick(20_000)
  mock.timers.tick(500)
  t.equal(opened.length, 3, 'nor does one stay that never says anything')
  t.equal(last().since, 'c1')
  live.close()
})

t.test('one on which only bookmarks come is kept, until it is closed', async (t) => {
  const { live, opened, last } = stream()
  last().heard.frame(hello('c1'))
  for (let i = 0; i < 12; i++) {
    mock.timers.tick(10_000)
    last().heard.frame({ type: 'bookmark', cursor: `d${i}` })
  }
  t.equal(opened.length, 1)
  t.equal(last().isClosed, false)
  live.close()
  t.equal(last().isClosed, true)
})

t.test('while the service is away it tries again, ever less often', async (t) => {
  const { live, opened, last } = stream()
  let tickedMs = 0
  while (opened.length < 12) {
    if (opened.length > 0) last().heard.end(1006)
    const before = opened.length
    while (opened.length === before) {
      mock.timers.tick(125)
      tickedMs += 125
    }
  }
  t.ok(tickedMs > 40_000 && tickedMs < 100_000, `${tickedMs} ms`)
  last().heard.frame(hello('c1'))
  last().heard.end(1006)
  mock.timers.tick(250)
  t.equal(opened.length, 13, 'at once, after a connection that worked')
  live.close()
  last().heard.end(1006)
  mock.timers.tick(60_000)
  t.equal(opened.length, 13, 'after its end nothing is opened')
})

t.test('after its end nothing is opened, also if that comes between two tries', async (t) => {
  const { live, opened, last } = stream()
  last().heard.end(1006)
  live.close()
  mock.timers.tick(60_000)
  t.equal(opened.length, 1)
})

t.test(
  'with another filter it continues from where the listeners are, at once, and the old stream is not heard',
  async (t) => {
    const { live, opened, told, last } = stream()
    last().heard.frame(hello('c1'))
    last().heard.frame(events('c2', { id: 1 }))
    const before = last()
    const seen: string[] = []
    live.onConnection((connection) => seen.push(connection))
    live.narrow({ event_type: 'a,b' })
    t.equal(before.isClosed, true)
    t.match(last(), { since: 'c2', filter: { event_type: 'a,b' } })
    before.heard.frame(events('c9', { id: 9 }))
    before.heard.end(1006)
    last().heard.frame(hello('c2'))
    last().heard.frame(events('c3', { id: 2 }))
    live.narrow({ event_type: 'a,b' })
    t.equal(opened.length, 2, 'the same filter changes nothing')
    t.same(told, ['c1', { id: 1 }, { id: 2 }])
    t.same(seen, [], 'it was live all the time')
    last().heard.end(1006)
    live.narrow({ event_type: 'c' })
    t.equal(opened.length, 2)
    mock.timers.tick(1_000)
    t.match(last(), { since: 'c3', filter: { event_type: 'c' } }, 'where there was none, the next one has it')
    live.close()
    live.narrow({})
    t.equal(opened.length, 3)
  },
)

t.test('a stream that begins behind a cursor takes what is before it as heard', async (t) => {
  const opened: { since: string; heard: Parameters<Open>[1] }[] = []
  const told: unknown[] = []
  const open: Open = (since, heard) => {
    opened.push({ since, heard })
    return { close: () => {} }
  }
  const live = new Live(open, { item_id: 'wi_1' }, 'c5')
  live.listen({ begin: () => void told.push('begin'), events: (events) => void told.push(...events) })
  t.equal(live.cursor, 'c5')
  t.equal(opened[0]!.since, 'c5')
  opened[0]!.heard.frame(hello('c5'))
  opened[0]!.heard.frame(events('c6', { id: 6 }))
  t.same(told, [{ id: 6 }])
  live.close()
})
