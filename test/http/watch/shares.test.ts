import t from 'tap'
import { Shares } from '../../../http/watch/shares.ts'
import type { Principal } from '../../../runtime/access/principals.ts'

t.test('streams are counted by token, and releasing one twice counts once', async (t) => {
  const shares = new Shares()
  const [one, other] = [{}, {}] as Principal[]
  const [first, second] = [shares.take(one!), shares.take(one!)]
  shares.take(other!)
  t.same([shares.of(one!), shares.of(other!)], [2, 1])
  first()
  first()
  t.equal(shares.of(one!), 1)
  second()
  t.same([shares.of(one!), shares.of(other!)], [0, 1])
})
