/** The real process and its surroundings: readers that are slow or gone, terminals that close. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { executionRequest, type StandIn, standIn } from '../engine/stand-in.ts'
import { until } from '../until.ts'
import { service as answering } from './in-process.ts'
import { BINARY, ENV, type Running, start } from './processes.ts'

/** A runner at work; its command has told of its process group, and would go on for minutes. */
async function atWork(test: Test): Promise<{ service: StandIn; runner: Running; group: number }> {
  const service = await standIn()
  test.teardown(() => service.stop())
  service.offer(executionRequest('runreq_1'))
  const env = { ...ENV, ENGINE_URL: service.client.url, ENGINE_TOKEN: 'secret' }
  const runner = start(test, env, 'runner', '--id', 'r1', '--exec', 'echo $$; sleep 300', '--drain', '100ms')
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
