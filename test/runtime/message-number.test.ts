import t from 'tap'
import { nextMessageNumber } from '../../runtime/message-number.ts'

t.test('one life counts by one, whatever the log says meanwhile', async (t) => {
  const first = nextMessageNumber(0, 7)
  t.equal(nextMessageNumber(first, 7), first + 1)
  t.equal(nextMessageNumber(first + 1, 9_000), first + 2)
})

t.test('a later life of the same name begins above all that the one before it has sent', async (t) => {
  let last = nextMessageNumber(0, 0)
  for (let sent = 1; sent < 256; sent++) last = nextMessageNumber(last, 0)
  t.ok(nextMessageNumber(0, 1) > last, 'also where the log was told of nothing but its beginning')
  t.ok(nextMessageNumber(0, 2) > nextMessageNumber(0, 1))
})

t.test('whoever was begun by an earlier version, which counted from 1, goes on above all of its lives', async (t) => {
  for (const last of [1, 2, 1_000_000]) t.ok(nextMessageNumber(last, 0) > 1_000_000)
})

t.test('numbers are exact for as many events as a log may ever hold', async (t) => {
  const number = nextMessageNumber(0, 3e13)
  t.ok(Number.isSafeInteger(number))
  t.equal(nextMessageNumber(number, 3e13), number + 1)
})
