import t from 'tap'
import type { Actor } from '../../runtime/actor.ts'
import { Load } from '../../runtime/load.ts'

const actor = { mailCount: 1 } as Actor

function world() {
  const nature = { nowMs: 0, monotonicMs: () => nature.nowMs }
  const load = new Load(nature)
  const take = (count: number): void => {
    for (let n = 0; n < count; n++) load.taken(actor)
  }
  const answer = (count: number): void => {
    for (let n = 0; n < count; n++) load.answered()
  }
  return { nature, load, take, answer }
}

t.test('nothing in flight waits for nothing, however long ago anything came', async (t) => {
  const { nature, load, take, answer } = world()
  t.equal(load.waitMs(), 0)
  take(1)
  nature.nowMs = 5_000
  answer(1)
  t.equal(load.waitMs(), 0)
})

t.test('what is in flight and is not answered tells how long one waits', async (t) => {
  const { nature, load, take } = world()
  take(1)
  nature.nowMs = 1_234
  t.equal(load.waitMs(), 1_234)
})

t.test('the rate of the answers tells how long a queue will take', async (t) => {
  const { nature, load, take, answer } = world()
  // A thousand messages a second, in turns of a hundred.
  for (let turn = 0; turn < 60; turn++) {
    take(100)
    nature.nowMs += 100
    answer(100)
  }
  take(1_000)
  t.ok(load.waitMs() > 800 && load.waitMs() < 1_200, `${load.waitMs()} ms`)
})

t.test('one that waits is followed until it is answered, also while later ones keep coming', async (t) => {
  const { nature, load, take, answer } = world()
  take(500)
  answer(1)
  take(1)
  for (let turn = 0; turn < 10; turn++) {
    nature.nowMs += 50
    answer(40)
    take(40)
  }
  t.equal(load.waitMs(), 500, 'the last of the first 501 is not answered yet')
  answer(101)
  take(1)
  t.ok(load.waitMs() < 500, `then another is followed: ${load.waitMs()} ms`)
})
