import fc from 'fast-check'
import t from 'tap'
import type { RequestGiven, RunnerGiven } from './fake.ts'
import { world } from './world.ts'

/** The reasons to wait that mean that no registered runner will do. */
const STRANDED = [
  'runner_removed',
  'no_runner_registered',
  'no_runner_allowed',
  'no_runner_with_labels',
  'no_capable_engine',
]

const labels = fc.subarray(['gpu', 'linux'])
const request: fc.Arbitrary<RequestGiven> = fc.record(
  {
    project: fc.constantFrom('alpha', 'beta'),
    throttle: fc.constantFrom('full', 'dry_run'),
    approved: fc.boolean(),
    access: fc.constantFrom('full', 'read_only'),
    labels,
    runner_id: fc.constantFrom('r1', 'r9'),
    lane: fc.constantFrom('interactive', 'campaign'),
    not_before: fc.constantFrom('2025-01-01T00:00:00Z', '2026-06-01T00:00:00Z'),
  },
  { requiredKeys: [] },
)
const runner: fc.Arbitrary<RunnerGiven> = fc.record(
  {
    allowed_projects: fc.constantFrom(['*'], ['alpha'], []),
    labels,
    trusted: fc.boolean(),
    state: fc.constantFrom('registered', 'draining', 'removed'),
    online: fc.boolean(),
  },
  { requiredKeys: [] },
)

t.test(
  'the stranded requests are exactly those whose reason to wait is that no registered runner may take them',
  (t) => {
    let found = 0
    const isLaw = (
      requests: RequestGiven[],
      runners: RunnerGiven[],
      incapable: boolean | undefined,
      stopped?: string,
    ): void => {
      const { fake, dispatcher } = world(Object.fromEntries(runners.map((given, n) => [`r${n + 1}`, given])))
      if (incapable !== undefined) dispatcher.setCapable((id) => !incapable && id === 'r1')
      dispatcher.setPausedLanes(['campaign'])
      if (stopped !== undefined) dispatcher.setLabelLimits(new Map([[stopped, 0]]))
      const ids = requests.map((given) => fake.create(given))
      fake.run()
      const isStranded = (id: string) => STRANDED.includes(dispatcher.waitingBecause(id)?.code ?? '')
      const expected = ids.filter((id) => isStranded(id) && fake.request(id).context.project === 'alpha')
      const told = dispatcher.waiting
        .stranded((project) => project === 'alpha')(100, undefined)
        .rows.map(({ id }) => id)
      found += told.length
      t.same(told.sort(), expected.sort())
    }
    const requests = fc.array(request, { maxLength: 8 })
    const runners = fc.array(runner, { maxLength: 3 })
    const capable = fc.constantFrom(undefined, undefined, true, false)
    fc.assert(fc.property(requests, runners, capable, fc.constantFrom(undefined, 'gpu'), isLaw), { numRuns: 200 })
    t.ok(found > 50, 'some were found')
    t.end()
  },
)
