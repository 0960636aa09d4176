/** Requests with one key go one after the other, in the order in which they came, and a long line costs each of them no more. */
import t from 'tap'
import { Turnstile } from '../../http/turnstile.ts'
import type { Exchange } from '../../http/wire/exchange.ts'

/** One who asks, and how often it was looked at whether he is there still. */
class Asker {
  looks = 0
  isGone = false
  readonly faults: unknown[] = []

  get done(): boolean {
    this.looks += 1
    return this.isGone
  }

  fault(error: unknown): void {
    this.faults.push(error)
  }
}

const asExchange = (asker: Asker): Exchange => asker as unknown as Exchange

t.test('in a line of thousands each is looked at once or twice, and they go through as they came', async (t) => {
  const turnstile = new Turnstile()
  const askers = Array.from({ length: 3_000 }, () => new Asker())
  const through: number[] = []
  let leaveNext: (() => void) | undefined
  for (const [i, asker] of askers.entries()) {
    turnstile.enter('k', asExchange(asker), (leave) => {
      through.push(i)
      leaveNext = leave
    })
  }
  while (through.length < askers.length) leaveNext!()
  t.same(
    through,
    askers.map((_, i) => i),
  )
  t.equal(Math.max(...askers.map(({ looks }) => looks)) <= 2, true)
})

t.test('however many leave at once, they go through one within no other', async (t) => {
  const turnstile = new Turnstile()
  let leaveFirst = (): void => {}
  turnstile.enter('k', asExchange(new Asker()), (leave) => {
    leaveFirst = leave
  })
  let inside = 0
  let count = 0
  for (let i = 0; i < 20_000; i++) {
    turnstile.enter('k', asExchange(new Asker()), (leave) => {
      inside += 1
      if (inside > 1) t.fail('two are through')
      count += 1
      inside -= 1
      leave()
    })
  }
  t.equal(count, 0)
  leaveFirst()
  t.equal(count, 20_000)
})

t.test('who has gone, and who throws, keeps nobody; each is over once', async (t) => {
  const turnstile = new Turnstile()
  const said: string[] = []
  const [one, gone, thrower, last] = [new Asker(), new Asker(), new Asker(), new Asker()]
  let leaveOne = (): void => {}
  let leaveLast = (): void => {}
  const over = (name: string) => () => void said.push(`${name} is over`)
  turnstile.enter(
    'k',
    asExchange(one),
    (leave) => {
      leaveOne = leave
    },
    over('one'),
  )
  turnstile.enter('k', asExchange(gone), () => t.fail('the client has gone'), over('gone'))
  turnstile.enter(
    'k',
    asExchange(thrower),
    () => {
      throw new Error('thrown')
    },
    over('thrower'),
  )
  turnstile.enter(
    'k',
    asExchange(last),
    (leave) => {
      said.push('last is through')
      leaveLast = leave
    },
    over('last'),
  )
  gone.isGone = true
  leaveOne()
  leaveOne()
  t.same(said, ['one is over', 'gone is over', 'thrower is over', 'last is through'])
  t.match(thrower.faults, [{ message: 'thrown' }])
  leaveLast()
  let isThrough = false
  turnstile.enter('k', asExchange(new Asker()), () => {
    isThrough = true
  })
  t.equal(isThrough, true, 'the key is free')
  turnstile.enter('another', asExchange(gone), () => t.fail('the client had gone before'), over('gone again'))
  t.equal(said.at(-1), 'gone again is over')
})

t.test('a line that is over takes nothing of the one that began within its end', async (t) => {
  const turnstile = new Turnstile()
  const said: string[] = []
  const leave: Record<string, () => void> = {}
  const enter = (name: string, over?: () => void): void =>
    turnstile.enter(
      'k',
      asExchange(new Asker()),
      (leaves) => {
        said.push(`${name} in`)
        leave[name] = leaves
      },
      over,
    )
  enter('a', () => {
    enter('b')
    leave.b!()
    enter('c')
  })
  leave.a!()
  enter('d')
  t.same(said, ['a in', 'b in', 'c in'], 'one at a time')
  leave.c!()
  t.equal(said.at(-1), 'd in')
})
