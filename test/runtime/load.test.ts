import t from 'tap'
import type { Actor } from '../../runtime/actor.ts'
import { Load } from '../../runtime/load.ts'

const actor = { mailCount: 1 } as Actor

function world() {
  const platform = { nowMs: 0, monotonicMs: () => platform.nowMs }
  const load = new Load(platform)
  const take = (count: number): void => {
    for (let n = 0; n < count; n++) load.taken(actor)
  }
  const answer = (count: number): void => {
    for (let n = 0; n < count; n++) load.answered()
  }
  return { platform, load, take, answer }
}

t.test('with nothing in flight the wait is 0', async (t) => {
  const { platform, load, take, answer } = world()
  t.equal(load.waitMs(), 0)
  take(1)
  platform.nowMs = 5_000
  answer(1)
  t.equal(load.waitMs(), 0)
})

t.test('the wait is at least the age of the oldest unanswered message that is followed', async (t) => {
  const { platform, load, take } = world()
  take(1)
  platform.nowMs = 1_234
  t.equal(load.waitMs(), 1_234)
})

t.test('the wait for a queue follows from the rate of answers', async (t) => {
  const { platform, load, take, answer } = world()
  // A thousand messages a second, in turns of a hundred.
  for (let turn = 0; turn < 60; turn++) {
    take(100)
    platform.nowMs += 100
    answer(100)
  }
  take(1_000)
  t.ok(load.waitMs() > 800 && load.waitMs() < 1_200, `${load.waitMs()} ms`)
})

t.test('a followed message counts until it is answered, even while later ones keep coming', async (t) => {
  const { platform, load, take, answer } = world()
  take(500)
  answer(1)
  take(1)
  for (let turn = 0; turn < 10; turn++) {
    platform.nowMs += 50
    answer(40)
    take(40)
  }
  t.equal(load.waitMs(), 500, 'the 501st is not answered yet')
  answer(101)
  take(1)
  t.ok(load.waitMs() < 500, `then another is followed: ${load.waitMs()} ms`)
})
