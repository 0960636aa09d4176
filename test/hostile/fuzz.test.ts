/**
 * A short run of the fuzzer: REQUESTS sets its length (default 20,000) and SEED its requests. The default seed is
 * fixed, so that a failing build is due to its change. The long run is `npm run hostile -- --requests 1000000 --seed
 * 1`.
 */
import t from 'tap'
import { campaign } from './campaign.ts'

const requests = Number(process.env.REQUESTS ?? 20_000)
const seed = Number(process.env.SEED ?? 1)

/** Operations that must have succeeded even in a short run, which would prove little otherwise. */
const REACHED = [
  'POST /api/projects/{id}/run-requests',
  'GET /api/runners/{runner_id}/run-requests/next',
  'POST /api/run-requests/{id}/accepted',
  'POST /api/run-requests/{id}/started',
  'POST /api/run-requests/{id}/events',
  'POST /api/run-requests/{id}/completed',
  'POST /api/run-requests/{id}/failed',
  'POST /api/run-requests/{id}/requeue',
  'POST /api/engine-runs/{id}/evidence-observations',
  'POST /api/tokens',
  'POST /api/events',
]

t.test(`${requests} valid and invalid requests (SEED=${seed}) reveal no fault`, { timeout: 300_000 }, async (t) => {
  const result = await campaign({ requests, seed, connections: 64, log: (line) => t.comment(line) })
  for (const fault of result.faults) t.fail(fault)
  t.ok(result.requests >= requests)
  t.same(result.uncalled, [], 'every operation was called')
  for (const name of REACHED)
    t.ok((result.answered.get(name)?.get(200) ?? result.answered.get(name)?.get(201) ?? 0) > 0, name)
})
