import t from 'tap'
import { newSpanId, newTraceId } from '../../../runtime/entities/trace-ids.ts'

t.test('trace ids sort by creation time and are valid in W3C Trace Context', async (t) => {
  let nowMs = 999.75
  let made = 0
  const platform = { wallMs: () => nowMs, randomHex: (digits: number) => (made++ % 16).toString(16).repeat(digits) }
  const traces: string[] = []
  for (const ms of [999.75, 1_000, 1_000, 1_700_000_000_000, 2 ** 44]) {
    nowMs = ms
    traces.push(newTraceId(platform))
  }
  for (const trace of traces) t.match(trace, /^[0-9a-f]{32}$/)
  t.same(traces.toSorted(), traces)
  t.equal(new Set(traces).size, traces.length)
  t.equal(traces[0], `0000000003e7${'0'.repeat(20)}`)
  t.match(newSpanId(platform), /^[0-9a-f]{16}$/)
})
