import t from 'tap'
import { inLaterTurns, LOOK_AGAIN_MS } from '../../http/later-turns.ts'

/** A service whose turns are taken, and whose clock is put forward, by hand, and an exchange whose client may go away. */
function world() {
  const turns: (() => void)[] = []
  const timers: (() => void)[] = []
  const clock = { nowMs: 0 }
  const problems: string[] = []
  const exchange = {
    done: false,
    later: (go: () => void) => () => {
      if (!exchange.done) go()
    },
    problem: (code: string) => void problems.push(code),
  }
  const journal = { hasFailed: false }
  const service = {
    runtime: {
      nature: {
        monotonicMs: () => clock.nowMs,
        nextTurn: (run: () => void) => void turns.push(run),
        setTimer: (run: () => void, afterMs: number) => {
          clock.nowMs += afterMs
          timers.push(run)
        },
      },
    },
    hasFailed: () => journal.hasFailed,
  }
  const wait = (find: () => string | undefined) => {
    const told: (string | undefined)[] = []
    inLaterTurns(service as never, exchange as never, find, (found) => void told.push(found))
    return told
  }
  return { turns, timers, clock, exchange, journal, problems, wait }
}

t.test('what is there is told at once, and what comes later then', (t) => {
  const { turns, timers, wait } = world()
  t.same(
    wait(() => 'there'),
    ['there'],
  )
  let message: string | undefined
  const told = wait(() => message)
  turns.shift()!()
  t.same(told, [])
  message = 'came'
  turns.shift()!()
  t.same(told, ['came'])
  t.same([turns.length, timers.length], [0, 0])
  t.end()
})

t.test('it is waited for by time and not by turns, which storage that is behind uses up at once', (t) => {
  const { turns, timers, clock, wait } = world()
  let message: string | undefined
  const told = wait(() => message)
  const never = wait(() => undefined)
  const look = () => {
    for (const run of [...turns.splice(0), ...timers.splice(0)]) run()
  }
  let looks = 0
  for (; never.length === 0 && looks < 1_000; looks++) {
    look()
    if (clock.nowMs < 200) t.same([told, never], [[], []])
    else message = 'came'
  }
  t.same([told, never], [['came'], [undefined]])
  t.ok(clock.nowMs >= 250 && clock.nowMs < 250 + 3 * LOOK_AGAIN_MS, `${clock.nowMs} ms`)
  t.ok(looks > 50, `${looks} looks`)
  t.same([turns.length, timers.length], [0, 0])
  t.end()
})

t.test('nobody is waited for who has gone', (t) => {
  const { turns, exchange, wait } = world()
  const told = wait(() => undefined)
  exchange.done = true
  turns.shift()!()
  t.same(told, [])
  t.equal(turns.length, 0)
  t.end()
})

t.test('what a failed journal did not take is not told of as if it had', (t) => {
  const { turns, journal, problems, wait } = world()
  const told = wait(() => undefined)
  journal.hasFailed = true
  turns.shift()!()
  t.same(told, [])
  t.same(problems, ['storage_failed'])
  t.equal(turns.length, 0)
  t.end()
})
