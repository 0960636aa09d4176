import t from 'tap'
import { findInLaterTurns, POLL_MS } from '../../http/later-turns.ts'

/** A service whose turns and clock are driven by the test, and an exchange whose client may disconnect. */
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
      platform: {
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
    findInLaterTurns(service as never, exchange as never, find, (found) => void told.push(found))
    return told
  }
  return { turns, timers, clock, exchange, journal, problems, wait }
}

t.test('a value that is there is answered at once, and one that is not is looked for in later turns', (t) => {
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

t.test(
  'looking for a value ends after 250 ms, not after a number of turns, which a lagging view would use up at once',
  (t) => {
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
    t.ok(clock.nowMs >= 250 && clock.nowMs < 250 + 3 * POLL_MS, `${clock.nowMs} ms`)
    t.ok(looks > 50, `${looks} looks`)
    t.same([turns.length, timers.length], [0, 0])
    t.end()
  },
)

t.test('looking for a value ends when the client disconnects', (t) => {
  const { turns, exchange, wait } = world()
  const told = wait(() => undefined)
  exchange.done = true
  turns.shift()!()
  t.same(told, [])
  t.equal(turns.length, 0)
  t.end()
})

t.test('looking for a value is answered storage_failed when the journal fails', (t) => {
  const { turns, journal, problems, wait } = world()
  const told = wait(() => undefined)
  journal.hasFailed = true
  turns.shift()!()
  t.same(told, [])
  t.same(problems, ['storage_failed'])
  t.equal(turns.length, 0)
  t.end()
})
