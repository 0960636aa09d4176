import t from 'tap'
import { trialsOf, triedFor } from '../../../runtime/dispatch/trials.ts'

const MINUTE_MS = 60_000
const NOW_MS = Date.UTC(2026, 0, 1)
const at = (minutesAgo: number): string => new Date(NOW_MS - minutesAgo * MINUTE_MS).toISOString()

/** How many runs are read, and the runners that count as being tried, of those that the given limits are over for. */
function tried(...outages: { over: number; run?: object; is_stated?: boolean; has?: 'queue' | 'runner' | 'nobody' }[]) {
  let reads = 0
  const read = ({ id }: { id: string }) => {
    reads++
    return outages[Number(id)]!.run
  }
  const runtime = { read, platform: { wallMs: () => NOW_MS } } as any
  const runners = outages.map(({ over, is_stated = false }, id) => ({
    id,
    outage: { until: at(over), run_request_id: String(id), is_stated },
  }))
  const has = (id: string, who: string) => (outages[Number(id)]!.has ?? 'queue') === who || undefined
  const queue = { demandOfRequest: (id: string) => has(id, 'queue') }
  const holdings = { get: (id: string) => has(id, 'runner') }
  const found = trialsOf(runtime, { fleet: { all: () => runners }, queue, holdings } as any)
  return { reads, ids: [...found.keys()].map(({ id }) => Number(id)) }
}

const queued = { value: 'queued', context: {} }
const started = (minutesAgo: number) => ({ value: 'started', context: { times: { started_at: at(minutesAgo) } } })

t.test('a runner is being tried for ten minutes from the end of its limit, and from the start of the run', (t) => {
  t.same(tried({ over: 9, run: queued }, { over: 11, run: queued }).ids, [0])
  t.same(tried({ over: 15, run: started(9) }, { over: 15, run: started(11) }).ids, [0])
  t.same(tried({ over: 1, run: { value: 'completed', context: {} } }, { over: 1 }).ids, [], 'it has ended')
  t.end()
})

t.test('no run is read of a runner whose provider had said until when', (t) => {
  t.same(tried({ over: 1, run: queued, is_stated: true }), { reads: 0, ids: [] })
  t.end()
})

t.test('no run is read that neither waits nor is held, since it tries nothing', (t) => {
  const had: Parameters<typeof tried> = [
    { over: 1, run: queued, has: 'nobody' },
    { over: 1, run: started(1), has: 'runner' },
  ]
  t.same(tried(...had), { reads: 1, ids: [1] })
  t.end()
})

t.test('what runs that try ask for is told once, however many ask for it', (t) => {
  const run = (project: string) =>
    ({
      project,
      throttle: 'full',
      asked: { access: 'full', entry_event: 'greet_requested', labels: [] },
      made: {},
    }) as any
  const trials = new Map(['shop', 'shop', 'site', 'shop'].map((project, id) => [{ id } as any, run(project)]))
  t.strictSame(
    [...triedFor(trials)].map(({ project }) => project),
    ['shop', 'site'],
  )
  t.end()
})
