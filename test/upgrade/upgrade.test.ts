/** Homes of earlier versions, opened by this one: their content is served, and their work continues. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { modules } from '../../machines/index.ts'
import { verifyHooks } from '../../runtime/offline/verify-hooks.ts'
import { exportEvents } from '../../storage/copies/export.ts'
import { openEnvironments } from '../../storage/home/home-environments.ts'
import { SCHEMA_VERSION } from '../../storage/home/written-by.ts'
import { verifyHome } from '../../storage/verify/verify.ts'
import { Indexes } from '../../storage/view/indexes.ts'
import { command } from '../cli/processes.ts'
import { BANK, steer, world } from '../http/initiative-harness.ts'
import { startOnDisk, type TestService } from '../http/service-harness.ts'
import { makeHome } from './make-home.ts'
import { type Expected, folders, schemaOf, unpack, unpackFrom } from './unpack.ts'

/** Members that depend on the running service, not on the home. */
const OF_THE_MOMENT = ['lease_expires_at', 'waiting_because', 'last_seen_at', 'presence', 'in_flight']

async function machineVersions(home: string): Promise<Record<string, number>> {
  const { view, close } = await openEnvironments(home, () => {}, { readOnly: true })
  const versions: Record<string, number> = {}
  for (const { key, value } of view.snapshots.getRange({})) versions[key[0] as string] = JSON.parse(value).mv
  await close()
  return versions
}

const findings = async (home: string) => (await verifyHome(home, verifyHooks())).findings

/** Each document that the earlier version served is served unchanged. */
async function servedAlike(t: Test, s: TestService, { requests, documents }: Expected): Promise<void> {
  const cancelling = `/api/run-requests/${requests.cancelling}`
  for (const [path, document] of Object.entries(documents)) {
    if (path === cancelling) continue
    const { body } = await s.expect(200, 'GET', path)
    for (const [member, value] of Object.entries(document)) {
      // A draft no longer has a digest: only compiled briefs do.
      if (member === 'digest' && path.includes('/formation-briefs/')) continue
      if (!OF_THE_MOMENT.includes(member)) t.same(body[member], value, `${member} of ${path}`)
    }
  }
}

async function goesOn(t: Test, s: TestService, { requests, runner, documents }: Expected): Promise<void> {
  const as = { token: runner }
  const of = (state: string, what: string) => `/api/run-requests/${requests[state]}/${what}`
  t.equal(
    (await s.expect(200, 'POST', of('accepted', 'completed'), { result: { status: 'completed' } }, as)).status,
    200,
  )
  const { waiting_because } = (await s.expect(200, 'GET', `/api/run-requests/${requests.queued}`)).body
  t.ok(waiting_because, 'it is still waiting in the queue')
  const repeated = { result: { status: 'completed', note: 'kept' } }
  await s.expect(200, 'POST', of('completed', 'completed'), repeated, as)
  await s.expect(200, 'POST', of('offered', 'started'), {}, as)
  await s.expect(200, 'POST', of('lost', 'requeue'))
  await s.expect(200, 'POST', of('unapproved', 'approve'))
  await s.expect(200, 'POST', of('queued', 'cancel'))
  const { entry_event, payload } = documents[`/api/run-requests/${requests.last}`] as Record<string, unknown>
  const twin = { entry_event, payload, idempotency_key: 'last' }
  const again = await s.expect(200, 'POST', '/api/projects/demo/run-requests', {
    ...twin,
    not_before: '2999-01-01T00:00:00Z',
  })
  t.equal(again.body.id, requests.last, 'its idempotency key is remembered')
  const { engine_run_id: run } = (await s.expect(200, 'GET', `/api/run-requests/${requests.started}`)).body
  const seen = { result: 'fail', observed_by: 'engine', source_type: 'test_run', observed_at: '2026-02-01T00:00:00Z' }
  const path = `/api/engine-runs/${run}/evidence-observations`
  t.equal((await s.expect(200, 'POST', path, { observations: [seen] }, as)).body.evidence.length, 2)
}

/** These stored when a cancel's grace ends; later ones store how long it is. */
const STOPPED_AT_ONCE = ['schema-1', 'schema-2']

let haveOlderMachines = false

for (const folder of folders) {
  t.test(`a home of ${folder} is served unchanged, and its work continues`, async (t) => {
    const home = `${t.testdir()}/home`
    const expected = unpack(folder, home)
    t.not(await schemaOf(home), String(SCHEMA_VERSION), 'it is of an older version')
    const before = await machineVersions(home)
    haveOlderMachines ||= Object.entries(before).some(([kind, version]) => version < (modules as any)[kind].version)
    t.same(await findings(home), [], 'it can be verified as it is')
    const { events, lastSequence, unreadable } = await exportEvents(home, `${t.testdirName}/events`)
    t.same([events, lastSequence, unreadable], [expected.lastSequence, expected.lastSequence, 0])
    t.not(await schemaOf(home), String(SCHEMA_VERSION), 'verify and export changed nothing')

    if (existsSync(join(home, 'log', 'data.mdb'))) {
      // As left by a start that was killed while it converted the log.
      for (const file of ['0000000001', '0000000003']) writeFileSync(join(home, 'log', `${file}.segment`), 'cut short')
      t.same(await findings(home), [])
    }
    const s = await startOnDisk(t, home)
    t.ok(s.service.runtime.journal.lastSequence >= expected.lastSequence)
    t.same(s.service.runtime.quarantined(), [])
    const cancelling = `/api/run-requests/${expected.requests.cancelling}`
    if (STOPPED_AT_ONCE.includes(folder)) {
      // Its grace ended long ago, so the service stops it in its first turns.
      while ((await s.call('GET', cancelling)).body.state !== 'cancelled') await new Promise(setImmediate)
    } else t.equal((await s.call('GET', cancelling)).body.state, 'cancelling', 'its grace begins anew')
    await servedAlike(t, s, expected)
    const listed = (await s.expect(200, 'GET', '/api/run-requests?limit=100')).body.items.map(({ id }: any) => id)
    const { token, ...requests } = expected.requests
    t.same(listed.sort(), Object.values(requests).sort())
    t.ok((await s.expect(200, 'GET', '/api/tokens')).body.items.some(({ id }: any) => id === token))
    await goesOn(t, s, expected)
    await s.service.close()
    t.equal(await schemaOf(home), String(SCHEMA_VERSION))
    t.notOk(existsSync(join(home, 'log', 'data.mdb')), 'its log has been converted')
    t.same(await findings(home), [])
    const again = await startOnDisk(t, home)
    t.equal((await again.expect(200, 'GET', `/api/run-requests/${expected.requests.accepted}`)).body.state, 'completed')
  })

  t.test(`a backup of ${folder} is restored by this version`, async (t) => {
    const backup = `${t.testdir()}/backup`
    const { requests } = unpack(folder, backup)
    const home = `${t.testdirName}/home`
    const { code, out, err } = await command('restore', backup, '--home', home, '--json')
    t.equal(code, 0, err)
    const { lost } = JSON.parse(out)
    t.same(lost.sort(), [requests.accepted, requests.lost].sort())
    t.same(await findings(home), [])
    t.equal(await schemaOf(home), String(SCHEMA_VERSION))
  })
}

t.test('a home made by this version, with its last steps only in the redo, is opened by this version', async (t) => {
  const made = `${t.testdir()}/made`
  await makeHome(made)
  const home = `${t.testdirName}/home`
  const expected = unpackFrom(made, home)
  t.equal(await schemaOf(home), String(SCHEMA_VERSION))
  const s = await startOnDisk(t, home)
  await servedAlike(t, s, expected)
  t.match((await s.expect(200, 'GET', '/api/pacing')).body, {
    label_limits: [{ label: 'l', max_running: 2 }],
    weights: [{ project: 'rest', weight: 3 }],
  })
  await goesOn(t, s, expected)
  await s.service.close()
  t.same(await findings(home), [])
})

t.test('an item that was staged under an earlier version of work items calls for a person', async (t) => {
  const home = `${t.testdir()}/home`
  const s = await startOnDisk(t, home)
  await steer(await world(s), 't1', { decision: 'stage', member: BANK, objective: 'Print invoices' })
  const staged = async (of: TestService) => (await of.expect(200, 'GET', '/api/attention?reason=staged')).body.items
  const before = await staged(s)
  t.match(before, [{ reason: 'staged', project: 'bank' }])
  await s.service.close()

  const { view, close } = await openEnvironments(home, () => {})
  const [row] = [...view.entities.getKeys({ start: ['work_item', 'attention', 'staged'] })]
  t.match(row, ['work_item', 'attention', 'staged', before[0].since, before[0].work_item.id])
  await view.env.commit(() => {
    view.entities.remove(row!)
    view.counts.remove(row!.slice(0, 3))
  })
  const indexes = new Indexes(view)
  await indexes.note({ ...indexes.versions(), work_item: 10 })
  await close()
  t.same(await staged(await startOnDisk(t, home)), before)
})

t.test('at least one home is of an older version with older machines', (t) => {
  t.ok(folders.length > 0)
  t.ok(haveOlderMachines, 'with older machines')
  t.end()
})
