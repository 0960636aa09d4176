/** A backup made under load, and the home restored from it. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { command } from '../cli/processes.ts'
import { Random } from '../random.ts'
import { backUp, type Load } from './actors.ts'
import { documentsAgreeWith, holdsWhatWasTold, verified, type WholeLog, wholeLog } from './check.ts'
import { ask } from './client.ts'
import { gather, PROJECT } from './crowd.ts'
import { factOf, Memory, nowNs } from './memory.ts'
import { ServiceProcess } from './service-process.ts'
import { firedOnce } from './timekeepers.ts'

/** Answers before and after the backup: enough that all kinds of work are under way. */
const ANSWERS = 400
const RESTORED_ATTEMPTS = 1_000
const SETTLED = ['completed', 'failed', 'cancelled']
const seed = Date.now() % 1_000_000

async function answers(memory: Memory, count: number): Promise<void> {
  const enough = memory.told.length + count
  while (memory.told.length < enough) await sleep(5)
}

async function everyRequest(service: ServiceProcess): Promise<{ id: string; state: string; attempt: number }[]> {
  const found: any[] = []
  for (let cursor = ''; ; ) {
    const url = `${service.url}/api/run-requests?limit=500${cursor}`
    const { body } = await ask({ method: 'GET', url, token: service.adminToken })
    found.push(...body.items)
    if (body.next_cursor === undefined) return found
    cursor = `&cursor=${body.next_cursor}`
  }
}

/** What was exported into this folder. */
function inFiles(folder: string): WholeLog {
  const lines = readdirSync(folder).flatMap((file) => readFileSync(`${folder}/${file}`, 'utf8').trim().split('\n'))
  const facts = lines.map((line) => factOf(JSON.parse(line)))
  return { facts, before: 0, last: facts.length }
}

t.test(
  `a backup under load holds everything acknowledged before it, and its restore is fenced (seed ${seed})`,
  { timeout: 300_000 },
  async (t) => {
    const root = t.testdir()
    const service = new ServiceProcess(`${root}/home`)
    t.teardown(() => service.kill())
    await service.start()
    const memory = new Memory()
    let closing = false
    let stopping = false
    const load: Load = {
      url: () => service.url,
      token: service.adminToken,
      project: PROJECT,
      memory,
      closing: () => closing,
      stopping: () => stopping,
    }
    const crowd = await gather(load, 'first', new Random(seed))
    await answers(memory, ANSWERS)
    const begunNs = nowNs()
    const before = memory.told.length
    await backUp(load, 'under-load')
    const exported = await command('export', `${root}/exported`, '--home', `${root}/home`)
    t.equal(exported.code, 0, exported.err)
    const during = memory.told.length - before
    await answers(memory, ANSWERS)
    closing = true
    await crowd.closed
    stopping = true
    await crowd.gone
    t.same(memory.faults, [], 'the service went on undisturbed')
    t.ok(during > 0, `${during} answers while the backup was made`)
    const [{ path } = { path: '' }] = memory.backups
    const lostIds = new Set((await everyRequest(service)).map(({ id }) => id))
    t.equal(await service.stop(), 0)

    t.same(await verified(path), [])
    const { code, out, err } = await command('restore', path, '--home', `${root}/restored`, '--json')
    t.equal(code, 0, err)
    t.same(await verified(`${root}/restored`), [])
    const restored = new ServiceProcess(`${root}/restored`)
    t.teardown(() => restored.kill())
    // Nothing may happen by itself before it was looked at: no lease and no offer ends in the meantime.
    await restored.start({ ENGINE_LEASE: '1h', ENGINE_OFFER: '1h' })
    const as = { url: restored.url, token: restored.adminToken }
    const log = await wholeLog(as)
    t.same(holdsWhatWasTold(memory.until(begunNs), log), [])
    t.same(await documentsAgreeWith(as, log), [])
    t.same(await firedOnce(as, log), [])
    t.same(holdsWhatWasTold(memory.until(begunNs), inFiles(`${root}/exported`)), [], 'an export under load has it, too')
    const { lost, fenced } = JSON.parse(out)
    const requests = await everyRequest(restored)
    const unsettled = requests.filter(({ state }) => !SETTLED.includes(state))
    const underWay = unsettled.filter(({ id }) => lostIds.has(id))
    t.ok(underWay.length > 0 && fenced >= underWay.length, `${underWay.length} were under way`)
    t.same(
      // What the restored service hands out anew begins at 1, and was held by nobody before.
      underWay.filter(({ attempt }) => attempt <= RESTORED_ATTEMPTS),
      [],
      'no holder of an attempt of the lost log is heard',
    )
    t.same(
      lost.filter((id: string) => requests.find((one) => one.id === id)?.state !== 'lost'),
      [],
      'what had begun needs a person',
    )
    const cursor = encodeURIComponent(memory.cursor)
    const stale = await ask({ method: 'GET', url: `${as.url}/api/events?cursor=${cursor}`, token: as.token })
    t.match(stale, { status: 410, body: { code: 'cursor_of_another_log' } })
    t.equal(await restored.stop(), 0)
  },
)
