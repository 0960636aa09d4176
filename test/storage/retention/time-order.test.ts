import t from 'tap'
import { overtakenRanges } from '../../../storage/retention/time-order.ts'

t.test('events recorded earlier than an event before them are reported as ranges', (t) => {
  const ranges = (...seconds: (number | undefined)[]) =>
    overtakenRanges(5, 4 + seconds.length, (sequence) => {
      const second = seconds[sequence - 5]
      return second === undefined ? undefined : new Date(second * 1_000).toISOString()
    })
  t.strictSame(ranges(), [])
  t.strictSame(ranges(1, 2, 2, 3), [], 'in the order of time')
  t.strictSame(ranges(9, 1, 2, 9, 10), [[6, 7]], 'a clock that was set back, until it has caught up')
  t.strictSame(ranges(9, 1, 12, 3, 4), [
    [6, 6],
    [8, 9],
  ])
  t.strictSame(ranges(9, undefined, 1, undefined, 12), [[7, 7]], 'unreadable events are left out')
  t.end()
})
