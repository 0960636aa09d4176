import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { documentedScript } from '../documented-script.ts'
import { until } from '../until.ts'
import { ENV, runCommand, type Served, serve, start } from './processes.ts'

const GREET = `cat > /dev/null; echo hello; echo '{"event_type":"greeting_composed","payload":{"greeting":"Hello, Ada"}}'`

/** A service with the project `demo` and the runner `r1`, whose token is saved. */
async function demo(test: Test, ...argv: string[]): Promise<Served> {
  const service = await serve(test, test.testdir(), ...argv)
  for (const argv of [
    ['project', 'add', '--name', 'Demo', '--key', 'demo'],
    ['runner', 'add', 'r1', '--project', 'demo', '--save-token'],
  ]) {
    const { code, err } = await service.cli(...argv)
    test.equal(code, 0, err)
  }
  return service
}

/** The service listens before it has registered its local runner. */
async function hasRunner(service: Served): Promise<void> {
  await until(
    async () => (await service.cli('runner', 'list')).out,
    (out) => out.includes('local'),
  )
}

const REQUEST = [
  'run-request',
  'create',
  '--project',
  'demo',
  '--entry-event',
  'greet_requested',
  '--payload',
  '{"name":"Ada"}',
]

t.test('serve prints its URL in its first line and writes an admin token that commands use', async (t) => {
  const home = t.testdir()
  const service = await serve(t, home)
  t.match(service.url, /^http:\/\/127\.0\.0\.1:\d+$/)
  t.equal(statSync(`${home}/admin.token`).mode & 0o777, 0o600)
  const { code, out } = await service.asProcess('project', 'list')
  t.equal(code, 0)
  t.match(out, /No projects yet/)
  t.equal(await service.end('SIGTERM'), 0)
})

t.test('create --wait ends with the outcome of a run by a real runner, and watch sees every event', async (t) => {
  const service = await demo(t)
  const watching = service.start('watch', '--since', 'earliest', '--json')
  const runner = service.start('runner', '--id', 'r1', '--exec', GREET)
  const { code, out, err } = await service.asProcess(...REQUEST, '--wait')
  t.equal(code, 0, err)
  t.match(out, /greeting_composed/)
  t.match(out, /runreq_[0-9a-f]{24} completed\n$/)
  await watching.until((text) => text.includes('run_request_completed'))
  const seen = watching
    .out()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const wanted = [
    'project_created',
    'runner_registered',
    'run_request_created',
    'run_request_offered',
    'run_request_accepted',
    'run_request_started',
    'run_output',
    'greeting_composed',
    'run_request_completed',
  ]
  const types: string[] = seen.map((event) => event.event_type)
  t.same(
    types.filter((type) => wanted.includes(type)),
    wanted,
  )
  t.equal(new Set(seen.map((event) => event.id)).size, seen.length)
  runner.child.kill('SIGTERM')
  t.equal(await runner.ended, 0)
})

t.test('run-request show gives the reason for waiting, and create --wait of a failed run exits with 1', async (t) => {
  const service = await demo(t)
  const created = JSON.parse((await service.cli(...REQUEST, '--json')).out)
  t.match((await service.cli('run-request', 'show', created.id)).out, /waits because .*\(no_runner_online\)/)
  const listed = await service.cli('run-request', 'list', '--state', 'queued', '--state', 'lost,started')
  t.match(listed.out, created.id)
  service.start('runner', '--id', 'r1', '--exec', 'echo no luck >&2; exit 7')
  const { code, err } = await service.asProcess(...REQUEST, '--wait')
  t.equal(code, 1)
  t.match(err, /execution, exit_7: .*no luck/)
})

t.test('run-request log prints all output of a run, and --follow ends with its outcome', async (t) => {
  const service = await demo(t)
  // An event between two lines makes each a separate output event: more of them than a list shows by default.
  const work = `for n in $(seq 70); do echo "  line $n"; echo '{"event_type":"line_printed"}'; done; cat "$GATE" >&2; exit 7`
  spawnSync('mkfifo', [`${service.home}/gate`])
  const created = JSON.parse((await service.cli(...REQUEST, '--json')).out)
  const following = service.start('run-request', 'log', created.id, '--follow')
  service.start('runner', '--id', 'r1', '--exec', `GATE='${service.home}/gate'; ${work}`)
  await following.until((out) => out.includes('line 70\n'))
  const soFar = Array.from({ length: 70 }, (_, n) => `  line ${n + 1}\n`).join('')
  t.equal((await service.cli('run-request', 'log', created.id.slice(0, 15))).out, soFar)
  writeFileSync(`${service.home}/gate`, 'over')
  t.equal(await following.ended, 1)
  t.match(following.err(), /failed: execution, exit_7: .*over/)
  t.equal(following.out(), `${soFar}over`)
  const again = await service.asProcess('run-request', 'log', created.id, '--follow')
  t.same([again.code, again.out], [1, `${soFar}over`])
})

t.test('cancelling a run ends its command and children, and create --wait exits with 5', async (t) => {
  const service = await demo(t)
  service.start('runner', '--id', 'r1', '--exec', 'echo up; sleep 300')
  const waiting = service.start(...REQUEST, '--wait')
  await waiting.until((out) => out.includes('| up'))
  const id = /runreq_[0-9a-f]{24}/.exec(waiting.out())![0]
  t.equal((await service.cli('run-request', 'cancel', id, '--reason', 'enough')).code, 0)
  t.equal(await waiting.ended, 5)
})

t.test(
  'after kill -9 and restart of the service its runner, watcher and waiting command continue by themselves',
  async (t) => {
    // Not in the range of client ports: a client that retries meanwhile could otherwise take the port.
    const service = await demo(t, '--port', String(20_000 + Math.floor(Math.random() * 10_000)))
    const watching = service.start('watch', '--since', 'earliest', '--json')
    service.start('runner', '--id', 'r1', '--exec', 'for n in 1 2 3 4 5 6 7 8 9; do echo "line $n"; sleep 0.3; done')
    const waiting = service.start(...REQUEST, '--wait')
    await waiting.until((out) => out.includes('line 2'))
    await service.end('SIGKILL')
    await serve(t, service.home, '--port', new URL(service.url).port)
    t.equal(await waiting.ended, 0, waiting.err())
    await watching.until((out) => out.includes('run_request_completed'))
    const events = watching
      .out()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    t.equal(new Set(events.map((event) => event.id)).size, events.length, 'no event twice')
    const output = events
      .filter((event) => event.event_type === 'run_output')
      .map((event) => event.payload.text)
      .join('')
    t.equal(output, [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `line ${n}\n`).join(''))
  },
)

t.test("serve --runner that cannot save its runner's token exits without registering the runner", async (t) => {
  const home = t.testdir({ 'runner-local.token': {} })
  const once = start(t, ENV, 'serve', '--home', home, '--port', '0', '--runner', 'local', '--exec', 'true')
  t.equal(await once.ended, 1)
  t.match(once.err(), /the token of runner local cannot be written to .*runner-local\.token/)
  const service = await serve(t, home)
  t.match((await service.cli('runner', 'list')).out, /No runners yet/)
})

t.test('serve --runner runs service and runner in one process, also when started again', async (t) => {
  const home = t.testdir()
  for (const round of [1, 2]) {
    const service = await serve(t, home, '--runner', 'local', '--exec', GREET)
    if (round === 1) await service.cli('project', 'add', '--name', 'Demo', '--key', 'demo')
    const { code, err } = await service.cli(...REQUEST, '--wait', '--idempotency-key', `round-${round}`)
    t.equal(code, 0, err)
    t.equal(await service.end('SIGTERM'), 0, service.log())
  }
})

t.test('serve --runner replaces an invalid runner token file, and refuses an invalid admin token file', async (t) => {
  const home = t.testdir()
  const local = ['--runner', 'local', '--exec', GREET]
  t.equal(await (await serve(t, home, ...local)).end('SIGTERM'), 0)
  const file = `${home}/runner-local.token`
  writeFileSync(file, 'one\ntwo\n')
  const service = await serve(t, home, ...local)
  await service.cli('project', 'add', '--name', 'Demo', '--key', 'demo')
  const { code, err } = await service.cli(...REQUEST, '--wait')
  t.equal(code, 0, err)
  t.match(readFileSync(file, 'utf8'), /^[!-~]+\n$/)
  t.equal(await service.end('SIGTERM'), 0, service.log())
  writeFileSync(`${home}/admin.token`, 'one\ntwo\n')
  rmSync(file)
  const refused = start(t, ENV, 'serve', '--home', home, '--port', '0', ...local)
  t.equal(await refused.ended, 2)
  t.match(refused.err(), /the token file .*admin\.token contains more than a token/)
})

t.test('serve --runner uses a token that is rotated while it runs', async (t) => {
  const service = await serve(t, t.testdir(), '--runner', 'local', '--exec', GREET)
  await hasRunner(service)
  await service.cli('project', 'add', '--name', 'Demo', '--key', 'demo')
  const authorization = `Bearer ${readFileSync(`${service.home}/admin.token`, 'utf8').trim()}`
  const runs = async (round: string): Promise<void> => {
    const given = await service.cli('runner', 'token', 'local', '--save-token')
    t.equal(given.code, 0, given.err)
    const { code, err } = await service.cli(...REQUEST, '--wait', '--idempotency-key', round)
    t.equal(code, 0, err)
  }
  await runs('one')
  // Eight tokens are kept: after these and the next, the original one is no longer valid.
  for (let n = 0; n < 6; n += 1)
    await fetch(`${service.url}/api/runners/local/token`, { method: 'POST', headers: { authorization } })
  await runs('two')
  t.equal(await service.end('SIGTERM'), 0, service.log())
})

t.test('a refused local runner is logged, and the service continues without it', async (t) => {
  const service = await serve(t, t.testdir(), '--runner', 'local', '--exec', GREET)
  await hasRunner(service)
  t.equal((await service.cli('runner', 'remove', 'local')).code, 0)
  await until(
    async () => service.log(),
    (log) => log.includes('continues without its local runner'),
  )
  t.match(service.log(), /intendant: the service continues without its local runner: The runner was removed/)
  t.equal((await service.cli('runner', 'list')).code, 0)
  t.equal(await service.end('SIGTERM'), 0, service.log())
  const again = await serve(t, service.home, '--runner', 'local', '--exec', GREET)
  await until(
    async () => again.log(),
    (log) => log.includes('continues without its local runner: The runner local was removed'),
  )
  t.equal(await again.end('SIGTERM'), 0, again.log())
})

t.test('serve --runner starts with its saved runner token when the home has no admin token', async (t) => {
  const home = t.testdir()
  const local = ['--runner', 'local', '--exec', GREET]
  const first = await serve(t, home, ...local)
  await first.cli('project', 'add', '--name', 'Demo', '--key', 'demo')
  await until(
    async () => existsSync(`${home}/runner-local.token`),
    (isThere) => isThere,
  )
  // As OPERATIONS.md advises.
  const admin = (await first.cli('token', 'create', '--name', 'ada', '--role', 'admin')).out.trim().split('\n').at(-1)!
  const tokens = JSON.parse((await first.cli('token', 'list', '--json')).out)
  const initial = tokens.find(({ name }: { name: string }) => name !== 'ada').id
  const env = { ...first.env, ENGINE_TOKEN: admin }
  t.equal((await runCommand(['token', 'revoke', initial], env)).code, 0)
  t.equal(await first.end('SIGTERM'), 0, first.log())
  for (const isThere of [true, false]) {
    if (!isThere) rmSync(`${home}/admin.token`)
    const service = await serve(t, home, ...local)
    const key = ['--idempotency-key', `admin-token-${isThere}`]
    const { code, err } = await runCommand([...REQUEST, '--wait', ...key], { ...service.env, ENGINE_TOKEN: admin })
    t.equal(code, 0, err)
    t.match(service.log(), /what the local runner may take was not updated/)
    t.equal(await service.end('SIGTERM'), 0, service.log())
  }
})

t.test('an emit repeated with the same time creates one run request', async (t) => {
  const service = await demo(t)
  const line = ['emit', 'greet_requested', '--project', 'demo', '--payload', '{"name":"Ada"}']
  const at = ['--occurred-at', '2026-01-31T08:00:00Z']
  const [first, second] = [await service.cli(...line, ...at), await service.cli(...line, ...at)]
  t.same([first.code, second.code], [0, 0], second.err)
  t.match(second.out, 'had been recorded before')
  t.equal(second.out.replace(' had been recorded before', ''), first.out)
  t.equal(JSON.parse((await service.cli('run-request', 'list', '--json')).out).length, 1)
  const full = (await service.cli(...line, '--throttle', 'full')).out
  t.match(full, /^Run request (runreq_\w+) waits for an approval: intendant run-request approve \1$/m)
  const [, id = ''] = /(runreq_\w+)/.exec(full) ?? []
  t.match((await service.cli('run-request', 'show', id)).out, 'waits for an approval of its own')
})

t.test('the runner refuses an admin token', async (t) => {
  const service = await demo(t)
  const { code, err } = await service.asProcess(
    'runner',
    '--id',
    'r1',
    '--exec',
    'true',
    '--token-file',
    `${service.home}/admin.token`,
  )
  t.equal(code, 3)
  t.match(err, /A runner needs its own token, not a person's/)
})

/** Runs docs/runner.sh for one run of that command; resolves when it has ended. */
function shellRunner(t: Test, service: Served, ...command: string[]): Promise<unknown> {
  const child = spawn('sh', [documentedScript('runner.sh'), ...command], {
    env: {
      ...service.env,
      ENGINE_TOKEN: readFileSync(`${service.home}/runner-r1.token`, 'utf8').trim(),
      RUNNER_ID: 'r1',
      RUNS: '1',
    },
    stdio: 'inherit',
    detached: true,
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL')
    await ended
  })
  return ended
}

t.test('the documented shell runner takes work from a real service', async (t) => {
  const service = await demo(t)
  const ended = shellRunner(t, service, 'sh', '-c', 'cat; echo; echo done')
  const { code, out, err } = await service.cli(...REQUEST, '--wait')
  t.equal(code, 0, err)
  t.match(out, /"name":"Ada"/)
  t.match(out, /\| done/)
  t.same(await ended, [0, null])
})

t.test('a task taken by the documented shell runner lands', async (t) => {
  const service = await demo(t)
  t.equal((await service.cli('runner', 'edit', 'r1', '--trusted')).code, 0)
  const ended = shellRunner(t, service, 'true')
  const { code, out, err } = await service.cli('task', 'demo', 'Tidy up')
  t.equal(code, 0, err)
  t.match(out, /landed/)
  t.same(await ended, [0, null])
})
