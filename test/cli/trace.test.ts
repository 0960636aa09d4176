/** `intendant trace`: the events of one trace, indented by cause, however deep. */
import t from 'tap'
import { cli, service } from './in-process.ts'

const TRACE = 'a'.repeat(32)
const spanOf = (n: number): string => n.toString(16).padStart(16, '0')

/** A trace with an event in each of these spans, given with their parents. */
const traceOf = (spans: readonly (readonly [number, number | null])[]) => ({
  trace_id: TRACE,
  complete: true,
  run_requests: [],
  events: spans.map(([span, parent]) => ({
    event_type: 'noted',
    project: 'demo',
    occurred_at: '2030-01-01T00:00:00Z',
    payload: { span },
    span_id: spanOf(span),
    parent_span_id: parent === null ? null : spanOf(parent),
  })),
})

/** The indent of each event, by span. */
const indentsOf = (out: string): Record<string, number> =>
  Object.fromEntries(
    [...out.matchAll(/^( *)2030-01-01T00:00:00Z .* span=(\d+)$/gm)].map(([, by, span]) => [span, by!.length]),
  )

t.test('an event is indented two columns further than its cause, in whatever order they come', async (t) => {
  const spans = [
    [3, 2],
    [1, null],
    [2, 1],
    [4, 1],
    [9, 77],
    [6, 7],
    [7, 6],
  ] as const
  const { env } = await service(t, () => [200, traceOf(spans)])
  const { code, out } = await cli(env, 'trace', TRACE)
  t.equal(code, 0)
  const { 6: __, 7: ___, ...indents } = indentsOf(out)
  t.same(indents, { 1: 0, 2: 2, 3: 4, 4: 2, 9: 0 })
  t.same(Object.values(indentsOf((await cli(env, 'trace', TRACE, '--flat')).out)), [0, 0, 0, 0, 0, 0, 0])
})

t.test('a trace of thousands of nested spans is shown with a limited indent', async (t) => {
  const spans = Array.from({ length: 12_000 }, (_, n) => [n + 1, n === 0 ? null : n] as const)
  const { env } = await service(t, () => [200, traceOf(spans)])
  for (const argv of [[], ['--flat']]) {
    const { code, out, err } = await cli(env, 'trace', TRACE, ...argv)
    t.equal(code, 0, err.slice(0, 200))
    const indents = indentsOf(out)
    t.equal(Object.keys(indents).length, spans.length)
    t.match(indents, argv.length > 0 ? { 2: 0, 12000: 0 } : { 2: 2, 21: 40, 22: 40, 12000: 40 })
  }
})
