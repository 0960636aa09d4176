import t from 'tap'
import { countFlushes } from '../../../bench/peers/flushes.ts'

const lines = `
101 fdatasync(7) = 0
101 pwrite64(9, ""..., 4096, 0) = 4096
101 pwrite64(8, ""..., 4096, 0) = 4096
102 fsync(11 <unfinished ...>
101 pwrite64(9, ""..., 48, 4096 <unfinished ...>
102 <... fsync resumed>) = 0
101 <... pwrite64 resumed>) = 48
102 msync(0x7f00, 4096, MS_ASYNC) = 0
102 msync(0x7f00, 4096, MS_SYNC) = 0
102 pwrite64(9, ""..., 4096, 0) = 4096
102 +++ exited with 0 +++`

t.test('each flush is counted once, and a write only on a descriptor where writes are flushes', async (t) => {
  const none = new Map<number, ReadonlySet<number>>()
  t.equal(countFlushes(lines, none), 3, 'fdatasync, fsync, msync with MS_SYNC')
  const descriptors = new Map([
    [101, new Set([9])],
    [102, new Set<number>()],
  ])
  t.equal(countFlushes(lines, descriptors), 5)
  t.equal(countFlushes('', descriptors), 0)
})
