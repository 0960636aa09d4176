/** Observations and trace summaries of a command reach the service in order before the run ends. */
import t, { type Test } from 'tap'
import { until } from '../until.ts'
import { type Hired, hired } from './hired.ts'
import { executionRequest, type StandIn } from './stand-in.ts'

/** Runs a command to its end against a stand-in with the given misbehaviour. */
async function run(
  test: Test,
  command: string,
  misbehave: StandIn['misbehave'] = () => undefined,
): Promise<{ service: StandIn; end: unknown }> {
  const { service, runner } = await begin(test, command, misbehave)
  return { service, end: await runner.finished }
}

async function begin(test: Test, command: string, misbehave: StandIn['misbehave']): Promise<Hired> {
  const { service, runner, logs } = await hired(test, command)
  service.misbehave = misbehave
  service.offer(executionRequest('runreq_f'))
  return { service, runner, logs }
}

const SEEN = { result: 'pass', observed_by: 'engine', source_type: 'test_run', intent_record_id: 'ir_1' }

function observation(more: object): string {
  return JSON.stringify({ schema_version: 'intendant.evidence_observation.v1', ...SEEN, ...more })
}

function summary(more: object): string {
  return JSON.stringify({ schema_version: 'intendant.trace_summary.v1', ...more })
}

function print(...lines: string[]): string {
  return lines.map((line) => `echo '${line}'`).join('; ')
}

function observations(service: StandIn): any[] {
  return service.said('evidence-observations').flatMap(({ body }) => body.observations)
}

const output = (service: StandIn): string =>
  service
    .events()
    .map(({ payload }) => payload.text)
    .join('')

t.test('observations and the trace summary are posted to the engine run before the run completes', async (t) => {
  const at = '2026-03-01T00:00:00.000001Z'
  const command = print(
    'one',
    observation({ notes: 'first', observed_at: at, trace_id: 'mine' }),
    summary({ blocks_executed: ['a'] }),
    observation({ notes: 'second' }),
    summary({ blocks_executed: ['a', 'b'] }),
  )
  const { service, end } = await run(t, command)
  t.same(end, ['completed'])
  t.same(
    observations(service).map(({ notes }) => notes),
    ['first', 'second'],
  )
  const [first, second] = observations(service)
  t.same(first, { ...SEEN, notes: 'first', observed_at: at, trace_id: 'mine' }, 'given values are kept')
  t.match(second.observed_at, /^\d{4}-.*Z$/, 'the time defaults to now')
  t.equal(second.trace_id, 'a'.repeat(32), "the trace defaults to the run's")
  const summaries = service.said('trace-summary')
  t.same(summaries.at(-1)!.body, { schema_version: 'intendant.trace_summary.v1', blocks_executed: ['a', 'b'] })
  t.ok(
    [...summaries, ...service.said('evidence-observations')].every(({ path }) => path.includes('/engine-runs/run_1/')),
  )
  t.equal(service.posts.at(-2)!.verb, 'completed')
  t.equal(output(service), 'one\n', 'they are no output')
})

t.test('many observations are posted in batches of at most a hundred', async (t) => {
  const command = `i=0; while [ $i -lt 450 ]; do i=$((i+1)); echo '${observation({ notes: 'N' }).replace('"N"', `"'$i'"`)}'; done`
  const { service, end } = await run(t, command)
  t.same(end, ['completed'])
  t.same(
    observations(service).map(({ notes }) => Number(notes)),
    Array.from({ length: 450 }, (_, i) => i + 1),
  )
  const posts = service.said('evidence-observations')
  t.ok(posts.every(({ body }) => body.observations.length <= 100))
})

t.test('observations are retried unchanged while the service is unavailable', async (t) => {
  const tries: string[] = []
  const { service, end } = await run(t, print(observation({ notes: 'x' }), summary({ gates: [] })), (post) => {
    if (!post.path.includes('/engine-runs/')) return undefined
    tries.push(JSON.stringify(post.body))
    return tries.length < 6 ? (tries.length % 2 === 0 ? 'cut' : { status: 503, code: 'unavailable' }) : undefined
  })
  t.same(end, ['completed'])
  t.equal(observations(service).length, 1)
  t.equal(service.said('trace-summary').length, 1)
  t.equal(new Set(tries).size, 2)
})

t.test('a refused observation or summary becomes output with the reason, and nothing else is lost', async (t) => {
  for (const refusal of [
    { status: 422, code: 'invalid_body' },
    { status: 409, code: 'illegal_move' },
  ]) {
    const command = print(
      observation({ notes: 'good' }),
      observation({ notes: 'bad' }),
      observation({ notes: 'better' }),
      summary({ root_event: 'bad' }),
    )
    const { service, end } = await run(t, command, ({ path, body }) =>
      path.includes('/engine-runs/') && JSON.stringify(body).includes('"bad"') ? refusal : undefined,
    )
    t.same(end, ['completed'])
    t.same(
      observations(service).map(({ notes }) => notes),
      ['good', 'better'],
    )
    t.match(output(service), observation({ notes: 'bad' }))
    t.match(output(service), summary({ root_event: 'bad' }))
    t.equal(output(service).split(`refused this line: ${refusal.code}`).length, 3)
  }
})

t.test('a run whose observations are refused as not_the_runner is abandoned', async (t) => {
  const misbehave: StandIn['misbehave'] = ({ path }) =>
    path.includes('/engine-runs/') ? { status: 403, code: 'not_the_runner' } : undefined
  const { service, runner, logs } = await begin(t, `${print(observation({}))}; sleep 20`, misbehave)
  await until(
    async () => logs.join('\n'),
    (text) => text.includes('abandoned: not_the_runner'),
  )
  runner.drain()
  t.same(await runner.finished, ['abandoned'])
  t.equal(service.said('completed').length + service.said('failed').length, 0)
})
