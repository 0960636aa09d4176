import { mock } from 'node:test'
import t from 'tap'
import { Refresher } from '../../console/refresher.ts'

const SECOND_MS = 1_000

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

/** A refresher whose reads end when the test says so. */
function reads() {
  const ends: (() => void)[] = []
  const refresher = new Refresher(() => new Promise((resolve) => ends.push(resolve)))
  const end = async (): Promise<void> => {
    ends.at(-1)!()
    await new Promise(setImmediate)
  }
  return { refresher, end, count: () => ends.length }
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
})

t.test('after its end nothing is read', async (t) => {
  const { refresher, count } = reads()
  refresher.ask()
  refresher.close()
  refresher.ask()
  mock.timers.tick(10 * SECOND_MS)
  t.equal(count(), 0)
})
