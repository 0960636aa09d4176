/** When the view is written: a view that is never written keeps every batch in memory. */
import t from 'tap'
import type { Platform } from '../../../storage/platform.ts'
import { Applier } from '../../../storage/view/applier.ts'
import type { Fold } from '../../../storage/view/fold.ts'
import type { View } from '../../../storage/view/view.ts'
import { step } from '../steps.ts'

/** Timers that go off when the test says so. */
class Timers {
  readonly #armed = new Map<number, () => void>()
  #last = 0
  readonly platform: Platform = {
    wallMs: () => 0,
    monotonicMs: () => 0,
    randomHex: (digits) => '0'.repeat(digits),
    setTimer: (callback) => {
      this.#armed.set(++this.#last, callback)
      return this.#last
    },
    clearTimer: (timer) => void this.#armed.delete(timer as number),
    nextTurn: setImmediate,
  }

  get armed(): number {
    return this.#armed.size
  }

  goOff(): void {
    const due = [...this.#armed.values()]
    this.#armed.clear()
    for (const callback of due) callback()
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
/** One with nothing to write, whose timers never go off by themselves. */
function idle(): Applier {
  return new Applier(
    { marker: () => undefined } as unknown as View,
    { epoch: 'e', batch: 0, sequence: 0 },
    new Timers().platform,
    () => {},
    (error) => error as Error,
  )
}

const batchOf = (batch: number) => ({ batch, firstSequence: batch, lastSequence: batch, steps: [] })

t.test('held batches are not written, and waitForRoom does not wait because of them', async (t) => {
  const applier = idle()
  const steps = Array.from({ length: 1_000 }, (_, i) => step(`a${i}`, 1))
  for (let batch = 1; batch <= 40; batch += 1) applier.hold({ ...batchOf(batch), steps })
  t.ok(applier.backlogMs() > 400, 'a large backlog, as while nothing is appended')
  t.equal(
    applier.waitForRoom(() => {}),
    false,
  )
})

t.test(
  'a batch that comes while a fold is written is written next, even if its timer went off meanwhile',
  async (t) => {
    const timers = new Timers()
    const written: number[] = []
    let finish = (): void => {}
    const view = {
      marker: () => undefined,
      write: (fold: Fold) =>
        new Promise((resolve) => {
          finish = () => {
            written.push(fold.lastBatch)
            resolve({ epoch: 'e', batch: fold.lastBatch, sequence: fold.lastSequence })
          }
        }),
    } as unknown as View
    const begin = { epoch: 'e', batch: 0, sequence: 0 }
    const applier = new Applier(
      view,
      begin,
      timers.platform,
      () => {},
      (error) => {
        throw error
      },
    )
    applier.add(batchOf(1))
    timers.goOff()
    await turn()
    applier.add(batchOf(2))
    t.equal(timers.armed, 1)
    // The first fold is still being written.
    timers.goOff()
    finish()
    await turn()
    t.same(written, [1])
    applier.add(batchOf(3))
    t.equal(timers.armed, 1, 'a timer is set to write the second')
    timers.goOff()
    await turn()
    finish()
    await turn()
    t.same(written, [1, 3])
    t.equal(timers.armed, 0, 'nothing is left')
  },
)

t.test('atRest resolves once the fold under way has ended, even if it failed', async (t) => {
  const timers = new Timers()
  const begin = { epoch: 'e', batch: 0, sequence: 0 }
  let fail = (_: Error): void => {}
  const view = {
    marker: () => undefined,
    write: () =>
      new Promise((_, reject) => {
        fail = reject
      }),
  } as unknown as View
  const applier = new Applier(
    view,
    begin,
    timers.platform,
    () => {},
    (error) => error as Error,
  )
  await applier.atRest()
  applier.add(batchOf(1))
  timers.goOff()
  let isAtRest = false
  const rest = applier.atRest().then(() => {
    isAtRest = true
  })
  applier.fail(new Error('the log could not be written'))
  await turn()
  t.equal(isAtRest, false, 'the fold still reads from the view')
  fail(new Error('no space left'))
  await rest
})

t.test('atRest waits for a removal under way when the log fails, and for nothing that was not begun', async (t) => {
  const applier = idle()
  let finish = (): void => {}
  const removal = applier.exclusive(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve
      }),
  )
  const second = t.rejects(
    applier.exclusive(async () => t.fail('begun after the failure')),
    { message: 'the log failed' },
  )
  let isAtRest = false
  applier.fail(new Error('the log failed'))
  const rest = applier.atRest().then(() => {
    isAtRest = true
  })
  await turn()
  t.equal(isAtRest, false, 'the removal still writes the view')
  finish()
  await Promise.all([removal, second, rest])
})
