import t, { type Test } from 'tap'
import { retentionSweepMs } from '../../runtime/limits.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import type { MemoryJournal } from '../storage/memory.ts'
import { COMPLETE, finish, fleet, PRESERVED, type Runner, reading, submit, take } from './ledger-harness.ts'
import { startTestService, type TestService } from './service-harness.ts'

const HOUR_MS = 3_600_000

interface Ledger {
  readonly s: TestService
  readonly landed: string
  readonly preserved: string
  /**
   * Delays the next create or resume until the sweep has removed old entities without dependents; then calls `then`.
   */
  holdUntilSwept(then?: () => void): void
}

async function ended(s: TestService, runner: Runner, objective: string, result: object): Promise<string> {
  const { id } = await submit(s, { objective })
  const { request_id } = await take(s, runner)
  await s.expect(200, 'POST', `/api/run-requests/${request_id}/started`, {}, runner)
  await finish(s, runner, request_id, result)
  return id
}

async function ledger(t: Test): Promise<Ledger> {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, { retentionMs: HOUR_MS, idempotencyMs: HOUR_MS, lateEventsMs: 1 }, { platform })
  const runner = await fleet(s, 'shop')
  const landed = await ended(s, runner, 'First', COMPLETE)
  const other = await ended(s, runner, 'Other', COMPLETE)
  const preserved = await ended(s, runner, 'Half', PRESERVED)
  const { runtime } = s.service
  const isThere = (): boolean => runtime.read({ kind: 'work_item', id: other }) !== undefined
  const sweep = async (): Promise<void> => {
    // Lets requests sent at the same time arrive first.
    for (let asked = 0; asked < 5; asked++) await s.expect(200, 'GET', '/healthz')
    for (platform.advance(2 * HOUR_MS); isThere(); platform.advance(retentionSweepMs))
      await s.expect(200, 'GET', '/healthz')
  }
  const holdUntilSwept = (then = (): void => {}): void => {
    const ask = runtime.ask.bind(runtime)
    runtime.ask = (ref, message, reply) => {
      if (message.type !== 'create' && message.type !== 'resume') {
        ask(ref, message, reply)
        return
      }
      runtime.ask = ask
      sweep().then(() => {
        then()
        ask(ref, message, reply)
      }, t.threw)
    }
  }
  return { s, landed, preserved, holdUntilSwept }
}

const ways: Readonly<Record<string, (of: Ledger) => Promise<any>>> = {
  submitted: ({ s, landed }) => submit(s, { objective: 'Next', depends_on: [landed] }),
  resumed: async ({ s, landed, preserved }) =>
    (await s.expect(201, 'POST', `/api/work-items/${preserved}/resume`, { depends_on: [landed] })).body,
}

for (const [how, make] of Object.entries(ways)) {
  t.test(`an item named in depends_on is not swept while the new item is being ${how}`, async (t) => {
    const of = await ledger(t)
    of.holdUntilSwept()
    const { id } = await make(of)
    t.match(await reading(of.s, of.landed)(), { state: 'landed' })
    t.match(await reading(of.s, id)(), { state: 'queued', depends_on: [of.landed] })
  })
}

t.test(
  'a duplicate submission is refused when its dependency was swept while it waited behind the first',
  async (t) => {
    const { s, landed, holdUntilSwept } = await ledger(t)
    holdUntilSwept(() => (s.service.runtime.journal as MemoryJournal).refuse('disk_reserve'))
    const next = { project: 'shop', objective: 'Next' }
    const [first, second] = await Promise.all([
      s.call('POST', '/api/work-items', next),
      s.expect(200, 'GET', '/healthz').then(() => s.call('POST', '/api/work-items', { ...next, depends_on: [landed] })),
    ])
    t.match(first, { status: 503, body: { code: 'disk_reserve' } })
    t.match(second, { status: 422, body: { code: 'unknown_work_item', errors: [{ pointer: '/depends_on/0' }] } })
  },
)
