/**
 * Kills the real service at random moments under load and proves that nothing acknowledged is lost, nothing
 * happens twice, and those around it carry on by themselves. KILLS sets how often (default 50), SEED the moments.
 */
import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type Acknowledged, type Load, operate, read, requester, runner, watcher, wholeLog } from './actors.ts'
import { ServiceProcess } from './service-process.ts'

const kills = Number(process.env.KILLS ?? 50)
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
const binary = fileURLToPath(new URL('../../cli/main.js', import.meta.url))

/** A small generator of numbers in [0, 1) from one seed (mulberry32, Tommy Ettinger). */
function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

t.test(
  `nothing acknowledged is lost in ${kills} kills (SEED=${seed})`,
  { timeout: 60_000 + kills * 4_000 },
  async (t) => {
    const random = randomFrom(seed)
    const service = new ServiceProcess(t.testdir())
    await service.start()
    t.teardown(() => service.kill())
    const acknowledged: Acknowledged = {
      created: new Set(),
      events: new Map(),
      completed: new Set(),
      started: new Map(),
      faults: [],
    }
    let creating = true
    let working = true
    const token = service.adminToken
    const base = { url: () => service.url, token, acknowledged }
    const load: Load = { ...base, stopping: () => !working }
    await operate(load, '/api/projects', { key: 'crash', name: 'Crash' })
    const runners = await Promise.all(
      [1, 2, 3, 4].map((number) =>
        operate(load, '/api/runners', { id: `runner-${number}`, allowed_projects: ['crash'], capacity: 1 }),
      ),
    )
    const watched: string[] = []
    const requesters = [1, 2, 3].map((number) =>
      requester({ ...base, stopping: () => !creating }, `r${number}`, 'crash'),
    )
    const workers = runners.map((one) => runner(load, one.id, one.token))
    const watching = watcher(load, watched, () => !working)

    for (let kill = 0; kill < kills; kill++) {
      await sleep(30 + random() * 350)
      await service.kill()
      if (random() < 0.3) await sleep(random() * 100)
      await service.start()
    }
    creating = false
    await Promise.all(requesters)

    const isSettled = (state: string) => ['completed', 'failed', 'cancelled'].includes(state)
    const states = async () => {
      const found = new Map<string, any>()
      for (const id of acknowledged.created) found.set(id, await read(load, `/api/run-requests/${id}`))
      return found
    }
    let found = await states()
    for (let tries = 0; tries < 100 && [...found.values()].some((one) => !isSettled(one.state)); tries++) {
      await sleep(100)
      found = await states()
    }
    const log = await wholeLog(load)
    for (let tries = 0; tries < 50 && watched.length < log.length; tries++) await sleep(50)
    working = false
    await Promise.all([...workers, watching])

    t.same(acknowledged.faults, [], 'every answer was one that a careful client expects')
    t.ok(acknowledged.completed.size > kills, `work was done meanwhile (${acknowledged.completed.size} runs)`)
    const unsettled = [...found].filter(([, one]) => one.state !== 'completed').map(([id, one]) => `${id} ${one.state}`)
    t.same(unsettled, [], 'every request that was acknowledged ran to its end')

    const ids = log.map((event) => event.id)
    t.equal(new Set(ids).size, ids.length, 'no event is in the log twice')
    t.same(watched, ids, 'Watch gave every event of the log once and in order')
    const count = (type: string) => {
      const perRequest = new Map<string, number>()
      for (const event of log)
        if (event.event_type === type)
          perRequest.set(event.run_request_id, (perRequest.get(event.run_request_id) ?? 0) + 1)
      return perRequest
    }
    const completions = count('run_request_completed')
    t.same(
      [...acknowledged.completed].filter((id) => completions.get(id) !== 1),
      [],
      'each completion is one event',
    )
    const creations = count('run_request_created')
    t.same(
      [...acknowledged.created].filter((id) => creations.get(id) !== 1),
      [],
      'each creation is one event',
    )
    const reports = count('greeting_composed')
    t.same(
      [...acknowledged.events.keys()].filter((id) => !reports.has(id)),
      [],
      'each acknowledged event is in the log',
    )

    t.equal(await service.stop(), 0, `a graceful stop ends well: ${service.errors}`)
    const verified = spawnSync(process.execPath, [binary, 'verify'], {
      env: { ...process.env, ENGINE_HOME: service.home },
      encoding: 'utf8',
    })
    t.equal(verified.status, 0, `verify finds nothing: ${verified.stdout}${verified.stderr}`)
  },
)
