import t from 'tap'
import { buckets, longestOf } from '../../../bench/soak/flushes.ts'

const text = (counts: readonly number[]): string =>
  ['0.001', '0.01', '0.1', '+Inf'].map((le, i) => `intendant_fsync_seconds_bucket{le="${le}"} ${counts[i]}`).join('\n')

t.test('the longest flush of a minute is the smallest bucket that holds all its flushes', async (t) => {
  const before = buckets(`# HELP x\n${text([5, 7, 9, 9])}\nintendant_fsync_seconds_count 9\n`)
  t.equal(longestOf(before, buckets(text([8, 10, 12, 12]))), 0.001, 'the longer ones were before')
  t.equal(longestOf(before, buckets(text([8, 11, 14, 14]))), 0.1)
  t.equal(longestOf(before, buckets(text([8, 11, 14, 15]))), Number.POSITIVE_INFINITY)
  t.equal(longestOf(before, before), 0)
  t.equal(longestOf(new Map(), new Map()), 0)
  t.equal(longestOf(new Map(), before), 0.1)
})
