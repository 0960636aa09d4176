/** `intendant watch --exec`: a command for each event, in their order, across crashes of both sides. */
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { run } from '../../cli/program.ts'
import { consume } from '../../cli/watch-exec.ts'
import { openCli } from '../../cli/world.ts'
import { startTestService } from '../http/service-harness.ts'
import { until } from '../until.ts'
import { cli, service, startCli, worldOf } from './in-process.ts'
import { ENV, type Served, serve, start } from './processes.ts'

/** Appends the event to a file; each line is one event. */
const take = (file: string): string => `cat >> ${file}`

const text = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Keys of the projects whose creation was taken down. */
const keysIn = (file: string): string[] =>
  text(file)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).payload.key)

const CREATED = ['watch', '--event-type', 'project_created', '--since', 'earliest']

/** A service with such projects, and where commands and cursors go. */
async function shop(test: Test, ...keys: string[]) {
  const s = await startTestService(test)
  for (const key of keys) await s.project(key)
  const at = test.testdir()
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  return { s, env, at, taken: `${at}/taken`, cursor: `${at}/cursor` }
}

t.test(
  'the command gets each event once, in order, on standard input and in variables; the cursor is kept',
  async (t) => {
    const { s, env, at, taken, cursor } = await shop(t, 'a', 'b', 'c')
    const exec = `printf '%s %s %s|%s|%s\\n' "$INTENDANT_EVENT_TYPE" "$INTENDANT_PROJECT" "$INTENDANT_ITEM_ID" "$INTENDANT_WHAT" "$INTENDANT_EVENT_ID" >> ${at}/facts; echo done; ${take(taken)}`
    const run = (count: number) =>
      cli(env, ...CREATED, '--count', String(count), '--cursor-file', cursor, '--exec', exec)
    t.match(await run(2), { code: 0, out: 'done\ndone\n', err: '' })
    t.same(keysIn(taken), ['a', 'b'])
    t.equal(statSync(cursor).mode & 0o777, 0o600)
    await s.project('d')
    t.equal((await run(2)).code, 0)
    t.same(keysIn(taken), ['a', 'b', 'c', 'd'], 'it goes on in the middle of a frame, and --since counts only at first')
    const [first] = text(taken).split('\n')
    const { id } = JSON.parse(first!)
    t.match(text(`${at}/facts`).split('\n')[0]!, new RegExp(`^project_created a \\|.*name=a.*\\|${id}$`))
  },
)

t.test('a cursor is kept before anything happens, and grows with what the filter leaves out', async (t) => {
  const { s, env, cursor, taken } = await shop(t)
  const argv = ['watch', '--event-type', 'run_request_created', '--cursor-file', cursor, '--exec', take(taken)]
  const first = startCli(env, ...argv)
  await until(
    async () => text(cursor),
    (kept) => kept !== '',
  )
  first.signal()
  t.match(await first.ended, { code: 0, out: '', err: '' })
  await s.project('shop')
  await s.request('shop')
  const second = startCli(env, ...argv)
  await until(
    async () => text(taken),
    (events) => events.includes('\n'),
  )
  second.signal()
  t.equal((await second.ended).code, 0)
  t.match(JSON.parse(text(taken)), { event_type: 'run_request_created' })
})

t.test('a failing command is tried again; one that fails five times ends it, or is passed over', async (t) => {
  const { env, at, taken, cursor } = await shop(t, 'a', 'b')
  const exec = `echo x >> ${at}/tries; cat > ${at}/now; if grep -q '"key":"a"' ${at}/now; then echo no luck >&2; exit 7; fi; cat ${at}/now >> ${taken}`
  const asked = { exec, execLimit: 60_000, since: 'earliest', filters: { event_type: 'project_created' } } as const
  const backoff = { firstMs: 1, longestMs: 4 }
  const stopped = worldOf({}, env)
  await t.rejects(consume(openCli(stopped.world, {}), { ...asked, cursorFile: cursor, onFailure: 'stop' }, backoff), {
    exitCode: 1,
    message: new RegExp(`exit code 7 \\(tried 5 times\\)\\. ${cursor} stays before it`),
  })
  t.match(stopped.err(), /^no luck\nproject_created evt_\w+: the command ended with exit code 7; trying again\nno luck/)
  t.equal(text(`${at}/tries`), 'x\n'.repeat(5))
  t.same(keysIn(taken), [])
  const skips = worldOf({}, env)
  await consume(openCli(skips.world, {}), { ...asked, cursorFile: cursor, onFailure: 'skip', count: 2 }, backoff)
  t.match(skips.err(), /\(tried 5 times\); skipped/)
  t.same(keysIn(taken), ['b'])
})

t.test('a command that does not end in time is ended with all that it has started, and has failed', async (t) => {
  const { env, at } = await shop(t, 'a')
  const exec = `if [ -e ${at}/again ]; then echo well; else touch ${at}/again; sleep 300 & sleep 300; fi`
  const { code, out, err } = await cli(env, ...CREATED, '--count', '1', '--exec-limit', '200ms', '--exec', exec)
  t.same([code, out], [0, 'well\n'])
  t.match(err, /the command did not end within 200ms; trying again/)
})

t.test(
  'a stop lets the command under way end, and keeps its event; a second one ends it, and keeps nothing',
  async (t) => {
    const { env, at, taken, cursor } = await shop(t, 'a', 'b')
    const exec = `echo up; while [ ! -e ${at}/gate ]; do sleep 0.02; done; ${take(taken)}`
    const begun = async () => {
      const watched = worldOf({}, env)
      const argv = [...CREATED, '--cursor-file', cursor, '--exec', exec]
      const ended = run(argv, watched.world)
      await until(
        async () => watched.out(),
        (out) => out === 'up\n',
      )
      watched.signal()
      return { ...watched, ended }
    }
    const patient = await begun()
    writeFileSync(`${at}/gate`, '')
    t.equal(await patient.ended, 0)
    t.same(keysIn(taken), ['a'])
    const kept = text(cursor)
    rmSync(`${at}/gate`)
    const hasty = await begun()
    hasty.signal()
    t.equal(await hasty.ended, 0)
    t.equal(hasty.err(), '')
    t.same([keysIn(taken), text(cursor)], [['a'], kept])
  },
)

t.test('a cursor that the log no longer has is said plainly, and ends it', async (t) => {
  const problem = {
    status: 410,
    code: 'cursor_too_old',
    detail: 'Events after that cursor were removed.',
    oldest: 'e.5',
  }
  const { env } = await service(t, () => [410, problem, { 'content-type': 'application/problem+json' }])
  const file = `${t.testdir({ cursor: 'e.1\n' })}/cursor`
  const { code, err } = await cli(env, 'watch', '--cursor-file', file, '--exec', 'true')
  t.equal(code, 3)
  t.match(err, 'Events after that cursor were removed.')
  t.match(err, `The cursor is that in ${file}. To go on all the same, remove the file, and begin with --since earliest`)
  t.match(err, '(410 cursor_too_old, GET /api/watch)')
  t.equal(text(file), 'e.1\n')
})

t.test('what cannot be kept or makes no sense is refused before a command runs', async (t) => {
  const { env, at, taken } = await shop(t, 'a')
  writeFileSync(`${at}/empty`, '')
  for (const [argv, code, err] of [
    [['--cursor-file', `${at}/none/cursor`, '--exec', take(taken)], 1, /none\/cursor cannot be written: ENOENT/],
    [['--cursor-file', at, '--exec', take(taken)], 2, /cannot be read: EISDIR/],
    [['--cursor-file', `${at}/empty`, '--exec', take(taken)], 2, /holds no cursor/],
    [['--cursor-file', `${at}/cursor`], 2, /--cursor-file needs --exec/],
    [['--exec', ' '], 2, /A shell command is expected/],
    [['--on-failure', 'cry', '--exec', 'true'], 2, /stop, skip/],
  ] as const)
    t.match(await cli(env, ...CREATED, ...argv), { code, err }, argv.join(' '))
  t.same(keysIn(taken), [])
})

/** A started consumer of all created projects of a served home. */
const consumer = (test: Test, { env }: Served, cursor: string, exec: string) =>
  start(test, env, ...CREATED, '--cursor-file', cursor, '--exec', exec)

t.test('a kill between the command and its note repeats that event, and no other', async (t) => {
  const at = t.testdir()
  const served = await serve(t, `${at}/home`)
  const [taken, cursor] = [`${at}/taken`, `${at}/cursor`]
  for (const key of ['a', 'b', 'c']) await served.cli('project', 'add', '--name', key, '--key', key)
  // The command kills its own watcher, once, after it has done its work for the second event.
  const exec = `${take(taken)}; if [ ! -e ${at}/killed ] && grep -q '"key":"b"' ${taken}; then touch ${at}/killed; kill -9 $PPID; fi`
  const killed = consumer(t, served, cursor, exec)
  t.equal(await killed.ended, null)
  t.same(keysIn(taken), ['a', 'b'])
  const again = consumer(t, served, cursor, exec)
  await until(
    async () => keysIn(taken),
    (keys) => keys.includes('c'),
  )
  t.same(keysIn(taken), ['a', 'b', 'b', 'c'])
  again.child.kill('SIGTERM')
  t.equal(await again.ended, 0, again.err())
})

t.test('it continues across a kill and restart of the service, and ends when its token is revoked', async (t) => {
  const port = String(20_000 + Math.floor(Math.random() * 10_000))
  const at = t.testdir()
  const served = await serve(t, `${at}/home`, '--port', port)
  const [taken, cursor] = [`${at}/taken`, `${at}/cursor`]
  const made = JSON.parse((await served.cli('token', 'create', '--name', 'told', '--role', 'viewer', '--json')).out)
  const add = (key: string) => served.cli('project', 'add', '--name', key, '--key', key)
  await add('a')
  const env = { ...ENV, ENGINE_URL: served.url, ENGINE_TOKEN: made.token }
  const told = start(t, env, ...CREATED, '--cursor-file', cursor, '--exec', take(taken))
  await until(
    async () => keysIn(taken),
    (keys) => keys.length === 1,
  )
  await served.end('SIGKILL')
  await serve(t, served.home, '--port', port)
  await add('b')
  await until(
    async () => keysIn(taken),
    (keys) => keys.length === 2,
  )
  t.same(keysIn(taken), ['a', 'b'])
  t.match(told.err(), /trying again\nconnected again\n$/)
  await served.cli('token', 'revoke', made.id)
  t.equal(await told.ended, 3)
  t.match(told.err(), /token_revoked|unauthorized|401/)
})
