/** The real process and its surroundings: slow or closed readers of its output, and closing terminals. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { BINARY } from '../binary.ts'
import { executionRequest, type StandIn, standIn } from '../engine/stand-in.ts'
import { until } from '../until.ts'
import { service as answering } from './in-process.ts'
import { ENV, type Running, start } from './processes.ts'

/** A runner with a run whose command has printed its process group and would continue for minutes. */
async function atWork(test: Test, drain = '100ms'): Promise<{ service: StandIn; runner: Running; group: number }> {
  const service = await standIn()
  test.teardown(() => service.stop())
  service.offer(executionRequest('runreq_1'))
  const env = { ...ENV, ENGINE_URL: service.client.url, ENGINE_TOKEN: 'secret' }
  const runner = start(test, env, 'runner', '--id', 'r1', '--exec', 'echo $$; sleep 300', '--drain', drain)
  await service.until((post) => post.verb === 'events')
  return { service, runner, group: Number(service.events()[0].payload.text) }
}

/** Whether the process lives, or the process group for a negative id. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The run was reported as stopped by its runner, and no process of its command is left. */
async function isLeftInOrder(test: Test, service: StandIn, group: number): Promise<void> {
  test.match(service.said('failed')[0]?.body, { class: 'execution', code: 'runner_stopped' })
  await until(
    async () => lives(-group),
    (alive) => !alive,
  )
}

t.test('the intendant script of a checkout starts what npm start built', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { status, stdout, stderr } = spawnSync('./intendant', ['--version'], { encoding: 'utf8' })
  t.same([status, stdout, stderr], [0, `${version}\n`, ''])
  t.notMatch(readFileSync('intendant', 'utf8'), /dist\/(?!bin\/)/, 'it uses nothing that npm start does not build')
})

t.test('links to the intendant script of a checkout work from anywhere', async (t) => {
  const folder = t.testdir({ bin: {} })
  symlinkSync(resolve('intendant'), join(folder, 'first'))
  symlinkSync('../first', join(folder, 'bin', 'intendant'))
  const { status, stderr } = spawnSync('bin/intendant', ['--version'], { cwd: folder, encoding: 'utf8' })
  t.same([status, stderr], [0, ''])
})

t.test('the output of a command arrives complete, however slow its reader', async (t) => {
  const projects = Array.from({ length: 2_000 }, (_, n) => ({
    id: `proj_${n}`,
    key: `key-${n}`,
    name: 'x'.repeat(100),
  }))
  const { env } = await answering(t, () => [200, { items: projects }])
  // Reads one byte, then nothing for longer than a process may take to exit, then the rest.
  const script = '"$@" | { dd bs=1 count=1 2>/dev/null; sleep 1.5; cat; }'
  const argv = ['sh', process.execPath, BINARY, 'project', 'list', '--json', '--limit', '2000']
  const reader = spawn('sh', ['-c', script, ...argv], { env: { ...ENV, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  for await (const chunk of reader.stdout) out += chunk
  t.equal(JSON.parse(out).length, projects.length)
})

/** A reader that takes nothing for that long takes nothing at all. */
const STUCK_MS = 700

/** Starts a command whose output nobody reads until `read` is called. */
function unread(test: Test, env: NodeJS.ProcessEnv, ...argv: string[]) {
  const options = { env: { ...ENV, ...env }, stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'] }
  const child = spawn(process.execPath, [BINARY, ...argv], options)
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  test.teardown(() => child.kill('SIGKILL'))
  const read = async (): Promise<string> => {
    let out = ''
    for await (const chunk of child.stdout) out += chunk
    return out
  }
  return { child, ended, read }
}

/**
 * A Watch with that many events of 8 KB, numbered by their cursors; `stuck` resolves with how many were taken when the
 * client stops taking them, whose connection is then dropped, or with all of them.
 */
async function streaming(test: Test, count: number) {
  const asked: number[] = []
  let tell = (_: number): void => {}
  const stuck = new Promise<number>((resolve) => {
    tell = resolve
  })
  const send = async (response: ServerResponse, since: number): Promise<void> => {
    asked.push(since)
    const closed = once(response, 'close')
    for (let n = since + 1; n <= count; n += 1) {
      const frame = { type: 'events', cursor: String(n), events: [{ n, payload: 'x'.repeat(8_000) }] }
      if (response.write(`data: ${JSON.stringify(frame)}\n\n`)) continue
      const isTaken = await Promise.race([once(response, 'drain'), closed, pause(STUCK_MS, false)])
      if (response.destroyed) return
      if (isTaken !== false) continue
      tell(n)
      response.destroy()
      return
    }
    tell(count)
  }
  const server = createServer((request, response) => {
    void send(response, Number(new URL(request.url!, 'http://x').searchParams.get('since')) || 0)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const env = { ENGINE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ENGINE_TOKEN: 'secret' }
  return { env, asked, stuck }
}

t.test('watch reads no further ahead than its own reader, and resumes without a gap when it is dropped', async (t) => {
  const count = 8_000
  const { env, asked, stuck } = await streaming(t, count)
  const { ended, read } = unread(t, env, 'watch', '--json', '--since', 'earliest', '--count', String(count))
  const taken = await stuck
  t.ok(taken < count, `${taken} events were taken, and none was read`)
  const lines = (await read()).trim().split('\n')
  t.equal(await ended, 0)
  t.same(
    lines.map((line) => JSON.parse(line).n),
    Array.from({ length: count }, (_, n) => n + 1),
  )
  t.ok(asked.length > 1 && asked[1]! < taken, `asked for again behind ${asked.join(', ')}`)
})

t.test('a watch whose reader is stuck ends on SIGINT', async (t) => {
  const { env, stuck } = await streaming(t, 8_000)
  const { child, ended } = unread(t, env, 'watch', '--json', '--since', 'earliest')
  await stuck
  child.kill('SIGINT')
  t.equal(await Promise.race([ended, pause(10_000, 'it goes on')]), 0)
})

t.test('run-request log requests a page only when its reader has taken the previous one', async (t) => {
  const pages = 40
  const text = 'x'.repeat(65_535)
  const items = Array(16).fill({ event_type: 'run_output', payload: { stream: 'stdout', text: `${text}\n` } })
  const { env, asked } = await answering(t, ({ url }) => {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (!pathname.startsWith('/api/events')) return [200, { id: 'runreq_1', state: 'completed' }]
    const page = Number(searchParams.get('cursor') ?? 0) + 1
    return [200, { items, ...(page < pages ? { next_cursor: String(page) } : {}) }]
  })
  const { ended, read } = unread(t, env, 'run-request', 'log', 'runreq_1')
  let before = -1
  for (; asked.length < 2 || asked.length !== before; await pause(STUCK_MS)) before = asked.length
  t.ok(asked.length < 5, `${asked.length} requests, and nothing was read`)
  const out = await read()
  t.equal(await ended, 0)
  t.equal(out.length, pages * items.length * (text.length + 1))
})

/** The exit code of a command whose reader closes after the first output. */
async function leftAlone(test: Test, env: NodeJS.ProcessEnv, ...argv: string[]): Promise<number | null> {
  const options = { env: { ...ENV, ...env }, stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'] }
  const child = spawn(process.execPath, [BINARY, ...argv], options)
  test.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  return await Promise.race([ended, pause(10_000, null)])
}

t.test('a closed reader ends a command with 0, but with 141 if its exit code is the outcome of a run', async (t) => {
  const run = { id: 'runreq_1', state: 'started', project: 'demo', throttle: 'dry_run', access: 'full' }
  const output = { event_type: 'run_output', payload: { stream: 'stdout', text: 'x\n' }, project: 'demo' }
  const { env } = await answering(t, ({ url }) => {
    const { pathname } = new URL(url, 'http://x')
    if (pathname === '/api/watch')
      return [200, `data: ${JSON.stringify({ type: 'events', cursor: 'e.1', events: [output] })}\n\n`]
    return [200, pathname === '/api/events' ? { items: [output], run_requests: ['runreq_1'], events: ['e'] } : run]
  })
  const create = ['run-request', 'create', '--project', 'demo', '--entry-event', 'greet_requested']
  for (const [argv, code] of [
    [['watch', '--since', 'earliest'], 0],
    [[...create, '--wait'], 141],
    [[...create, '--wait-limit', '1m'], 141],
    [['emit', 'greet_requested', '--project', 'demo', '--wait'], 141],
    [['run-request', 'log', 'runreq_1', '--follow'], 141],
  ] as const)
    t.equal(await leftAlone(t, env, ...argv), code, argv.join(' '))
})

t.test(
  'a service whose log cannot be written still serves and stops cleanly',
  { skip: !existsSync('/dev/full') },
  async (t) => {
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      const argv = [BINARY, 'serve', '--home', `${t.testdir()}/home`, '--port', '0']
      const child = spawn(process.execPath, argv, { env: ENV, stdio: ['ignore', 'pipe', openSync('/dev/full', 'w')] })
      t.teardown(() => child.kill('SIGKILL'))
      const ended = new Promise((resolve) => child.on('exit', (code) => resolve(code)))
      const [line] = await once(child.stdout!, 'data')
      t.equal((await fetch(`${JSON.parse(String(line)).listening}/healthz`)).status, 200)
      child.kill(signal)
      t.equal(await ended, 0)
    }
  },
)

const canHaveTerminal = process.platform === 'linux' && existsSync('/usr/bin/script')

t.test('a service whose terminal closes stops cleanly', { skip: !canHaveTerminal }, async (t) => {
  const folder = t.testdir()
  const line = `echo $$ > pid; exec '${process.execPath}' '${BINARY}' serve --home home --port 0 > out 2> err`
  const terminal = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: folder,
    env: ENV,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const read = async (name: string) =>
    existsSync(`${folder}/${name}`) ? readFileSync(`${folder}/${name}`, 'utf8') : ''
  await until(
    async () => await read('out'),
    (out) => out.includes('listening'),
  )
  terminal.kill('SIGKILL')
  const pid = Number(await read('pid'))
  t.teardown(() => lives(pid) && process.kill(pid, 'SIGKILL'))
  await until(
    async () => lives(pid),
    (alive) => !alive,
  )
  const log = await read('err')
  t.match(log, '"msg":"stopped"')
  t.notMatch(log, 'Assertion failed')
})

t.test('a runner whose log is no longer read stops cleanly', async (t) => {
  const { service, runner, group } = await atWork(t)
  runner.child.stderr!.destroy()
  runner.child.kill('SIGINT')
  t.equal(await runner.ended, 0)
  await isLeftInOrder(t, service, group)
})

for (const signal of ['SIGHUP', 'SIGQUIT'] as const)
  t.test(`${signal} stops a runner as SIGTERM does`, async (t) => {
    const { service, runner, group } = await atWork(t)
    runner.child.kill(signal)
    // A closing terminal sends it twice.
    if (signal === 'SIGHUP') setTimeout(() => runner.child.kill(signal), 20)
    t.equal(await runner.ended, 0)
    await isLeftInOrder(t, service, group)
  })

t.test(
  'signals that arrive together count as one: only a later second one stops the run of a draining runner',
  async (t) => {
    const { service, runner, group } = await atWork(t, '1m')
    runner.child.kill('SIGINT')
    setTimeout(() => runner.child.kill('SIGINT'), 20)
    await pause(1_500)
    t.ok(lives(-group), 'the run may finish')
    // Both at once, because a process that is exiting no longer handles signals.
    runner.child.kill('SIGINT')
    runner.child.kill('SIGTERM')
    t.equal(await runner.ended, 0)
    await isLeftInOrder(t, service, group)
  },
)
