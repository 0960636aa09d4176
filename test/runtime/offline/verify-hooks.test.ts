import { cpSync } from 'node:fs'
import t, { type Test } from 'tap'
import { loadSettings } from '../../../cli/settings.ts'
import { prepareEvent } from '../../../machines/events/envelope.ts'
import { projectIdOf } from '../../../machines/ids.ts'
import type { ActorKind } from '../../../machines/machine.ts'
import { ASPECTS } from '../../../machines/testimony.ts'
import type { Runtime } from '../../../runtime/api.ts'
import { withRuntime } from '../../../runtime/offline/offline.ts'
import { fenceRestored } from '../../../runtime/offline/restore.ts'
import { verifyHooks } from '../../../runtime/offline/verify-hooks.ts'
import { restoreFiles } from '../../../storage/copies/backup.ts'
import type { Environments } from '../../../storage/environments.ts'
import { openEnvironments } from '../../../storage/home/home-environments.ts'
import { systemPlatform } from '../../../storage/platform.ts'
import { ASPECTS_MAX } from '../../../storage/verify/findings.ts'
import { verifyHome } from '../../../storage/verify/verify.ts'
import { command } from '../../cli/processes.ts'
import { CREATE } from '../../machines/run-request-samples.ts'

const BY = { id: `tok_${'1'.repeat(24)}`, name: 'ann' }
const PROJECT = projectIdOf('acme')
const TOKEN = `tok_${'2'.repeat(24)}`
const BRIEF = `brief_${'3'.repeat(24)}`
const RUN = `run_${'4'.repeat(24)}`
const REQUEST = CREATE.id
const OTHER = `runreq_${'b'.repeat(24)}`
const HASH = 'a'.repeat(64)
const YEAR_MS = 365 * 86_400_000

const settingsOf = (home: string) => loadSettings({ flags: { home }, env: {} })

async function tell(runtime: Runtime, kind: ActorKind, id: string, type: string, rest: object = {}): Promise<void> {
  const answer = await runtime.askAsync({ kind, id }, { type, by: BY, ...rest } as never)
  if (!answer.ok) throw new Error(`${type} of ${kind} ${id}: ${answer.refusal.detail}`)
}

/** One entity of each kind, and run requests that made many moves. */
async function live(runtime: Runtime): Promise<void> {
  const holder = { runner_id: 'r1', attempt: 1 }
  await tell(runtime, 'project', PROJECT, 'create', { id: PROJECT, key: 'acme', name: 'Acme' })
  await tell(runtime, 'project', PROJECT, 'update', { name: 'Acme Ltd' })
  await tell(runtime, 'runner', 'r1', 'create', { id: 'r1', labels: ['linux'], credential_hash: HASH })
  await tell(runtime, 'runner', 'r1', 'came_online')
  await tell(runtime, 'runner', 'r1', 'session', { instance: 'i', version: '1', in_flight: [] })
  await tell(runtime, 'token', TOKEN, 'create', { id: TOKEN, name: 'ci', hash: HASH, roles: ['viewer'] })
  const sections = { title: 'Greet', objective: 'say hello' }
  await tell(runtime, 'formation_brief', BRIEF, 'create', {
    id: BRIEF,
    project: 'acme',
    project_id: PROJECT,
    sections,
  })
  const asked = { ...CREATE, project_id: PROJECT, retry: { max_attempts: 2, on: ['execution'] } }
  await tell(runtime, 'run_request', REQUEST, 'create', asked)
  await tell(runtime, 'run_request', REQUEST, 'offer', { runner_id: 'r1' })
  await tell(runtime, 'run_request', REQUEST, 'started', { ...holder, engine_run_id: RUN })
  await tell(runtime, 'run_request', REQUEST, 'failed', { ...holder, class: 'execution', message: 'no', digest: 'd' })
  await tell(runtime, 'run_request', OTHER, 'create', { ...asked, id: OTHER, trace_id: 'e'.repeat(32) })
  await tell(runtime, 'run_request', OTHER, 'offer', { runner_id: 'r1' })
  await tell(runtime, 'run_request', OTHER, 'accepted', holder)
  const observation = { id: `obs_${'5'.repeat(24)}`, result: 'pass', observed_by: 'ann', source_type: 'test' }
  await tell(runtime, 'engine_run', RUN, 'evidence', { observations: [observation] })
  await tell(runtime, 'engine_run', RUN, 'trace_summary', { summary: {}, digest: 'd' })
  const sentinel = { name: 'nightly', project: 'acme', project_id: PROJECT, cron: '0 2 1 1 *', time_zone: 'UTC' }
  await tell(runtime, 'sentinel', 'nightly', 'create', { ...sentinel, item: { objective: 'Tidy up' } })
  await tell(runtime, 'sentinel', 'nightly', 'update', { cron: '0 3 1 1 *' })
}

async function lived(test: Test): Promise<string> {
  const home = `${test.testdir()}/home`
  await withRuntime(settingsOf(home), live)
  return home
}

/** Changes records of a closed home behind the service's back. */
async function tamper(home: string, kind: string, id: string, change: (record: any) => unknown): Promise<void> {
  const { view, close } = await openEnvironments(home, () => {})
  const record = JSON.parse(view.snapshots.get([kind, id])!)
  const changed = change(record)
  await view.env.commit(() => {
    if (changed === undefined) view.snapshots.remove([kind, id])
    else view.snapshots.put([kind, id], JSON.stringify(changed))
  })
  await close()
}

/** Looks into the view of a closed home, or changes it behind the service's back. */
async function inView<T>(home: string, act: (view: Environments['view']) => T | Promise<T>): Promise<T> {
  const { view, close } = await openEnvironments(home, () => {})
  const done = await act(view)
  await close()
  return done
}

const inContext = (members: object) => (record: any) => {
  Object.assign(record.s.context, members)
  return record
}
const inState = (value: string) => (record: any) => {
  record.s.value = value
  return record
}

const assertions = async (home: string) =>
  (await verifyHome(home, verifyHooks())).findings.filter(({ code }) =>
    ['assertion_wrong', 'creation_missing', 'record_missing'].includes(code),
  )

t.test('verify finds nothing wrong with a home that the service wrote, or with a restored one', async (t) => {
  const home = await lived(t)
  t.same((await verifyHome(home, verifyHooks())).findings, [])
  const restored = `${t.testdirName}/restored`
  await restoreFiles(home, restored, {
    async settle(draft) {
      const { fenced, lost } = await withRuntime(settingsOf(draft), (runtime) => fenceRestored(runtime, BY))
      t.same([fenced, lost], [2, [OTHER]])
    },
  })
  t.same((await verifyHome(restored, verifyHooks())).findings, [])
})

t.test('verify has a place for each aspect of which events speak', (t) => {
  t.ok(ASPECTS.length <= ASPECTS_MAX)
  t.end()
})

t.test('a record that differs from its newest event is reported with the event and the difference', async (t) => {
  const sound = await lived(t)
  const cases: [string, string, (record: any) => unknown, RegExp][] = [
    ['run_request', REQUEST, inState('started'), /run_request_requeued, says state "queued", the record has "started"/],
    ['run_request', REQUEST, inContext({ attempt: 7 }), /run_request_requeued, says attempt 2, the record has 7/],
    ['run_request', OTHER, inContext({ offered_to: 'r2' }), /accepted, says offered_to "r1", the record has "r2"/],
    ['run_request', OTHER, inContext({ trace_id: 'f' }), /run_request_created, says trace_id "e+", the record has "f"/],
    ['project', PROJECT, inContext({ name: 'Other' }), /project_updated, says name "Acme Ltd", the record has "Other"/],
    ['project', PROJECT, inState('archived'), /project_updated, says state "active", the record has "archived"/],
    ['runner', 'r1', inContext({ capacity: 9 }), /runner_registered, says capacity 1, the record has 9/],
    ['runner', 'r1', inState('removed'), /runner_updated, says state "registered", the record has "removed"/],
    [
      'runner',
      'r1',
      (record) => inContext({ internal: { ...record.s.context.internal, online: false } })(record),
      /runner_online, says online true, the record has false/,
    ],
    [
      'runner',
      'r1',
      inContext({ limited: { until: '2026-02-01T00:00:00.000Z' } }),
      /runner_registered, says limited_until null, the record has "2026-02-01/,
    ],
    ['token', TOKEN, inContext({ rights: ['view'] }), /token_created, says rights \[\], the record has \["view"\]/],
    ['token', TOKEN, inState('revoked'), /token_created, says state "active", the record has "revoked"/],
    ['formation_brief', BRIEF, inContext({ version: 7 }), /brief_created, says version 1, the record has 7/],
    [
      'engine_run',
      RUN,
      inContext({ run_request_id: 'x' }),
      /trace_summary_recorded, says run_request_id "runreq_a+", the/,
    ],
    [
      'run_request',
      OTHER,
      inContext({ engine_run_id: 'x' }),
      /engine_run_opened, says engine_run_id "run_.*", the record has "x"/,
    ],
    ['sentinel', 'nightly', inState('paused'), /sentinel_updated, says state "active", the record has "paused"/],
    [
      'sentinel',
      'nightly',
      inContext({ cron: '0 4 1 1 *' }),
      /sentinel_updated, says cron "0 3 1 1 \*", the record has "0 4 1 1 \*"/,
    ],
    ['engine_run', RUN, inContext({ evidence: [] }), /evidence_observed, says last_observation "obs_5+", the record/],
    ['engine_run', RUN, inContext({ trace_summary: undefined }), /trace_summary_recorded, says summarized true, the/],
  ]
  for (const [i, [kind, id, change, detail]] of cases.entries()) {
    const home = `${t.testdirName}/case${i}`
    cpSync(sound, home, { recursive: true })
    await tamper(home, kind, id, change)
    const found = await assertions(home)
    t.match(found, [{ code: 'assertion_wrong', where: `${kind} ${id}`, detail }], `${kind} ${detail}`)
    t.match(found[0]?.detail, /^event \d+, /)
  }
})

t.test('a row that a sentinel should not have, or lacks, in any list of sentinels is reported', async (t) => {
  const sound = await lived(t)
  await withRuntime(settingsOf(sound), async (runtime) => {
    const times = { cron: '0 2 1 1 *', time_zone: 'Mars/Olympus' }
    const abroad = { name: 'abroad', project: 'acme', project_id: PROJECT, ...times, item: { objective: 'Sweep' } }
    await tell(runtime, 'sentinel', 'abroad', 'create', abroad)
    await tell(runtime, 'sentinel', 'busy', 'create', { ...abroad, name: 'busy', time_zone: 'UTC' })
    for (let times = 0; times < 3; times++) {
      await tell(runtime, 'sentinel', 'nightly', 'fire')
      const { next_at: due_at } = runtime.read({ kind: 'sentinel', id: 'busy' })!.context
      await tell(runtime, 'sentinel', 'busy', 'fall_due', { due_at, why_not: { code: 'duplicate' } })
    }
  })
  const lists = async (home: string) =>
    (await verifyHome(home, verifyHooks())).findings.map(({ code, where }) => `${code} ${where}`)
  t.same(await lists(sound), [])
  const rows = await inView(sound, (view) => [...view.entities.getKeys({})].filter(([kind]) => kind === 'sentinel'))
  t.same(
    new Set(rows.map(([, index, value]) => `${index} ${value}`.trim())),
    new Set([
      'all',
      'project acme',
      'state active',
      'attention failing',
      'attention skipping',
      'attention unscheduled',
    ]),
  )
  for (const [n, row] of rows.entries()) {
    const [kind, index, value, , id] = row as string[]
    const elsewhere = [kind!, index!, value!, 'elsewhere', id!]
    for (const [change, key] of [
      ['put', elsewhere],
      ['remove', row],
    ] as const) {
      const home = `${t.testdirName}/${change}${n}`
      cpSync(sound, home, { recursive: true })
      await inView(home, (view) =>
        view.env.commit(() => {
          if (change === 'put') view.entities.put(key as never, '')
          else view.entities.remove(key as never)
        }),
      )
      const found = (await lists(home)).join('\n')
      t.match(found, new RegExp(`sentinel ${id}`), `${change} ${index} ${value}`)
    }
  }
})

t.test('an entity known only to the log, or only to the view, is reported', async (t) => {
  const sound = await lived(t)
  for (const [kind, id, type] of [
    ['run_request', REQUEST, 'run_request_created'],
    ['project', PROJECT, 'project_created'],
    ['runner', 'r1', 'runner_registered'],
    ['token', TOKEN, 'token_created'],
    ['formation_brief', BRIEF, 'formation_brief_created'],
    ['engine_run', RUN, 'trace_summary_recorded'],
    ['sentinel', 'nightly', 'sentinel_added'],
  ] as const) {
    const home = `${t.testdirName}/${kind}`
    cpSync(sound, home, { recursive: true })
    await tamper(home, kind, id, () => undefined)
    t.match(await assertions(home), [
      {
        code: 'record_missing',
        where: `${kind} ${id}`,
        detail: new RegExp(`^event \\d+, ${type}, says that it exists`),
      },
    ])
    // No event of its own records the creation of an engine run.
    if (kind === 'engine_run') continue
    const ghost = `${t.testdirName}/${kind}-ghost`
    cpSync(sound, ghost, { recursive: true })
    const { view, close } = await openEnvironments(ghost, () => {})
    const record = JSON.parse(view.snapshots.get([kind, id])!)
    await view.env.commit(() => {
      view.snapshots.put([kind, 'ghost'], JSON.stringify(record))
    })
    await close()
    t.match(await assertions(ghost), [{ code: 'creation_missing', where: `${kind} ghost`, detail: /no event/ }])
  }
})

t.test('entities whose events retention removed are not reported, and entities newer than that are', async (t) => {
  const home = await lived(t)
  const moved = `${t.testdirName}/moved`
  await withRuntime(settingsOf(home), async (runtime) => {
    const { journal } = runtime
    await journal.trim({ beforeSequence: journal.lastSequence })
  })
  t.same((await verifyHome(home, verifyHooks())).findings, [])
  cpSync(home, moved, { recursive: true })
  await tamper(moved, 'engine_run', RUN, () => undefined)
  t.same(await assertions(moved), [], 'retired with its creation')
  await tamper(home, 'runner', 'r1', inContext({ created_at: '2999-01-01T00:00:00.000000Z' }))
  t.match(await assertions(home), [{ code: 'creation_missing', where: 'runner r1', detail: /^created at 2999/ }])
})

t.test(
  'entities dated by a clock that was ahead are not reported once retention has removed events of that time',
  async (t) => {
    const home = await lived(t)
    const { wallMs } = systemPlatform
    const clock = t.intercept(systemPlatform, 'wallMs', { value: () => wallMs() + YEAR_MS, configurable: true })
    const early = { id: 'early', labels: ['linux'], credential_hash: HASH }
    await withRuntime(settingsOf(home), (runtime) => tell(runtime, 'runner', 'early', 'create', early))
    clock.restore()
    await withRuntime(settingsOf(home), async (runtime) => {
      await tell(runtime, 'runner', 'now', 'create', { ...early, id: 'now', credential_hash: 'b'.repeat(64) })
      const { journal } = runtime
      const { lastSequence } = journal
      // Removes only what the view has already.
      while (journal.oldestSequence <= lastSequence) await journal.trim({ recordedBeforeMs: wallMs() })
      await tell(runtime, 'runner', 'later', 'create', { ...early, id: 'later', credential_hash: 'c'.repeat(64) })
    })
    t.same((await verifyHome(home, verifyHooks())).findings, [])
    for (const days of [363, 367]) {
      const other = `${t.testdirName}/${days}`
      cpSync(home, other, { recursive: true })
      const created_at = new Date(wallMs() + days * 86_400_000).toISOString().replace('Z', '000Z')
      await tamper(other, 'runner', 'early', inContext({ created_at }))
      t.match(
        await assertions(other),
        [{ code: 'creation_missing', where: 'runner early' }],
        'no event of that time was removed',
      )
    }
  },
)

t.test('imported events assert nothing, even when a runner or project is called import', async (t) => {
  const home = await lived(t)
  const { importEvents } = await import('../../../runtime/offline/import.ts')
  const { writeFileSync } = await import('node:fs')
  const stated = (id: string, state: string) =>
    prepareEvent({
      event_type: 'run_request_completed',
      project: 'acme',
      occurred_at: '2026-01-01T00:00:00Z',
      throttle: 'dry_run',
      payload: { run_request_id: id, state, attempt: 9 },
    })
  const file = `${t.testdirName}/events.jsonl`
  const lines = [stated(REQUEST, 'completed'), stated(`runreq_${'9'.repeat(24)}`, 'completed')]
  writeFileSync(file, lines.map(({ payloadText: _, ...event }) => `${JSON.stringify(event)}\n`).join(''))
  await withRuntime(settingsOf(home), async (runtime) => {
    t.match(await importEvents(runtime, [file], 'here'), { accepted: 2 })
    const by = { id: 'import', name: 'runner:import' }
    await tell(runtime, 'run_request', OTHER, 'started', { runner_id: 'r1', attempt: 1, by })
  })
  t.same((await verifyHome(home, verifyHooks())).findings, [])
  await tamper(home, 'run_request', OTHER, inState('accepted'))
  t.match(await assertions(home), [{ code: 'assertion_wrong', detail: /run_request_started, says state "started"/ }])
})

t.test('intendant verify reports a wrong record, as text and as JSON', async (t) => {
  const home = await lived(t)
  await tamper(home, 'run_request', REQUEST, inContext({ attempt: 7 }))
  const { code, out } = await command('verify', home)
  t.equal(code, 1)
  t.match(out, new RegExp(`assertion_wrong +run_request ${REQUEST} +event \\d+, .*says attempt 2, the record has 7`))
  const json = JSON.parse((await command('verify', home, '--json')).out)
  t.match(json, { findings_count: 1, findings: [{ code: 'assertion_wrong', where: `run_request ${REQUEST}` }] })
})
