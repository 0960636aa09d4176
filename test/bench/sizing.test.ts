import t from 'tap'
import { runnersPerCore, sizingTable } from '../../bench/sizing.ts'

t.test('runners per core follow from the cost of their calls and heartbeats, and longer runs allow more', async (t) => {
  // 0.16 calls of 100 us and 0.05 heartbeats of 10 us a second: 16.5 us of 700,000.
  t.equal(Math.round(runnersPerCore(100, 10, 100)), Math.round(700_000 / (0.16 * 100 + 0.05 * 10)))
  t.ok(runnersPerCore(100, 10, 3_600) > runnersPerCore(100, 10, 10))
})

t.test('the sizing table contains only what was measured', async (t) => {
  t.equal(sizingTable({}), 'Not measured yet.')
  const table = sizingTable({ bytesPerEvent: 1_000, heapPerParkedKb: 2.5 })
  t.match(table, /Events kept on a disk of 100 GB +\| 1,000 bytes an event, with its indexes +\| 100,000,000/)
  t.match(table, /10,000 parked runners .* 25 MB/)
  t.notMatch(table, 'Durable calls')
  t.notMatch(table, 'subscribers')
})
