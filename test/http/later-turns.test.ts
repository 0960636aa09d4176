import t from 'tap'
import { inLaterTurns } from '../../http/later-turns.ts'

/** A service whose turns are taken by hand, and an exchange whose client may go away. */
function world() {
  const turns: (() => void)[] = []
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
    runtime: { nature: { nextTurn: (run: () => void) => void turns.push(run) } },
    hasFailed: () => journal.hasFailed,
  }
  const wait = (find: () => string | undefined, turnsMax?: number) => {
    const told: (string | undefined)[] = []
    inLaterTurns(service as never, exchange as never, find, (found) => void told.push(found), turnsMax)
    return told
  }
  return { turns, exchange, journal, problems, wait }
}

t.test('what is there is told at once, what comes later then, and what does not come is given up', (t) => {
  const { turns, wait } = world()
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
  t.equal(turns.length, 0)
  const never = wait(() => undefined, 3)
  for (let turn = 0; turn < 3; turn++) turns.shift()!()
  t.same(never, [undefined])
  t.equal(turns.length, 0)
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
