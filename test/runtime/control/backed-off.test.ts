import t from 'tap'
import { BackedOff } from '../../../runtime/control/backed-off.ts'
import { backedOffLoggedMax, backedOffLogWindowMs } from '../../../runtime/limits.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

const ref = (id: string) => ({ kind: 'work_item', id }) as const

function open() {
  const platform = new ManualPlatform()
  const told: any[] = []
  const asked: number[] = []
  const log = { info: () => {}, warn: () => {}, error: (fields: object) => told.push(fields) }
  const backedOff = new BackedOff({ platform, log, name: 'scheduler', tryAfter: (ms) => asked.push(ms) })
  return { platform, told, asked, backedOff }
}

t.test('failures before the retry time count as one', async (t) => {
  const { platform, told, asked, backedOff } = open()
  for (let n = 0; n < 3; n++) backedOff.failed(ref('a'), new Error('it cannot be'))
  t.match(told, [{ by: 'scheduler', id: 'a', failures: 1, err: { message: 'it cannot be' } }])
  t.equal(told.length, 1)
  t.same(asked, [1_000])
  backedOff.notTried([ref('a')])
  t.ok(backedOff.has(ref('a')))
  t.notOk(backedOff.has({ kind: 'initiative', id: 'a' }), 'the same id of another kind is another entity')
  t.same(backedOff.takeDue(), [])
  platform.advance(1_000)
  t.same(backedOff.takeDue(), [ref('a')])
  t.notOk(backedOff.has(ref('a')), 'it is being tried')
  t.same(asked, [1_000, 1_000], 'with nothing left to wait for, the owner is asked for nothing')
  backedOff.failed(ref('a'), new Error('it cannot be'))
  backedOff.passed([ref('a')])
  t.equal(backedOff.count, 1, 'it has failed again')
  t.match(told[1], { failures: 2, retry_in_ms: 2_000 })
})

t.test('with several passed over, the owner is asked to retry when the next is due', async (t) => {
  const { platform, asked, backedOff } = open()
  backedOff.failed(ref('a'), new Error('it cannot be'))
  platform.advance(400)
  backedOff.failed(ref('b'), new Error('it cannot be'))
  platform.advance(600)
  t.same(backedOff.takeDue(), [ref('a')])
  t.equal(asked.at(-1), 400)
  backedOff.notTried([ref('a')])
  platform.advance(400)
  t.same(backedOff.takeDue(), [ref('a'), ref('b')])
  backedOff.passed([ref('a'), ref('b')])
  t.equal(backedOff.count, 0)
})

t.test(
  'an error that thousands of entities meet one after another logs a bounded number of lines a minute',
  async (t) => {
    const { platform, told, asked, backedOff } = open()
    const all = Array.from({ length: 10 * backedOffLoggedMax }, (_, n) => ref(String(n)))
    for (const one of all) {
      backedOff.takeDue()
      backedOff.failed(one, new Error('it cannot be'))
      platform.advance(1)
    }
    t.equal(told.length, backedOffLoggedMax)
    t.equal(backedOff.count, all.length)
    backedOff.passed(backedOff.takeDue())
    platform.advance(1_000)
    backedOff.passed(backedOff.takeDue())
    t.equal(backedOff.count, 0)
    t.equal(asked.at(-1), backedOffLogWindowMs - all.length - 1_000, 'asked once more, to log how many went unnamed')
    platform.advance(asked.at(-1)! - 1)
    backedOff.takeDue()
    t.equal(told.length, backedOffLoggedMax)
    platform.advance(1)
    backedOff.takeDue()
    t.same(told[backedOffLoggedMax], { by: 'scheduler', unnamed: all.length - backedOffLoggedMax })
    backedOff.failed(ref('a'), new Error('it cannot be'))
    t.match(told[backedOffLoggedMax + 1], { id: 'a' }, 'another minute begins')
  },
)

t.test('the count of unnamed failures is logged before the first failure of the next minute', async (t) => {
  const { platform, told, asked, backedOff } = open()
  platform.advance(5)
  for (let n = 0; n <= backedOffLoggedMax; n++) backedOff.failed(ref(String(n)), new Error('it cannot be'))
  t.equal(asked.at(-1), backedOffLogWindowMs, 'the owner is asked to have it logged even if nothing more fails')
  platform.advance(backedOffLogWindowMs)
  backedOff.failed(ref('a'), new Error('it cannot be'))
  t.match(told.slice(backedOffLoggedMax), [{ unnamed: 1 }, { id: 'a', failures: 1 }])
  t.equal(told.length, backedOffLoggedMax + 2)
})
