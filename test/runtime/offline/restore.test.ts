/** How many commits a restore takes: whoever waits for it waits for the disk. */
import t from 'tap'
import { loadSettings } from '../../../cli/settings.ts'
import { withRuntime } from '../../../runtime/offline/offline.ts'
import { fenceRestored } from '../../../runtime/offline/restore.ts'
import { BY, CREATE } from '../../machines/run-request-samples.ts'

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
