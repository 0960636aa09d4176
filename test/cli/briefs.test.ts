/** Formation briefs, engine manifests and trace ingestion on the command line, against a real service. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import t from 'tap'
import { BINARY } from '../binary.ts'
import { until } from '../until.ts'
import { type Shop, shop } from './shop.ts'

async function record({ say }: Shop): Promise<string> {
  await say('intent', 'add', '--project', 'shop', '--title', 'Sessions survive', '--capability', 'Signed in, always.')
  await say('intent', 'accept', 'shop.intent.sessions-survive')
  return 'shop.intent.sessions-survive'
}

/** Runs the built binary with this standard input. */
function piped({ service }: Shop, input: string, ...argv: string[]) {
  const env = { ...process.env, ENGINE_HOME: service.home, ENGINE_URL: service.url }
  return spawnSync(process.execPath, [BINARY, ...argv], { input, env, encoding: 'utf8' })
}

t.test('a brief is created, edited, submitted, approved, compiled and run on the command line', async (t) => {
  const setting = await shop(t)
  const { run, say } = setting
  const key = await record(setting)
  t.match(await say('brief', 'list', '--project', 'shop'), /No formation briefs/)
  const created = await say('brief', 'create', '--project', 'shop', '--objective', 'Move sessions.')
  const id = /brief_[0-9a-f]{24}/.exec(created)![0]
  t.match(created, /is draft/)
  t.match(created, /still missing: \/evidence_plan/)
  t.match(created, `intendant brief edit ${id}\nSubmit it for review with: intendant brief submit ${id}`)

  const edited = await say(
    ...['brief', 'edit', id, '--title', 'Sessions', '--engineering-intent', key, '--done', 'a, b', '--done', 'c'],
    ...[
      '--evidence',
      'the restart test',
      '--protect',
      'Signed in',
      '--forbid',
      'A map in memory',
      '--revision',
      'abc123',
    ],
    ...[
      '--entry-event',
      'execution_requested',
      '--body',
      '{"gate_overlay":{"id":"g"},"mission":{"objective":"Move them.","note":"kept"}}',
    ],
  )
  t.match(edited, 'is now version 2.')
  const more = JSON.parse(await say('brief', 'edit', id, '--stop', 'No disk', '--clear', 'gate-overlay', '--json'))
  t.match(more.mission, {
    objective: 'Move them.',
    note: 'kept',
    definition_of_done: ['a, b', 'c'],
    stop_conditions: ['No disk'],
  })
  t.notOk(more.gate_overlay)
  t.notOk(more.missing)
  t.match(await say('brief', 'edit', id, '--stop', 'No disk'), 'is unchanged.')
  t.equal((await run('brief', 'edit', id)).code, 2)
  const stale = await run('brief', 'edit', id, '--title', 'Other', '--if-version', '1')
  t.equal(stale.code, 3)
  t.match(stale.err, 'precondition_failed')

  t.match((await run('brief', 'submit', id, '--if-version', '1')).err, 'precondition_failed')
  t.match(await say('brief', 'submit', id), `intendant brief approve ${id} --throttle dry_run`)
  t.match(await say('attention'), `intendant brief show ${id}`)
  t.equal((await run('brief', 'approve', id)).code, 2, 'the throttle to approve must be given')
  t.equal((await run('brief', 'approve', id, '--throttle', 'full', '--if-version', '1')).code, 3)
  const [approved] = /sha256:[0-9a-f]{64}/.exec(await say('brief', 'approve', id, '--throttle', 'dry_run'))!
  const compiled = await say('brief', 'compile', id)
  t.match(compiled, `is compiled: ${approved}`)
  const [command] = /run-request create .*/.exec(compiled)!
  t.match(await say(...command.split(' ')), /Run request runreq_[0-9a-f]{24} is queued/)

  // The brief learns of its run by message, a turn later.
  const shown = await until(
    () => say('brief', 'show', id),
    (page) => page.includes('Latest run'),
  )
  t.match(shown, /state +queued/)
  t.match(shown, /dry_run of sha256:[0-9a-f]{12}, revision abc123, at .* by admin/)
  t.match(shown, /Forbids\n {2}A map in memory/)
  t.match(shown, new RegExp(`engineering: ${key}`))
  t.match(shown, /Latest run\n {2}runreq_/)
  t.match(await say('brief', 'list', '--project', 'shop', '--state', 'queued'), id)
  const others = ['--state', 'draft', '--state', 'archived,reviewable']
  t.match(
    await say('brief', 'list', '--project', 'shop', ...others),
    'briefs that are draft or archived or reviewable.',
  )
  t.equal((await run('brief', 'archive', id)).code, 3, 'its run is not over')
})

t.test('a brief can name a record by the beginning of its id, and shows its other references', async (t) => {
  const setting = await shop(t)
  const { say } = setting
  const key = await record(setting)
  const { id: recordId } = JSON.parse(await say('intent', 'show', key, '--json'))
  const short = recordId.slice(0, 11)
  const created = await say(
    ...['brief', 'create', '--project', 'shop', '--objective', 'Move sessions.', '--evidence', 'the test'],
    ...['--engineering-intent', short, '--design-intent', 'other', '--protect', short, '--protect', 'It is fast.'],
  )
  const id = /brief_[0-9a-f]{24}/.exec(created)![0]
  const page = await say('brief', 'show', id)
  t.match(page, new RegExp(`Intent\\n {2}engineering: ${key}\\n\\nRefers to\\n {2}design: other\\n`))
  t.match(page, new RegExp(`Protects\\n {2}${key}\\n {2}It is fast.`))
  await say('brief', 'submit', id)
  await say('brief', 'approve', id, '--throttle', 'dry_run')
  await say('brief', 'compile', id)
  t.match(await say('brief', 'prompts', id, '--phase', 'execution'), 'Signed in, always.')

  const mistyped = ['--engineering-intent', key, '--design-intent', `${recordId}0`, '--protect', 'It is fast.']
  const other = await say('brief', 'create', '--project', 'shop', '--objective', 'x', '--evidence', 'y', ...mistyped)
  t.match(other, `still missing: /mission/design_intent_refs/0 ${recordId}0 is not a record of shop`)
})

t.test('a brief approved for full is offered with a run command for full', async (t) => {
  const setting = await shop(t)
  const { say } = setting
  const key = await record(setting)
  const words = ['--objective', 'Move sessions.', '--product-intent', key, '--protect', 'Sessions survive.']
  const created = await say(...['brief', 'create', '--project', 'shop', ...words, '--evidence', 'the test', '--json'])
  const { id } = JSON.parse(created)
  await say('brief', 'submit', id)
  await say('brief', 'approve', id, '--throttle', 'full')
  t.match(await say('brief', 'compile', id), ` --throttle full --brief ${id} --brief-digest sha256:`)
  t.match(await say('brief', 'show', id), ` --throttle full --brief ${id} --brief-digest sha256:`)
})

t.test('a brief whose intent was withdrawn is shown without a run command', async (t) => {
  const setting = await shop(t)
  const { say, run } = setting
  const key = await record(setting)
  const { id } = JSON.parse(
    await say(
      ...['brief', 'create', '--project', 'shop', '--objective', 'Move sessions.', '--product-intent', key],
      ...['--protect', 'Sessions survive.', '--evidence', 'the restart test', '--json'],
    ),
  )
  await say('brief', 'submit', id)
  await say('brief', 'approve', id, '--throttle', 'dry_run')
  t.match(await say('brief', 'compile', id), 'Run it with: ')
  await say('intent', 'supersede', key)
  const shown = await say('brief', 'show', id)
  t.match(shown, /No approval is valid any longer:?\n +The intent behind it no longer guides runs: .*is superseded/)
  t.match(shown, `Archive it with: intendant brief archive ${id}`)
  t.notOk(shown.includes('Run it with'))
  t.notOk((await say('brief', 'compile', id)).includes('Run it with'), 'nor after a repeated compile')
  t.match(await say('attention'), new RegExp(`lapsed +${id}.*is superseded.*intendant brief archive ${id}`))
  t.match((await run('brief', 'approve', id, '--throttle', 'full')).err, /brief_incomplete/)
})

t.test('the prompts of a brief are printed, edited and approved again', async (t) => {
  const setting = await shop(t)
  const { service, run, say } = setting
  const key = await record(setting)
  const created = await say(
    ...['brief', 'create', '--project', 'shop', '--objective', 'Move \u001b[31m sessions.', '--product-intent', key],
    ...['--protect', 'Sessions survive.', '--evidence', 'the restart test', '--entry-event', 'execution_requested'],
    ...['--idempotency-key', 'k', '--json'],
  )
  const { id } = JSON.parse(created)
  t.notOk((await say('brief', 'show', id)).includes('\u001b'))
  t.equal((await run('brief', 'prompts', id)).code, 3)
  await say('brief', 'submit', id)
  await say('brief', 'approve', id, '--throttle', 'dry_run', '--revision', 'r1')
  const { digest } = JSON.parse(await say('brief', 'compile', id, '--json'))
  const list = await say('brief', 'prompts', id)
  for (const phase of ['assessment', 'triage', 'planning', 'execution', 'retry', 'summarization'])
    t.match(list, new RegExp(`${phase} +(read_only|full) +[0-9]+ +no`))
  const text = await say('brief', 'prompts', id, '--phase', 'execution')
  const prompts = JSON.parse(await say('brief', 'prompts', id, '--json'))
  const { prompt_text } = prompts.prompts.find(({ phase }: any) => phase === 'execution')
  t.match(prompt_text, /Move .*sessions\./)
  t.equal(text.trimEnd(), prompt_text.trimEnd(), 'piped output is the approved text')
  const none = await run('brief', 'prompts', id, '--phase', 'dancing')
  t.equal(none.code, 2)
  t.match(none.err, /There are prompts for assessment, triage/)
  const file = `${service.home}/prompt.md`
  writeFileSync(file, 'Do it by hand.\n')
  t.equal((await run('brief', 'prompts', id, '--edit', file)).code, 2)
  const edited = await say('brief', 'prompts', id, '--phase', 'execution', '--edit', file, '--reason', 'shorter')
  t.match(edited, `intendant brief approve ${id}`)
  t.equal(await say('brief', 'prompts', id, '--phase', 'execution'), 'Do it by hand.\n')
  t.equal(
    await say('brief', 'prompts', id, '--phase', 'execution', '--digest', digest),
    text,
    'the earlier version is kept',
  )
  t.match(await say('brief', 'show', id), `Approve it again with: intendant brief approve ${id} --throttle dry_run`)
  const edit = ['brief', 'prompts', id, '--phase', 'execution', '--edit', file, '--digest']
  const late = await run(...edit, digest)
  t.match([late.code, late.err], [3, /have changed meanwhile/])
  const run1 = ['run-request', 'create', '--project', 'shop', '--entry-event', 'execution_requested', '--brief', id]
  const now = JSON.parse(await say('brief', 'show', id, '--json')).digest
  await say(...edit, now)
  const early = await run(...run1, '--brief-digest', now)
  t.equal(early.code, 3)
  t.match(early.err, 'reapproval_required')
  await say('brief', 'approve', id, '--throttle', 'dry_run', '--revision', 'r1')
  t.match(await say(...run1, '--brief-digest', now), /is queued/)
  const approved = await say('brief', 'approve', id, '--throttle', 'full', '--revision', 'r1')
  t.match(approved, /^Brief .* is approved for full: sha256:[0-9a-f]{64}\n$/, 'no empty line follows')
  const other = JSON.parse(await say('brief', 'create', '--project', 'shop', '--objective', 'x', '--json')).id
  t.match(await say('brief', 'archive', other, '--reason', 'not now'), 'is archived.')
  t.match(await say('brief', 'show', other), /archived: not now/)
})

t.test('engine manifests are declared, listed and removed', async (t) => {
  const { run, say } = await shop(t)
  t.match(await say('engine', 'list', '--project', 'shop'), /No manifests/)
  await say('runner', 'add', 'r1', '--project', 'shop')
  const common = ['engine', 'declare', '--project', 'shop', '--engine-version', '1']
  t.match(
    await say(...common, '--engine', 'factory', '--entry-event', 'greet_requested', '--throttle', 'dry_run,full'),
    'Engine factory 1: greet_requested at dry_run, full.',
  )
  await say(
    ...[...common, '--runner', 'r1', '--throttle', 'dry_run', '--entry-event', '*'],
    ...['--body', '{"engine":"other","supports_prompt_pack":true}'],
  )
  t.match(await say('engine', 'list', '--project', 'shop'), /other +1 +r1 +current +\d+s +\* at dry_run/)
  const [newest] = JSON.parse(await say('engine', 'list', '--project', 'shop', '--json'))
  t.match(newest, { engine: 'other', supports_prompt_pack: true })
  const refused = await run(
    ...['run-request', 'create', '--project', 'shop', '--entry-event', 'sing_requested', '--throttle', 'full'],
  )
  t.equal(refused.code, 3)
  t.match(refused.err, 'engine_incapable')
  const remove = ['engine', 'remove', '--project', 'shop']
  t.match(
    await say(...remove, '--engine', 'factory'),
    'The manifest of engine factory without a runner no longer applies.',
  )
  t.match(await say(...remove, '--runner', 'r1'), 'The manifest of runner r1 no longer applies.')
  t.match(await say('engine', 'list', '--project', 'shop'), /No manifests/)
  t.equal((await run(...remove, '--runner', 'r1')).code, 3)
  t.equal((await run(...remove)).code, 2)
})

const event = (n: number, more: object = {}) => ({
  event_type: 'block_executed',
  occurred_at: `2026-03-01T00:00:00.${String(n).padStart(6, '0')}Z`,
  payload: { n },
  ...more,
})

t.test('trace ingest takes a whole trace from a file or standard input', async (t) => {
  const setting = await shop(t)
  const { service, run, say } = setting
  const id = 'c'.repeat(32)
  const lines = `${service.home}/trace.ndjson`
  const array = `${service.home}/trace.json`
  const events = Array.from({ length: 2_500 }, (_, n) => event(n))
  writeFileSync(lines, events.map((one) => `${JSON.stringify(one)}\n`).join(''))
  writeFileSync(array, JSON.stringify(events))
  const ingest = ['trace', 'ingest', id]
  t.match(
    await say(...ingest, lines, '--project', 'shop', '--origin', 'from ci'),
    '2500 events recorded, 0 already present, 0 refused.',
  )
  t.match(await say(...ingest, array, '--project', 'shop'), '0 events recorded, 2500 already present, 0 refused.')
  const shown = JSON.parse(await say('trace', id, '--json'))
  t.equal(shown.events.filter(({ event_type }: any) => event_type === 'block_executed').length, 2_500)
  const told = shown.events.find(({ event_type }: any) => event_type === 'trace_ingested')
  t.equal(told.by.origin, `${hostname().slice(0, 64)} from ci`)

  const { id: request } = JSON.parse(
    await say('run-request', 'create', '--project', 'shop', '--entry-event', 'scan_requested', '--json'),
  )
  const bad = `${JSON.stringify(event(1))}\nno event\n{"event_type":"\\u001b[31m"}\n${JSON.stringify(event(2))}`
  const mixed = piped(setting, bad, 'trace', 'ingest', request)
  t.equal(mixed.status, 1, mixed.stderr)
  t.match(mixed.stdout, '2 events recorded, 0 already present, 2 refused.\nRefused:\n  line 2: ')
  t.notOk(mixed.stdout.includes('\u001b'))

  const missing = await run(...ingest, `${service.home}/nothing.ndjson`)
  t.equal(missing.code, 1)
  t.match(missing.err, /ENOENT/)
  const cut = piped(setting, '[', 'trace', 'ingest', id, '--project', 'shop')
  t.equal(cut.status, 1, 'a line that is not an event')
  writeFileSync(array, JSON.stringify(events).slice(0, -1))
  const broken = await run(...ingest, array, '--project', 'shop')
  t.equal(broken.code, 3)
  t.match(broken.err, 'malformed_body')
  const refused = await run(...ingest, lines, '--project', 'nowhere')
  t.equal(refused.code, 3)
  t.match(refused.err, 'not_found')
})
