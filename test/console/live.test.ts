import { mock } from 'node:test'
import t from 'tap'
import { Live, type Open } from '../../console/live.ts'

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

/** A stream whose other side is the test. */
function stream() {
  const opened: { since: string; heard: Parameters<Open>[1]; isClosed: boolean }[] = []
  const live = new Live((since, heard) => {
    const one = { since, heard, isClosed: false }
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

t.test('a refused token is final, and told', async (t) => {
  const { live, opened, last } = stream()
  const seen: string[] = []
  live.onConnection((connection) => seen.push(connection))
  last().heard.end(4401)
  mock.timers.tick(60_000)
  t.equal(opened.length, 1)
  t.same(seen, ['refused'])
  live.close()
})

t.test('a connection that is silent for half a minute is given up, and what it says later is ignored', async (t) => {
  const { live, opened, told, last } = stream()
  last().heard.frame(hello('c1'))
  const silent = last()
  mock.timers.tick(29_000)
  t.equal(opened.length, 1)
  mock.timers.tick(2_000)
  t.equal(silent.isClosed, true)
  mock.timers.tick(1_000)
  t.equal(opened.length, 2)
  silent.heard.frame(events('c9', { id: 9 }))
  silent.heard.end(1000)
  t.same(told, ['c1'])
  t.equal(opened.length, 2)
  live.close()
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
  live.close()
  last().heard.end(1006)
  mock.timers.tick(60_000)
  t.equal(opened.length, 12, 'after its end nothing is opened')
})
