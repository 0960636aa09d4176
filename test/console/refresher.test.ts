import { mock } from 'node:test'
import t from 'tap'
import { Refresher } from '../../console/refresher.ts'

const SECOND_MS = 1_000

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

/** A refresher whose reads end when the test says so. */
function reads() {
  const ends: ((isRead: boolean) => void)[] = []
  const gap = { ms: SECOND_MS }
  const refresher = new Refresher(
    () => new Promise((resolve) => ends.push(resolve)),
    () => gap.ms,
  )
  const end = async (isRead = true): Promise<void> => {
    ends.at(-1)!(isRead)
    await new Promise(setImmediate)
  }
  return { refresher, gap, end, count: () => ends.length }
}

t.test('many events within a moment cause one read', async (t) => {
  const { refresher, count } = reads()
  for (let i = 0; i < 50; i++) refresher.ask()
  t.equal(count(), 0)
  mock.timers.tick(SECOND_MS)
  t.equal(count(), 1)
})

t.test('what happens during a read causes another, at most once a second', async (t) => {
  const { refresher, end, count } = reads()
  void refresher.now()
  t.equal(count(), 1, 'the first is at once')
  for (let i = 0; i < 50; i++) refresher.ask()
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 1, 'never two at a time')
  await end()
  mock.timers.tick(SECOND_MS / 2)
  t.equal(count(), 1, 'not before the second is over')
  mock.timers.tick(SECOND_MS)
  t.equal(count(), 2)
  await end()
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 2, 'and no more without an event')
  refresher.ask()
  mock.timers.tick(SECOND_MS)
  t.equal(count(), 3)
})

t.test('after a quiet second an event is read within moments', async (t) => {
  let nowMs = 10 * SECOND_MS
  const clock = mock.method(performance, 'now', () => nowMs)
  t.teardown(() => clock.mock.restore())
  const { refresher, end, count } = reads()
  void refresher.now()
  await end()
  nowMs += SECOND_MS
  refresher.ask()
  mock.timers.tick(SECOND_MS / 5)
  t.equal(count(), 2)
})

t.test('what is asked for at once is read at once, and once, but never beside another read', async (t) => {
  const { refresher, end, count } = reads()
  refresher.ask()
  let isRead = false
  void refresher.now().then(() => {
    isRead = true
  })
  t.equal(count(), 1)
  await new Promise(setImmediate)
  t.equal(isRead, false)
  await end()
  t.equal(isRead, true)
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 1, 'the event before it is in what was read')
  void refresher.now()
  void refresher.now()
  t.equal(count(), 2)
  await end()
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 3, 'the read under way may have come before the change')
})

t.test('what could not be read is tried again, without an event, until it works', async (t) => {
  const { refresher, end, count } = reads()
  void refresher.now()
  await end(false)
  mock.timers.tick(4 * SECOND_MS)
  t.equal(count(), 1)
  mock.timers.tick(2 * SECOND_MS)
  t.equal(count(), 2)
  await end(false)
  refresher.hurry()
  t.equal(count(), 3, 'at once, where there is a reason to hope')
  await end()
  refresher.hurry()
  mock.timers.tick(60 * SECOND_MS)
  t.equal(count(), 3, 'and no more once it has worked')
})

t.test('where nobody looks it is read rarely, and at once when somebody does', async (t) => {
  const { refresher, gap, end, count } = reads()
  void refresher.now()
  await end()
  gap.ms = 60 * SECOND_MS
  for (let i = 0; i < 50; i++) {
    refresher.ask()
    mock.timers.tick(SECOND_MS)
  }
  t.equal(count(), 1)
  refresher.hurry()
  t.equal(count(), 2)
})

t.test('after its end nothing is read', async (t) => {
  const { refresher, count } = reads()
  refresher.ask()
  refresher.close()
  refresher.ask()
  void refresher.now()
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 0)
})

t.test('a read that fails after the end is not tried again', async (t) => {
  const { refresher, end, count } = reads()
  void refresher.now()
  refresher.close()
  await end(false)
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 1)
})
