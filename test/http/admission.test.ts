import t from 'tap'
import { Admission, projectParamOf, urgencyOf } from '../../http/admission.ts'
import type { Route } from '../../http/route.ts'
import type { Exchange } from '../../http/wire/exchange.ts'
import { fairWaitMs, flowInFlightMin, newWorkWaitMsMax, promisedWorkWaitMsMax } from '../../runtime/limits.ts'
import { startTestService } from './service-harness.ts'

class World {
  waitMs = 0
  readonly admission = new Admission({ waitMs: () => this.waitMs })

  /** Sends one request of the project; returns its exchange, with the refusal if there was one. */
  send(project: string, urgency: 'new' | 'promised' = 'new'): { flow: Exchange['flow']; refused: string | undefined } {
    const exchange = { params: [project], principal: { id: 'tok' }, flow: undefined, refused: undefined } as any
    exchange.problem = (code: string) => {
      exchange.refused = code
    }
    const isIn = this.admission.enter(exchange, urgency, 0)
    if (isIn !== (exchange.refused === undefined)) throw new Error(`${isIn}, and ${exchange.refused}`)
    return exchange
  }

  /** Puts that many requests of the project in flight, all of them admitted. */
  fill(project: string, count: number): void {
    for (let n = 0; n < count; n++) this.send(project)
  }
}

t.test('every request is admitted while waits are short', async (t) => {
  const world = new World()
  world.waitMs = fairWaitMs
  world.fill('noisy', 5_000)
  world.fill('quiet', 1)
  t.equal(world.send('noisy').refused, undefined)
  t.equal(world.admission.inFlight, 5_002)
})

t.test(
  'when waits grow, a project with far more in flight than the others is refused, and the others are not',
  async (t) => {
    const world = new World()
    world.fill('noisy', 5_000)
    world.fill('busy', 60)
    world.fill('quiet', 20)
    world.waitMs = fairWaitMs + 1
    t.equal(world.send('noisy').refused, 'too_many_in_flight')
    t.equal(world.send('busy').refused, undefined)
    t.equal(world.send('quiet').refused, undefined)
    t.equal(world.send('new here').refused, undefined)
  },
)

t.test('a project that is alone is not refused, however much it has in flight', async (t) => {
  const world = new World()
  world.fill('only', 5_000)
  world.waitMs = fairWaitMs + 1
  t.equal(world.send('only').refused, undefined)
})

t.test('projects with similar numbers in flight are all admitted', async (t) => {
  const world = new World()
  for (const [project, count] of Object.entries({ a: 40, b: 60, c: 50 })) world.fill(project, count)
  world.waitMs = fairWaitMs + 1
  for (const project of ['a', 'b', 'c']) t.equal(world.send(project).refused, undefined)
})

t.test(
  'above the limit for new work runners are still admitted, and above theirs nobody; a few per project always are',
  async (t) => {
    const world = new World()
    world.fill('only', 50)
    for (let n = 0; n < 50; n++) world.send('runner', 'promised')
    world.waitMs = newWorkWaitMsMax + 1
    t.equal(world.send('only').refused, 'overloaded')
    t.equal(world.send('runner', 'promised').refused, undefined)
    for (let n = 0; n < flowInFlightMin; n++) t.equal(world.send('modest').refused, undefined)
    t.equal(world.send('modest').refused, 'overloaded')
    world.waitMs = promisedWorkWaitMsMax + 1
    t.equal(world.send('runner', 'promised').refused, 'overloaded')
    t.equal(world.send('another').refused, 'overloaded')
  },
)

t.test('an answered request no longer counts as in flight', async (t) => {
  const world = new World()
  const sent = Array.from({ length: 100 }, () => world.send('noisy'))
  world.fill('quiet', 4)
  world.waitMs = fairWaitMs + 1
  t.equal(world.send('noisy').refused, 'too_many_in_flight')
  for (const { flow } of sent) flow!.leave()
  t.equal(world.send('noisy').refused, undefined)
  t.equal(world.admission.inFlight, 5)
})

t.test('projects without requests in flight are forgotten', async (t) => {
  const world = new World()
  for (let n = 0; n < 20_000; n++) world.send(`nobody ${n}`).flow!.leave()
  t.ok(world.admission.known < 10_000, `${world.admission.known} kept`)
  const long = 'x'.repeat(10_000)
  t.equal(world.send(long).flow, world.send(`${long}y`).flow, 'overlong project names share the count of their token')
})

t.test('the urgency and the project of a request follow from its route', async (t) => {
  const route = (more: object) => ({ method: 'POST', path: '/api/x', access: { right: 'view' }, ...more }) as Route
  t.equal(urgencyOf(route({ method: 'GET' })), undefined)
  t.equal(urgencyOf(route({})), 'new')
  t.equal(urgencyOf(route({ access: { right: 'runner', runner: 'holder' } })), 'promised')
  t.equal(urgencyOf(route({ access: { right: 'runner', runner: 'holder' }, isAlwaysTaken: true })), undefined)
  t.equal(projectParamOf(route({ path: '/api/projects/:id/run-requests' })), 0)
  t.equal(projectParamOf(route({ path: '/projects/:id' })), 0)
  t.equal(projectParamOf(route({ path: '/api/run-requests/:id' })), -1)
})

t.test(
  'an overloaded service refuses changes before it reads them, and still answers reads, polls and heartbeats',
  async (t) => {
    const s = await startTestService(t)
    await s.expect(201, 'POST', '/api/projects', { key: 'p', name: 'p' })
    const { token } = (await s.expect(201, 'POST', '/api/runners', { id: 'r', allowed_projects: ['*'] })).body
    await s.expect(201, 'POST', '/api/projects/p/run-requests', { entry_event: 'scan_requested' })
    const { body: work } = await s.expect(200, 'GET', '/api/runners/r/run-requests/next', undefined, { token })
    const about = `/api/run-requests/${work.request_id}`
    await s.expect(200, 'POST', `${about}/started`, {}, { token })
    const { load } = s.service.runtime as unknown as { load: { waitMs(): number } }
    load.waitMs = () => promisedWorkWaitMsMax + 1
    const refused = await s.expect(503, 'POST', '/api/projects/p/run-requests', { entry_event: 'scan_requested' })
    t.match(refused.body, { code: 'overloaded', retryable: true })
    t.equal(refused.headers.get('retry-after'), '1')
    t.equal((await s.expect(503, 'POST', `${about}/completed`, { result: {} }, { token })).body.code, 'overloaded')
    await s.expect(200, 'POST', `${about}/heartbeat`, {}, { token })
    await s.expect(200, 'GET', about)
    await s.expect(204, 'GET', '/api/runners/r/run-requests/next', undefined, { token })
    load.waitMs = () => newWorkWaitMsMax + 1
    await s.expect(200, 'POST', `${about}/completed`, { result: {} }, { token })
    t.match(
      (await s.expect(200, 'GET', about)).body,
      { state: 'completed' },
      'a refused request succeeds when repeated',
    )
  },
)
