import t from 'tap'
import { nextMessageNumber } from '../../runtime/message-number.ts'

t.test('within one life, message numbers count up by one', async (t) => {
  const first = nextMessageNumber(0, 7)
  t.equal(nextMessageNumber(first, 7), first + 1)
  t.equal(nextMessageNumber(first + 1, 9_000), first + 2)
})

t.test('an entity recreated under an old id starts above every number of the earlier life', async (t) => {
  let last = nextMessageNumber(0, 0)
  for (let sent = 1; sent < 256; sent++) last = nextMessageNumber(last, 0)
  t.ok(nextMessageNumber(0, 1) > last, 'even when the log recorded nothing of it but its creation')
  t.ok(nextMessageNumber(0, 2) > nextMessageNumber(0, 1))
})

t.test(
  'an entity of an earlier version, which counted from 1, continues above all numbers of that version',
  async (t) => {
    for (const last of [1, 2, 1_000_000]) t.ok(nextMessageNumber(last, 0) > 1_000_000)
  },
)

t.test('message numbers are safe integers for as many events as a log can hold', async (t) => {
  const number = nextMessageNumber(0, 3e13)
  t.ok(Number.isSafeInteger(number))
  t.equal(nextMessageNumber(number, 3e13), number + 1)
})
