/**
 * Requests with one key pass one at a time in order of arrival, at a cost per request that does not grow with the line.
 */
import t from 'tap'
import { KeyedMutex } from '../../http/keyed-mutex.ts'
import type { Exchange } from '../../http/wire/exchange.ts'

/** A waiting request, which counts how often it was asked whether its client is gone. */
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

t.test('thousands of requests with one key pass in order, and each is checked at most twice', async (t) => {
  const mutex = new KeyedMutex()
  const askers = Array.from({ length: 3_000 }, () => new Asker())
  const through: number[] = []
  let leaveNext: (() => void) | undefined
  for (const [i, asker] of askers.entries()) {
    mutex.enter('k', asExchange(asker), (leave) => {
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

t.test('requests that leave at once pass without nesting', async (t) => {
  const mutex = new KeyedMutex()
  let leaveFirst = (): void => {}
  mutex.enter('k', asExchange(new Asker()), (leave) => {
    leaveFirst = leave
  })
  let inside = 0
  let count = 0
  for (let i = 0; i < 20_000; i++) {
    mutex.enter('k', asExchange(new Asker()), (leave) => {
      inside += 1
      if (inside > 1) t.fail('two are through at once')
      count += 1
      inside -= 1
      leave()
    })
  }
  t.equal(count, 0)
  leaveFirst()
  t.equal(count, 20_000)
})

t.test(
  'a request whose client is gone, or whose handler throws, does not block the line, and each ends once',
  async (t) => {
    const mutex = new KeyedMutex()
    const said: string[] = []
    const [one, gone, thrower, last] = [new Asker(), new Asker(), new Asker(), new Asker()]
    let leaveOne = (): void => {}
    let leaveLast = (): void => {}
    const over = (name: string) => () => void said.push(`${name} is over`)
    mutex.enter(
      'k',
      asExchange(one),
      (leave) => {
        leaveOne = leave
      },
      over('one'),
    )
    mutex.enter('k', asExchange(gone), () => t.fail('the client is gone'), over('gone'))
    mutex.enter(
      'k',
      asExchange(thrower),
      () => {
        throw new Error('thrown')
      },
      over('thrower'),
    )
    mutex.enter(
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
    mutex.enter('k', asExchange(new Asker()), () => {
      isThrough = true
    })
    t.equal(isThrough, true, 'the key is free')
    mutex.enter('another', asExchange(gone), () => t.fail('the client was gone before'), over('gone again'))
    t.equal(said.at(-1), 'gone again is over')
  },
)

t.test('a line that has ended does not admit a request of a line begun during its end', async (t) => {
  const mutex = new KeyedMutex()
  const said: string[] = []
  const leave: Record<string, () => void> = {}
  const enter = (name: string, over?: () => void): void =>
    mutex.enter(
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
