/**
 * Makes a home as this version writes it, for later versions to open: `node dist/test/upgrade/make-home.js <folder>`.
 * It has one of each kind of entity, run requests in every state, and was not stopped cleanly: its last steps are only
 * in the redo. `expected.json` beside it records how this version serves the content. See test/upgrade/homes/README.md.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { startService } from '../../http/service.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'

const AT = '2026-01-31T12:00:00Z'
const FAR = '2999-01-01T00:00:00Z'

type Call = (method: string, path: string, body?: object, token?: string) => Promise<any>

function caller(url: string, admin: string): Call {
  return async (method, path, body, token = admin) => {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
}

/** Paths whose documents a later version must serve unchanged, and the secrets to read them with. */
interface Made {
  readonly paths: string[]
  readonly runner: string
  /** Ids of run requests, by state. */
  readonly requests: Record<string, string>
}

async function live(call: Call): Promise<Made> {
  await call('POST', '/api/projects', { key: 'demo', name: 'Demo', repository: 'git@example.com:demo.git' })
  await call('PUT', '/api/projects/demo/charter', { mission: 'To be upgraded.' })
  await call('POST', '/api/projects', { key: 'old', name: 'Old' })
  await call('PATCH', '/api/projects/old', { archived: true })
  const first = { id: 'r1', allowed_projects: ['demo'], capacity: 20, run_rights: ['view', 'work.submit'] }
  const runner = (await call('POST', '/api/runners', first)).token
  const loser = (await call('POST', '/api/runners', { id: 'r2', allowed_projects: ['*'], labels: ['l'] })).token
  await call('POST', '/api/runners', { id: 'r3', name: 'Third' })
  await call('PATCH', '/api/runners/r3', { draining: true })
  const token = await call('POST', '/api/tokens', { name: 'ci', roles: ['operator'], projects: ['demo'] })
  const revoked = await call('POST', '/api/tokens', { name: 'gone', roles: ['viewer'] })
  await call('DELETE', `/api/tokens/${revoked.id}`)
  const mission = { objective: 'Be opened by a later version.' }
  const brief = await call('POST', '/api/projects/demo/formation-briefs', { mission, forbidden_moves: ['Lose it.'] })

  const make = async (more: object): Promise<string> =>
    (await call('POST', '/api/projects/demo/run-requests', { entry_event: 'scan_requested', again: true, ...more })).id
  const post = (id: string, what: string, body: object = {}, by = runner) =>
    call('POST', `/api/run-requests/${id}/${what}`, body, by)
  const taken = async (more: object, by = 'r1', secret = runner): Promise<string> => {
    const id = await make({ runner_id: by, ...more })
    const offer = await call('GET', `/api/runners/${by}/run-requests/next?wait=5`, undefined, secret)
    if (offer.request_id !== id) throw new Error(`${offer.request_id} was offered, not ${id}`)
    return id
  }
  const begun = async (more: object): Promise<string> => {
    const id = await taken(more)
    await post(id, 'started')
    return id
  }
  await call('POST', '/api/runners/r1/session', { instance: 'one', version: '1' }, runner)
  await call('POST', '/api/runners/r2/session', { instance: 'one', version: '1' }, loser)
  const requests: Record<string, string> = {}
  requests.completed = await begun({
    payload: { n: 1 },
    ...(brief.digest === undefined ? {} : { brief: { id: brief.id, digest: brief.digest } }),
  })
  const events = [{ event_type: 'greeting_composed', occurred_at: AT, payload: { greeting: 'Hello' } }]
  await post(requests.completed, 'events', { events })
  await post(requests.completed, 'completed', { result: { status: 'completed', note: 'kept' } })
  requests.failed = await begun({ payload: { n: 2 } })
  await post(requests.failed, 'failed', { class: 'execution', code: 'boom', message: 'It broke.' })
  requests.cancelled = await make({ payload: { n: 3 } })
  await call('POST', `/api/run-requests/${requests.cancelled}/cancel`, { reason: 'not wanted' })
  requests.lost = await taken({ payload: { n: 4 } }, 'r2', loser)
  await post(requests.lost, 'started', {}, loser)
  await call('POST', '/api/runners/r2/session', { instance: 'two', version: '1' }, loser)
  requests.started = await begun({ payload: { n: 5 }, timeout_seconds: 600_000 })
  const { engine_run_id: run } = await call('GET', `/api/run-requests/${requests.started}`)
  await call('POST', `/api/engine-runs/${run}/trace-summary`, { blocks_executed: ['a'] }, runner)
  const seen = { result: 'pass', observed_by: 'engine', source_type: 'test_run', observed_at: AT }
  await call('POST', `/api/engine-runs/${run}/evidence-observations`, { observations: [seen] }, runner)
  requests.cancelling = await begun({ payload: { n: 6 } })
  await call('POST', `/api/run-requests/${requests.cancelling}/cancel`, { reason: 'stop' })
  requests.accepted = await taken({ payload: { n: 7 } })
  await post(requests.accepted, 'accepted')
  requests.queued = await make({
    payload: { n: 8 },
    runner_id: 'r1',
    not_before: FAR,
    expires_at: '2999-02-01T00:00:00Z',
  })
  requests.unapproved = await make({ payload: { n: 9 }, throttle: 'full', idempotency_key: 'kept', labels: ['l'] })
  requests.offered = await taken({ payload: { n: 10 } })
  await call('DELETE', '/api/runners/r2')
  const ofRequests = Object.values(requests).map((id) => `/api/run-requests/${id}`)
  const others = [
    ...['projects/demo', 'projects/old', 'projects/demo/charter', 'runners/r1', 'runners/r2', 'runners/r3'],
    `formation-briefs/${brief.id}`,
    `engine-runs/${run}`,
  ].map((path) => `/api/${path}`)
  return {
    paths: [...ofRequests, ...others, `/api/run-requests/${requests.completed}`],
    runner,
    requests: { ...requests, token: token.id },
  }
}

/** Makes entities that nobody takes up, which a later version finds as they were left; returns their paths. */
async function atRest(call: Call): Promise<string[]> {
  const inProject = '/api/projects/rest'
  await call('POST', '/api/projects', {
    key: 'rest',
    name: 'At rest',
    repository: 'git@example.com:rest.git',
    max_writers: 2,
  })
  const evidence = [{ evidence_type: 'automated_test', description: 'It opens.', gate_name: 'upgrade' }]
  const intent = { title: 'Kept', capability: 'A later version opens it.', threat: 'It does not.', evidence }
  const record = await call('POST', `${inProject}/intent-records`, intent)
  await call('POST', `/api/intent-records/${record.id}/accept`, {})
  await call('POST', `/api/intent-records/${record.id}/activate`, {})
  const discovery = await call('POST', `${inProject}/discoveries`, {
    source: { tool: 'make-home' },
    repository: { path: '/rest', revision: 'abc' },
    observations: [{ ref: 'o1', summary: 'It was opened.', files: ['a.ts'] }],
    hypotheses: [
      { key: 'h1', title: 'It opens', confidence: 0.7, based_on: ['o1'], possible_intent: { capability: 'It' } },
    ],
  })
  const { items: hypotheses } = await call('GET', `${inProject}/hypotheses`)
  const engine = { engine: 'factory', engine_version: '1', supported_entry_events: ['*'] }
  await call('POST', `${inProject}/engine-capabilities`, { ...engine, supported_throttle_modes: ['dry_run', 'full'] })
  const brief = await call('POST', `${inProject}/formation-briefs`, {
    mission: { objective: 'Be compiled.', product_intent_refs: [record.id] },
    protected_capabilities: [{ statement: 'It stays.' }],
    evidence_plan: { required: ['the test'] },
    engine_controls: { entry_event: 'execution_requested', throttle: 'dry_run' },
    repo: { path: '/rest', revision: 'abc' },
  })
  await call('POST', `/api/formation-briefs/${brief.id}/submit`, {})
  await call('POST', `/api/formation-briefs/${brief.id}/approve`, { throttle: 'dry_run', revision: 'abc' })
  await call('POST', `/api/formation-briefs/${brief.id}/compile-prompts`, {})
  const item = await call('POST', '/api/work-items', { project: 'rest', objective: 'Wait.' })
  const done = [{ kind: 'review', statement: 'It is opened.' }]
  const campaign = { name: 'rest', project: 'rest', mission: 'Wait.', done_evidence: done, budget: { max_cycles: 2 } }
  await call('POST', '/api/campaigns', campaign)
  const members = [{ kind: 'project', ref: 'rest' }]
  await call('POST', '/api/initiatives', { name: 'rest', outcome: 'All waits.', members })
  const often = { name: 'rest', project: 'rest', cron: '0 0 1 1 *', item: { objective: 'Wait again.' } }
  await call('POST', '/api/sentinels', often)
  await call('POST', '/api/pacing/limit', { label: 'l', max_running: 2 })
  await call('POST', '/api/pacing/weigh', { project: 'rest', weight: 3 })
  return [
    ...['projects/rest', `intent-records/${record.id}`, `discoveries/${discovery.id}`, `formation-briefs/${brief.id}`],
    ...[`formation-briefs/${brief.id}/compiled`, `work-items/${item.id}`, 'campaigns/rest', 'initiatives/rest'],
    'sentinels/rest',
    ...hypotheses.map(({ id }: { id: string }) => `hypotheses/${id}`),
  ].map((path) => `/api/${path}`)
}

/** Makes changes that never reach the view. */
async function more(call: Call, { paths, requests, runner }: Made): Promise<void> {
  await call('POST', `/api/run-requests/${requests.accepted}/started`, {}, runner)
  await call('POST', `/api/run-requests/${requests.started}/completed`, { result: { status: 'completed' } }, runner)
  const last = { entry_event: 'scan_requested', payload: { n: 11 }, idempotency_key: 'last' }
  const { id } = await call('POST', '/api/projects/demo/run-requests', { ...last, not_before: FAR })
  requests.last = id
  paths.push(`/api/run-requests/${id}`)
  await call('PATCH', '/api/projects/demo', { name: 'Demo, renamed' })
}

/** Writes `log`, `view` (compressed) and `expected.json` into the folder. */
export async function makeHome(target: string): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'intendant-home-'))
  let journal: DiskJournal | undefined
  const settings = { ...defaultSettings, home, port: 0, diskReserveBytes: 0 }
  const service = await startService(settings, {
    version: 'fixture',
    log: pino({ level: 'silent' }),
    openJournal: async (onFailure) => {
      journal = await openDiskJournal({ home, diskReserveBytes: 0, onFailure })
      return journal
    },
  })
  const admin = readFileSync(join(home, 'admin.token'), 'utf8').trim()
  const call = caller(service.url, admin)
  const made = await live(call)
  made.paths.push(...(await atRest(call)))
  await journal!.settled()
  let letGo = (): void => {}
  const held = journal!.holdView(
    new Promise((resolve) => {
      letGo = resolve
    }),
  )
  await more(call, made)
  const documents: Record<string, unknown> = {}
  for (const path of made.paths) documents[path] = await call('GET', path)
  const whole = join(target, 'home')
  cpSync(home, whole, { recursive: true })
  for (const part of ['log', 'view']) {
    mkdirSync(join(target, part), { recursive: true })
    for (const file of dataFilesOf(join(whole, part)))
      writeFileSync(join(target, part, `${basename(file)}.gz`), gzipSync(readFileSync(file), { level: 9 }))
  }
  rmSync(whole, { recursive: true })
  const { lastSequence } = journal!
  const { runner, requests } = made
  const expected = { lastSequence, admin, runner, requests, documents }
  writeFileSync(join(target, 'expected.json'), `${JSON.stringify(expected, undefined, 1)}\n`)
  letGo()
  await held
  await service.close()
  rmSync(home, { recursive: true })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await makeHome(process.argv[2]!)
