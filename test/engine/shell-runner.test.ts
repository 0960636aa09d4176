import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { documentedScript } from '../documented-script.ts'
import { until } from '../until.ts'
import { executionRequest, type StandIn, standIn } from './stand-in.ts'

const script = documentedScript('runner.sh')

/** Starts docs/runner.sh for one run. */
function started(service: StandIn, work: string, test: Test, path = process.env.PATH): ChildProcess {
  const child = spawn('sh', [script, 'sh', '-c', work], {
    env: {
      PATH: path,
      ENGINE_URL: service.client.url,
      ENGINE_TOKEN: 'secret',
      RUNNER_ID: 'sh-1',
      RUNS: '1',
      HEARTBEAT: '1',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  test.teardown(() => child.kill('SIGKILL'))
  return child
}

/** Runs docs/runner.sh for one run; resolves to its exit code. */
function shellRunner(...given: Parameters<typeof started>): Promise<number | null> {
  return new Promise((resolve) => started(...given).on('exit', resolve))
}

t.test('the documented shell runner has at most forty lines', async (t) => {
  t.ok(readFileSync(script, 'utf8').trimEnd().split('\n').length <= 40)
})

t.test('the shell runner accepts, starts, posts its output and reports the end of its work', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  service.offer(executionRequest('runreq_sh', { attempt: 3 }))
  const code = await shellRunner(
    service,
    `grep -o '"name":"Ada"'; printf 'a "quoted" \\\\ back\\tslash\\nä\\n'; env | grep -c ENGINE_TOKEN`,
    t,
  )
  t.equal(code, 0)
  t.same(
    service.posts.map((post) => post.verb).filter((verb) => verb !== 'heartbeat'),
    ['session', 'accepted', 'started', 'events', 'failed', 'session'],
  )
  const [began, ended] = service.said('session')
  t.match(ended!.body, { ...began!.body, ended: true }, 'the last post ends the session')
  t.ok(service.posts.slice(1, -1).every((post) => post.body.attempt === 3))
  t.equal(service.events()[0].payload.text, '"name":"Ada"\na "quoted" \\ back\tslash\nä\n0\n')
  t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'exit_1' }, 'grep -c finds no token and fails')
})

t.test('the shell runner completes a run whose work succeeds, and posts no event for empty output', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  service.offer(executionRequest('runreq_ok'))
  t.equal(await shellRunner(service, 'true', t), 0)
  t.same(
    service.posts.map((post) => post.verb).filter((verb) => verb !== 'heartbeat'),
    ['session', 'accepted', 'started', 'completed', 'session'],
  )
})

t.test('the shell runner settles a task by a result if its work succeeds, and fails the run otherwise', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  const engine = {
    entry_event: 'execution_requested',
    throttle: 'full',
    access: 'full',
    payload: { item_id: 'wi_1' },
  }
  for (const [id, work, verbs] of [
    ['runreq_task', 'true', ['accepted', 'started', 'events', 'completed']],
    ['runreq_bad', 'exit 3', ['accepted', 'started', 'failed']],
  ] as const) {
    const before = service.posts.length
    service.offer(executionRequest(id, { engine }))
    t.equal(await shellRunner(service, work, t), 0)
    const said = service.posts.slice(before).map(({ verb }) => verb)
    t.same(
      said.filter((verb) => verb !== 'heartbeat' && verb !== 'session'),
      verbs,
    )
  }
  t.match(service.events(), [
    {
      event_type: 'task_run_completed',
      payload: { project: 'demo', success: true, landed: false, summary: 'exit code 0', verdict: 'complete' },
    },
  ])
})

t.test('the shell runner stops its work and its children when cancelled', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  service.offer(executionRequest('runreq_cc'))
  const ended = shellRunner(service, 'sleep 60 & echo $!; wait', t)
  await service.until((post) => post.verb === 'started')
  service.answers.set('runreq_cc', { cancel_requested: true })
  t.equal(await ended, 0)
  t.match(service.said('failed')[0]!.body, { class: 'cancelled' })
})

t.test('the shell runner that gets SIGTERM stops its work and its children, and reports runner_stopped', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  const note = `${t.testdir()}/pids`
  service.offer(executionRequest('runreq_term'))
  const runner = started(service, `sleep 60 & echo $$ $! >'${note}'; wait`, t)
  const ended = new Promise((resolve) => runner.on('exit', resolve))
  await service.until(({ verb }) => verb === 'heartbeat')
  const [shell, child] = readFileSync(note, 'utf8').trim().split(' ').map(Number)
  runner.kill('SIGTERM')
  t.equal(await ended, 0)
  t.match(service.said('failed')[0]!.body, { attempt: 1, class: 'execution', code: 'runner_stopped' })
  for (const pid of [shell!, child!])
    t.notOk(
      await until(
        async () => lives(pid),
        (is) => !is,
      ),
    )
})

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test(
  'the shell runner retries while the service is unavailable, and exits with 3 when its token is refused',
  async (t) => {
    const service = await standIn()
    t.teardown(() => service.stop())
    let tries = 0
    service.misbehave = () => {
      tries += 1
      return tries === 1 ? { status: 503, code: 'busy' } : { status: 401, code: 'unauthenticated' }
    }
    t.equal(await shellRunner(service, 'true', t), 3)
    t.equal(tries, 2)
  },
)

t.test('the shell runner retries when something other than the service answers', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  const pages = { session: 401, next: 404, completed: 403 } as Record<string, number>
  service.misbehave = ({ verb }) => {
    const status = pages[verb]
    delete pages[verb]
    return status === undefined ? undefined : { status, page: '<html>no such page</html>' }
  }
  service.offer(executionRequest('runreq_between'))
  t.equal(await shellRunner(service, 'true', t), 0)
  t.same(pages, {})
  t.equal(service.said('completed').length, 1)
})

t.test('the shell runner keeps its token out of process arguments', async (t) => {
  const service = await standIn()
  t.teardown(() => service.stop())
  service.offer(executionRequest('runreq_ps'))
  const folder = t.testdir()
  const curl = `#!/bin/sh\nprintf '%s\\n' "$@" >>'${folder}/arguments'\nPATH='${process.env.PATH}' exec curl "$@"\n`
  writeFileSync(`${folder}/curl`, curl, { mode: 0o755 })
  t.equal(await shellRunner(service, 'true', t, `${folder}:${process.env.PATH}`), 0)
  const seen = readFileSync(`${folder}/arguments`, 'utf8')
  t.match(seen, '/completed')
  t.notMatch(seen, 'secret')
})
