import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import t, { type Test } from 'tap'
import { projectIdOf, runRequestIdOf } from '../../machines/ids.ts'
import { openEnvironments } from '../../storage/home/home-environments.ts'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { failing } from '../failing-files.ts'
import { NOWHERE } from '../nowhere.ts'
import { until } from '../until.ts'
import { cli } from './in-process.ts'
import { command as asProcess, ENV, runCommand, type Served, serve } from './processes.ts'

const REQUEST = ['run-request', 'create', '--project', 'demo', '--entry-event', 'scan_requested']

/** A process of its own takes a second of CPU; these commands do the same in this one. */
const command = (...argv: string[]) => cli({}, ...argv)

async function demo(test: Test, home: string): Promise<Served> {
  const service = await serve(test, home)
  await service.cli('project', 'add', '--name', 'Demo', '--key', 'demo')
  await service.cli('runner', 'add', 'r1', '--project', 'demo', '--save-token')
  return service
}

interface Used {
  readonly home: string
  readonly cursor: string
}

/** Made once and copied for each test, because making it takes six processes. */
let made: Promise<Used> | undefined

/** A home in which one run has completed, and whose service is stopped. */
async function used(test: Test): Promise<Used> {
  made ??= make(`${t.testdir()}/made`)
  const { home: from, cursor } = await made
  const home = `${test.testdir()}/home`
  cpSync(from, home, { recursive: true })
  return { home, cursor }
}

async function make(home: string): Promise<Used> {
  const service = await demo(t, home)
  const runner = service.start('runner', '--id', 'r1', '--exec', 'echo hello', '--once')
  t.equal((await service.cli(...REQUEST, '--wait')).code, 0)
  t.equal(await runner.ended, 0)
  const answer = await fetch(`${service.url}/api/projects`, {
    headers: { authorization: `Bearer ${readFileSync(`${home}/admin.token`, 'utf8').trim()}` },
  })
  t.equal(await service.end('SIGTERM'), 0)
  return { home, cursor: answer.headers.get('watch-cursor')! }
}

function lines(dir: string): any[] {
  return readdirSync(dir).flatMap((file) =>
    readFileSync(`${dir}/${file}`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  )
}

t.test(
  'verify finds no fault in the home of a stopped service, faults once its log is gone, and refuses a folder that is no home',
  async (t) => {
    const { home } = await used(t)
    const { code, out } = await asProcess('verify', '--home', home)
    t.equal(code, 0, out)
    t.match(out, /no problems found/)
    mkdirSync(`${t.testdirName}/empty`)
    for (const name of ['empty', 'mistyped']) {
      const { code, out, err } = await command('verify', `${t.testdirName}/${name}`)
      t.same([code, out], [2, ''], 'it is not reported as a damaged log')
      t.match(err, new RegExp(`${name} is neither a home nor a backup`))
    }
    rmSync(`${home}/log`, { recursive: true })
    t.equal((await command('verify', home)).code, 1)
  },
)

t.test('a home that this user may not enter is not examined, exported or imported into', async (t) => {
  const { home } = await used(t)
  failing(t, 'statSync', (path) => (path.startsWith(`${home}/`) ? 'EACCES' : undefined))
  t.match(await command('verify', home), { code: 7, out: '', err: /EACCES/ })
  for (const argv of [
    ['export', `${t.testdirName}/events`],
    ['import', `${t.testdirName}/events.jsonl`],
  ])
    t.match(await command(...argv, '--home', home), { code: 1, err: /EACCES/ })
})

t.test(
  'learned 3: import refuses a torn line alone and names it, and an exported event is imported once',
  async (t) => {
    const { home } = await used(t)
    const dir = `${t.testdirName}/events`
    const taken = JSON.parse((await command('export', dir, '--home', home, '--json')).out)
    const exported = lines(dir)
    t.match(taken, { events: exported.length, first_sequence: 1, last_sequence: exported.length, gaps: [] })
    const [file] = readdirSync(dir)
    t.match(file, /\d{4}-\d\d/)

    const other = `${t.testdirName}/other`
    const service = await demo(t, other)
    await service.end('SIGTERM')
    appendFileSync(`${dir}/${file}`, '{"event_type":\n')
    const first = await command('import', `${dir}/${file}`, '--home', other, '--json')
    const ofProject = exported.filter((event) => event.project === 'demo')
    t.equal(first.code, 1, 'a line was refused')
    const left_out = exported.filter((event) => event.project === 'system').length
    t.ok(left_out > 0)
    t.match(JSON.parse(first.out), { accepted: ofProject.length, duplicates: 0, left_out, refused_count: 1 })
    const again = JSON.parse((await command('import', `${dir}/${file}`, '--home', other, '--json')).out)
    t.match(again, { accepted: 0, duplicates: ofProject.length })
    t.ok(
      again.refused.some((line: any) => line.line === exported.length + 1 && line.offset > 0),
      'the broken line is named',
    )

    t.equal((await command('export', `${t.testdirName}/back`, '--home', other)).code, 0)
    const back = new Map(lines(`${t.testdirName}/back`).map((event) => [event.id, event]))
    for (const event of ofProject) {
      const { payload, run_request_id } = back.get(event.id)!
      t.same({ payload, run_request_id }, { payload: event.payload, run_request_id: event.run_request_id })
    }
    t.ok(ofProject.some((event) => event.run_request_id !== undefined))
    const more = ['export', `${t.testdirName}/back`, '--home', other, '--after']
    t.match(await command(...more, JSON.parse((await command('export', dir, '--home', other, '--json')).out).cursor), {
      code: 0,
      out: /No events to export/,
    })
    t.match(await command(...more, taken.cursor), { code: 1, err: /another log/ })
    t.match(await command(...more, 'x'), { code: 2, err: /A cursor printed by an earlier export/ })
    t.equal((await command('verify', '--home', other)).code, 0)
  },
)

t.test(
  'import takes all exported events of a project that exists, and leaves out those of the service itself',
  async (t) => {
    const { home } = await used(t)
    const dir = `${t.testdirName}/events`
    t.equal((await command('export', dir, '--home', home)).code, 0)
    const bare = await serve(t, `${t.testdirName}/bare`)
    await bare.end('SIGTERM')
    const refused = await command('import', `${dir}/${readdirSync(dir)[0]}`, '--home', bare.home)
    t.match(
      [refused.code, refused.out],
      [1, /There is no project demo here\. Add it \(intendant project add --key demo /],
    )
    const service = await demo(t, `${t.testdirName}/other`)
    await service.end('SIGTERM')
    const { code, out } = await command('import', `${dir}/${readdirSync(dir)[0]}`, '--home', service.home)
    t.equal(code, 0, out)
    t.match(out, /^\d+ event\(s\) recorded, 0 already present, 0 refused\.\n\d+ of the service itself/)
  },
)

t.test('a home in use by a service refuses an import but allows an export', async (t) => {
  const service = await demo(t, `${t.testdir()}/home`)
  const dir = `${t.testdirName}/events`
  t.match(await command('export', dir, '--home', service.home), { code: 0, err: '' })
  t.ok(lines(dir).some(({ event_type, payload }) => event_type === 'project_created' && payload.key === 'demo'))
  const { code, err } = await command('import', `${dir}/${readdirSync(dir)[0]}`, '--home', service.home)
  t.equal(code, 1)
  t.match(err, /is in use by process \d+/)
})

t.test('a backup can still be verified and restored after an export from it', async (t) => {
  const service = await demo(t, `${t.testdir()}/home`)
  t.equal((await service.cli('backup', '--name', 'today')).code, 0)
  await service.end('SIGKILL')
  const backup = `${service.home}/backups/today`
  t.equal((await command('export', `${t.testdirName}/events`, '--home', backup)).code, 0)
  const verified = await command('verify', backup)
  t.equal(verified.code, 0, verified.out)
  const restored = await command('restore', backup, '--home', `${t.testdirName}/restored`)
  t.equal(restored.code, 0, restored.err)
})

t.test('export reports events that cannot be read, and exports all others', async (t) => {
  const { home } = await used(t)
  const sound = `${t.testdirName}/sound`
  t.equal((await command('export', sound, '--home', home)).code, 0)
  const [path] = dataFilesOf(`${home}/log`)
  const bytes = readFileSync(path!)
  bytes[bytes.indexOf('"demo"')]! ^= 1
  writeFileSync(path!, bytes)
  const { code, out } = await command('export', `${t.testdirName}/events`, '--home', home)
  t.equal(code, 1)
  const lost = Number(/(\d+) event\(s\) could not be read:/.exec(out)?.[1])
  t.ok(lost > 0, out)
  const kept = new Set(lines(`${t.testdirName}/events`).map(({ id }) => id))
  t.equal(kept.size, lines(sound).length - lost)
})

t.test('restore lists the credentials that are valid in the restored home, and no expired ones', async (t) => {
  const home = `${t.testdir()}/home`
  const service = await demo(t, home)
  const token = (...more: string[]) => service.cli('token', 'create', '--role', 'viewer', '--name', ...more)
  t.equal((await token('over', '--expires', '1s')).code, 0)
  const overMs = Date.now() + 1_000
  t.equal((await token('later', '--expires', '1d')).code, 0)
  await service.end('SIGTERM')
  await until(
    async () => Date.now(),
    (nowMs) => nowMs >= overMs,
  )
  const { out } = await command('restore', home, '--home', `${t.testdirName}/restored`, '--json')
  t.same(
    JSON.parse(out)
      .credentials.map(({ name }: any) => name)
      .sort(),
    ['admin', 'later', 'r1'],
  )
})

t.test('a restored home has the content of its backup and a new admin token, and refuses old cursors', async (t) => {
  const { home, cursor } = await used(t)
  cpSync(home, `${t.testdirName}/backup`, { recursive: true })
  const restored = `${t.testdirName}/restored`
  const { code, out, err } = await command('restore', `${t.testdirName}/backup`, '--home', restored)
  t.equal(code, 0, err)
  t.match(out, /token +tok_[0-9a-f]+ +admin/)
  t.match(out, /runner +r1/)
  t.equal(statSync(`${restored}/admin.token`).mode & 0o777, 0o600)
  const service = await serve(t, restored)
  t.match((await service.cli('run-request', 'list')).out, /completed/)
  const watched = await service.cli('watch', '--since', cursor)
  t.equal(watched.code, 3)
  t.match(watched.err, /cursor_of_another_log/)
  const keyed = [...REQUEST, '--idempotency-key', 'k', '--json']
  const { id } = JSON.parse((await service.cli(...keyed)).out)
  t.not(id, runRequestIdOf(projectIdOf('demo'), 'k', 0), 'the lost service may have given out that id')
  t.equal(JSON.parse((await service.cli(...keyed)).out).id, id, 'repeated: the same')
})

t.test('restore raises the attempt of every unsettled run, and marks started ones as lost', async (t) => {
  const home = `${t.testdir()}/home`
  const service = await demo(t, home)
  const held = service.start('runner', '--id', 'r1', '--exec', 'echo up; sleep 20')
  const waiting = service.start(...REQUEST, '--wait')
  await waiting.until((out) => out.includes('| up'))
  await service.cli(...REQUEST, '--payload', '{"name":"second"}')
  await service.end('SIGKILL')
  held.child.kill('SIGKILL')
  const restored = `${t.testdirName}/restored`
  const { code, out, err } = await command('restore', home, '--home', restored, '--json')
  t.equal(code, 0, err)
  t.match(JSON.parse(out), { fenced: 2, lost: [/^runreq_/] })
  const again = await serve(t, restored)
  const items = JSON.parse((await again.cli('run-request', 'list', '--json')).out)
  t.same(items.map((item: any) => [item.state, item.attempt]).sort(), [
    ['lost', 1_001],
    ['queued', 1_001],
  ])
})

t.test('restore refuses a damaged source and makes no home, unless --no-verify is given', async (t) => {
  const { home } = await used(t)
  const { view, close } = await openEnvironments(home, () => {})
  const key = ['project', projectIdOf('demo')]
  const record = view.snapshots.get(key)!
  await view.env.commit(() => view.snapshots.put(key, record.replace('"Demo"', '"Tampered"')))
  await close()
  const target = `${t.testdirName}/restored`
  const { code, out, err } = await command('restore', home, '--home', target)
  t.equal(code, 1)
  t.match(
    out,
    /assertion_wrong +project proj_\w+ +event \d+, project_created, says name "Demo", the record has "Tampered"/,
  )
  t.match(err, /home is damaged, and nothing was restored: .*--no-verify/)
  t.notOk(existsSync(target))
  const asJson = await command('restore', home, '--home', target, '--json')
  t.match(JSON.parse(asJson.out), { home, findings_count: 1, findings: [{ code: 'assertion_wrong' }] })
  t.equal((await command('restore', home, '--home', target, '--no-verify')).code, 0)
  t.ok(existsSync(`${target}/log`))
})

t.test('restore does not suggest skipping verification where that would be refused as well', async (t) => {
  const { home } = await used(t)
  const file = dataFilesOf(`${home}/log`).at(-1)!
  truncateSync(file, statSync(file).size / 2)
  const target = `${t.testdirName}/restored`
  const { code, out, err } = await command('restore', home, '--home', target)
  t.equal(code, 1)
  t.match(out, /view_ahead/)
  const why = `${home}/view is at batch \\d+, ${home}/log ends at \\d+: the log has lost batches`
  t.match(err, new RegExp(`${home} is damaged, and nothing was restored: use another backup; .*${why}`))
  t.notMatch(err, /--no-verify|restoring/)
  const unverified = await command('restore', home, '--home', target, '--no-verify')
  t.equal(unverified.code, 1)
  t.match(unverified.err, new RegExp(why))
  t.notMatch(unverified.err, /restoring/)
  t.notOk(existsSync(target))
})

t.test('restore refuses a target that is not empty, and changes nothing in it', async (t) => {
  const { home } = await used(t)
  const { code, err } = await command('restore', home, '--home', home)
  t.equal(code, 1)
  t.match(err, /not empty/)
  t.ok(existsSync(`${home}/log`))
})

t.test('export and import refuse a folder that is no home, and do not make it one', async (t) => {
  const home = `${t.testdir()}/mistyped`
  for (const argv of [
    ['export', `${t.testdirName}/events`],
    ['import', `${t.testdirName}/events.jsonl`],
  ]) {
    const { code, err } = await command(...argv, '--home', home)
    t.equal(code, 2)
    t.match(err, /mistyped is not a home/)
    t.notOk(existsSync(home))
  }
})

t.test('verify and restore report that no temporary folder can be made, and nothing about the home', async (t) => {
  const { home } = await used(t)
  const restored = `${t.testdirName}/restored`
  const env = { ...ENV, TMPDIR: NOWHERE }
  for (const argv of [
    ['verify', home],
    ['verify', home, '--json'],
    ['restore', home, '--home', restored],
  ]) {
    const { code, out, err } = await runCommand(argv, env)
    t.same([code, out], [2, ''], argv.join(' '))
    t.match(err, /none can be created in \/dev\/null\/nowhere \(.*\): set TMPDIR to a writable folder/)
  }
  t.notOk(existsSync(restored))
  t.match(await runCommand(['verify', home], ENV), { code: 0, out: /no problems found/ })
})

t.test('verify refuses a home in use with exit code 7, and does not call it damaged', async (t) => {
  const service = await demo(t, `${t.testdir()}/home`)
  const live = await command('verify', service.home, '--json')
  t.same([live.code, live.out], [7, ''])
  t.match(JSON.parse(live.err), { code: 'not_looked_at', detail: /in use by process \d+: .*take a backup/ })
  const shown = await command('verify', service.home)
  t.same([shown.code, shown.out], [7, ''])
  t.notMatch(`${shown.out}${shown.err}`, /are wrong|is damaged/)
})

t.test('restore refuses a source that a service is writing to', async (t) => {
  const home = `${t.testdir()}/home`
  const restored = `${t.testdirName}/restored`
  const service = await serve(t, home)
  const { code, err } = await command('restore', home, '--home', restored)
  t.equal(code, 1)
  t.match(err, /home is in use by process \d+: stop that process.* \(locked\)\n$/)
  t.notOk(existsSync(restored))
  await service.end('SIGTERM')
  t.equal((await command('restore', home, '--home', restored)).code, 0)
})
