/** What is held during a request is released exactly once, whatever happens. */
import t from 'tap'
import { type HoldUntil, holding } from '../../http/holding.ts'

/** The count of releases after each of these calls. */
function held(run: (until: HoldUntil, look: () => void) => void, ...later: readonly (() => void)[]): number[] {
  let released = 0
  const seen: number[] = []
  const look = (): void => void seen.push(released)
  const tried = (go: () => void): void => {
    try {
      go()
    } catch {}
    look()
  }
  const hold = (): void =>
    holding(
      () => {
        released += 1
      },
      (until) => run(until, look),
    )
  for (const go of [hold, ...later]) tried(go)
  return seen
}

const fail = (): never => {
  throw new Error('a mistake')
}

t.test('without an asynchronous question it is released at once, even if the handler throws', async (t) => {
  t.same(
    held(() => {}),
    [1],
  )
  t.same(held(fail), [1])
})

t.test('it is released once, after the reply, even if the reply handler throws', async (t) => {
  for (const hears of [() => {}, fail]) {
    let reply = (): void => {}
    const run = (until: HoldUntil, look: () => void): void => {
      reply = until(() => {
        look()
        hears()
      })
    }
    t.same(
      held(run, () => reply()),
      [0, 0, 1],
    )
  }
})

t.test('a further question asked in a reply keeps it held', async (t) => {
  let outer = (): void => {}
  let inner = (): void => {}
  const run = (until: HoldUntil): void => {
    outer = until(() => {
      inner = until(() => {})
    })
  }
  t.same(
    held(
      run,
      () => outer(),
      () => inner(),
    ),
    [0, 0, 1],
  )
})

t.test('an error after a question releases it at once, and the reply does not release it again', async (t) => {
  let reply = (): void => {}
  const run = (until: HoldUntil): void => {
    reply = until(() => {})
    fail()
  }
  t.same(
    held(run, () => reply()),
    [1, 1],
  )
})
