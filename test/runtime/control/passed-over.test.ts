import t from 'tap'
import { PassedOver } from '../../../runtime/control/passed-over.ts'
import { passedOverToldMax, passedOverToldMs } from '../../../runtime/limits.ts'
import { TurnedNature } from '../../natures/turned.ts'

const ref = (id: string) => ({ kind: 'work_item', id }) as const

function open() {
  const nature = new TurnedNature()
  const told: any[] = []
  const asked: number[] = []
  const log = { info: () => {}, warn: () => {}, error: (fields: object) => told.push(fields) }
  const passedOver = new PassedOver({ nature, log, name: 'scheduler', tryAfter: (ms) => asked.push(ms) })
  return { nature, told, asked, passedOver }
}

t.test('failures before the retry time count as one', async (t) => {
  const { nature, told, passedOver } = open()
  for (let n = 0; n < 3; n++) passedOver.failed(ref('a'), new Error('it cannot be'))
  t.equal(told.length, 1)
  t.ok(passedOver.has(ref('a')))
  t.notOk(passedOver.has({ kind: 'initiative', id: 'a' }), 'the same id of another kind is another entity')
  t.same(passedOver.takeDue(), [])
  nature.advance(1_000)
  t.same(passedOver.takeDue(), [ref('a')])
  t.notOk(passedOver.has(ref('a')), 'it is being tried')
  passedOver.failed(ref('a'), new Error('it cannot be'))
  passedOver.passed([ref('a')])
  t.equal(passedOver.count, 1, 'it has failed again')
  t.match(told[1], { failures: 2, retry_in_ms: 2_000 })
})

t.test('with several passed over, the owner is asked to retry when the next is due', async (t) => {
  const { nature, asked, passedOver } = open()
  passedOver.failed(ref('a'), new Error('it cannot be'))
  nature.advance(400)
  passedOver.failed(ref('b'), new Error('it cannot be'))
  nature.advance(600)
  t.same(passedOver.takeDue(), [ref('a')])
  t.equal(asked.at(-1), 400)
  passedOver.notTried([ref('a')])
  nature.advance(400)
  t.same(passedOver.takeDue(), [ref('a'), ref('b')])
  passedOver.passed([ref('a'), ref('b')])
  t.equal(passedOver.count, 0)
})

t.test(
  'an error that thousands of entities meet one after another logs a bounded number of lines a minute',
  async (t) => {
    const { nature, told, asked, passedOver } = open()
    const all = Array.from({ length: 10 * passedOverToldMax }, (_, n) => ref(String(n)))
    for (const one of all) {
      passedOver.takeDue()
      passedOver.failed(one, new Error('it cannot be'))
      nature.advance(1)
    }
    t.equal(told.length, passedOverToldMax)
    t.equal(passedOver.count, all.length)
    passedOver.passed(passedOver.takeDue())
    nature.advance(1_000)
    passedOver.passed(passedOver.takeDue())
    t.equal(passedOver.count, 0)
    t.equal(asked.at(-1), passedOverToldMs - all.length - 1_000, 'asked once more, to log how many went unnamed')
    nature.advance(asked.at(-1)! - 1)
    passedOver.takeDue()
    t.equal(told.length, passedOverToldMax)
    nature.advance(1)
    passedOver.takeDue()
    t.same(told[passedOverToldMax], { by: 'scheduler', unnamed: all.length - passedOverToldMax })
    passedOver.failed(ref('a'), new Error('it cannot be'))
    t.match(told[passedOverToldMax + 1], { id: 'a' }, 'another minute begins')
  },
)

t.test('the count of unnamed failures is logged before the first failure of the next minute', async (t) => {
  const { nature, told, passedOver } = open()
  for (let n = 0; n <= passedOverToldMax; n++) passedOver.failed(ref(String(n)), new Error('it cannot be'))
  nature.advance(passedOverToldMs)
  passedOver.failed(ref('a'), new Error('it cannot be'))
  t.match(told.slice(passedOverToldMax), [{ unnamed: 1 }, { id: 'a', failures: 1 }])
  t.equal(told.length, passedOverToldMax + 2)
})
