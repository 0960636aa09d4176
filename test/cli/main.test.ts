/** The real process and its surroundings: readers that are slow or gone, terminals that close. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { BINARY } from '../binary.ts'
import { executionRequest, type StandIn, standIn } from '../engine/stand-in.ts'
import { until } from '../until.ts'
import { service as answering } from './in-process.ts'
import { ENV, type Running, start } from './processes.ts'

/** A runner at work; its command has told of its process group, and would go on for minutes. */
async function atWork(test: Test, drain = '100ms'): Promise<{ service: StandIn; runner: Running; group: number }> {
  const service = await standIn()
  test.teardown(() => service.stop())
  service.offer(executionRequest('runreq_1'))
  const env = { ...ENV, ENGINE_URL: service.client.url, ENGINE_TOKEN: 'secret' }
  const runner = start(test, env, 'runner', '--id', 'r1', '--exec', 'echo $$; sleep 300', '--drain', drain)
  await service.until((post) => post.verb === 'events')
  return { service, runner, group: Number(service.events()[0].payload.text) }
}

/** Of a process by its id, of a group by the negative of its. */
function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The run was told as one that the runner's end has stopped, and nothing of its command is left. */
async function isLeftInOrder(test: Test, service: StandIn, group: number): Promise<void> {
  test.match(service.said('failed')[0]?.body, { class: 'execution', code: 'runner_stopped' })
  await until(
    async () => lives(-group),
    (alive) => !alive,
  )
}

t.test('the command line of a checkout starts what npm start has built', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { status, stdout, stderr } = spawnSync('./intendant', ['--version'], { encoding: 'utf8' })
  t.same([status, stdout, stderr], [0, `${version}\n`, ''])
  t.notMatch(readFileSync('intendant', 'utf8'), /dist\/(?!bin\/)/, 'and nothing that npm start leaves as it was')
})

t.test('what a command prints comes out whole, however slow its reader', async (t) => {
  const projects = Array.from({ length: 2_000 }, (_, n) => ({
    id: `proj_${n}`,
    key: `key-${n}`,
    name: 'x'.repeat(100),
  }))
  const { env } = await answering(t, () => [200, { items: projects }])
  // The first byte is there, and the rest is not read for longer than what is left behind has time to end.
  const script = '"$@" | { dd bs=1 count=1 2>/dev/null; sleep 1.5; cat; }'
  const argv = ['sh', process.execPath, BINARY, 'project', 'list', '--json', '--limit', '2000']
  const reader = spawn('sh', ['-c', script, ...argv], { env: { ...ENV, ...env }, stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  for await (const chunk of reader.stdout) out += chunk
  t.equal(JSON.parse(out).length, projects.length)
})

/** A reader that has taken nothing for so long takes nothing, milliseconds. */
const STUCK_MS = 700

/** Starts a command whose output nobody takes until it is read, whole. */
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
 * Watch with so many events of 8 KB, of which `cursor` is the number; `stuck` resolves with how many somebody took who then takes
 * none for a while, and is let go of; or with all of them.
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

t.test('watch takes no more than its reader, and goes on without a gap when it is let go of', async (t) => {
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

t.test('a watch whose reader takes nothing ends when it is asked to', async (t) => {
  const { env, stuck } = await streaming(t, 8_000)
  const { child, ended } = unread(t, env, 'watch', '--json', '--since', 'earliest')
  await stuck
  child.kill('SIGINT')
  t.equal(await Promise.race([ended, pause(10_000, 'it goes on')]), 0)
})

t.test('run-request log asks for no page before its reader has taken the last one', async (t) => {
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

/** The exit code of a command whose reader goes away behind the first line. */
async function leftAlone(test: Test, env: NodeJS.ProcessEnv, ...argv: string[]): Promise<number | null> {
  const options = { env: { ...ENV, ...env }, stdio: ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore'] }
  const child = spawn(process.execPath, [BINARY, ...argv], options)
  test.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  await once(child.stdout, 'data')
  child.stdout.destroy()
  return await Promise.race([ended, pause(10_000, null)])
}

t.test(
  'a reader that has seen enough ends a command well, but not one whose end is the outcome of a run',
  async (t) => {
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
  },
)

t.test(
  'a service whose log cannot be written serves, and ends as it should',
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

t.test('a service whose terminal closes comes to its end, and to no other', { skip: !canHaveTerminal }, async (t) => {
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

t.test('a runner whose log nobody reads any more ends as it should', async (t) => {
  const { service, runner, group } = await atWork(t)
  runner.child.stderr!.destroy()
  runner.child.kill('SIGINT')
  t.equal(await runner.ended, 0)
  await isLeftInOrder(t, service, group)
})

for (const signal of ['SIGHUP', 'SIGQUIT'] as const)
  t.test(`${signal} ends a runner as SIGTERM does`, async (t) => {
    const { service, runner, group } = await atWork(t)
    runner.child.kill(signal)
    // A terminal that closes tells it twice.
    if (signal === 'SIGHUP') setTimeout(() => runner.child.kill(signal), 20)
    t.equal(await runner.ended, 0)
    await isLeftInOrder(t, service, group)
  })

t.test('signals that come together are one wish: a run keeps its time to end until there is a second', async (t) => {
  const { service, runner, group } = await atWork(t, '1m')
  runner.child.kill('SIGINT')
  setTimeout(() => runner.child.kill('SIGINT'), 20)
  await pause(1_500)
  t.ok(lives(-group), 'it is left to come to its end')
  // At once: on its way out, a process has nobody who hears signals.
  runner.child.kill('SIGINT')
  runner.child.kill('SIGTERM')
  t.equal(await runner.ended, 0)
  await isLeftInOrder(t, service, group)
})
