/** How many commits a restore takes, since whoever waits for it waits for the disk; and what waits for the service. */
import t from 'tap'
import { loadSettings } from '../../../cli/settings.ts'
import { withRuntime } from '../../../runtime/offline/offline.ts'
import { fenceRestored } from '../../../runtime/offline/restore.ts'
import { systemPlatform } from '../../../storage/platform.ts'
import { startOnDisk } from '../../http/service-harness.ts'
import { BY, CREATE } from '../../machines/run-request-samples.ts'
import { until } from '../../until.ts'

const REQUESTS = 1_200

t.test('a restore fences many requests in few commits', async (t) => {
  const settings = loadSettings({ flags: { home: `${t.testdir()}/home` }, env: {} })
  await withRuntime(settings, async (runtime) => {
    const create = (_: unknown, i: number) => {
      const id = `runreq_${String(i).padStart(24, '0')}`
      const trace_id = String(i).padStart(32, '0')
      return runtime.askAsync({ kind: 'run_request', id }, { ...CREATE, id, trace_id } as never)
    }
    const made = await Promise.all(Array.from({ length: REQUESTS }, create))
    t.ok(made.every(({ ok }) => ok))
    let commits = 0
    runtime.onCommit(() => {
      commits += 1
    })
    t.match(await fenceRestored(runtime, BY), { fenced: REQUESTS, lost: [], unfenced: [] })
    t.ok(commits < REQUESTS / 20, `${commits} commits`)
  })
})

t.test(
  'nothing falls due while a home is restored: the service that starts on it knows what is asked for',
  async (t) => {
    const home = t.testdir()
    const settings = loadSettings({ flags: { home }, env: {} })
    const { wallMs } = systemPlatform
    // Half a minute before a full minute that has just passed.
    const aheadMs = Math.floor(wallMs() / 60_000 - 1) * 60_000 - 30_000 - wallMs()
    const clock = t.intercept(systemPlatform, 'wallMs', { value: () => wallMs() + aheadMs, configurable: true })
    const before = await startOnDisk(t, home)
    await before.project('shop')
    const item = { objective: 'Tidy up' }
    const { id } = (await before.expect(201, 'POST', '/api/work-items', { project: 'shop', ...item })).body
    await before.expect(201, 'POST', '/api/sentinels', { name: 'often', project: 'shop', cron: '* * * * *', item })
    await before.service.close()
    clock.restore()

    const ref = { kind: 'sentinel', id: 'often' } as const
    await withRuntime(settings, async (runtime) => {
      await fenceRestored(runtime, BY)
      await new Promise<void>((resolve) => systemPlatform.setTimer(resolve, 100))
      t.equal(runtime.read(ref)!.context.last, undefined)
    })
    const after = await startOnDisk(t, home)
    const fired = async () => (await after.expect(200, 'GET', '/api/sentinels/often')).body
    t.match(await until(fired, ({ last }) => last !== undefined), { last: { skipped: 'duplicate', item_id: id } })
  },
)
