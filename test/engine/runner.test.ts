import { getEventListeners } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { ServiceRefused } from '../../engine/errors.ts'
import { digestOf } from '../../machines/digest.ts'
import { until } from '../until.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'
import { LINE_BYTES, LINES_HELD_MAX, Written } from './written.ts'

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function gone(pid: number): Promise<boolean> {
  for (let look = 0; look < 100 && alive(pid); look += 1) await pause(20)
  return !alive(pid)
}

t.test('a run is accepted, started, reported in order and completed with a Run Result', async (t) => {
  const command = `cat > /dev/null; echo one; echo '{"event_type":"greeting_composed","payload":{"greeting":"hi"}}'; echo two; echo oops >&2`
  const { service, runner } = await hired(t, command)
  service.offer(executionRequest('runreq_a'))
  t.same(await runner.finished, ['completed'])
  t.same(
    service.posts.map((post) => post.verb).filter((verb, n, all) => verb !== all[n - 1]),
    ['session', 'accepted', 'started', 'events', 'completed', 'session'],
  )
  const [began, ended] = service.said('session')
  t.match(ended!.body, { ...began!.body, ended: true }, 'the last post ends the session')
  t.ok(
    service.posts.slice(1, -1).every((post) => post.body.attempt === 1),
    'every post carries the attempt',
  )
  const stdout = service.events().filter((event) => event.payload.stream !== 'stderr')
  t.same(
    stdout.map((event) => [event.event_type, event.payload.text ?? event.payload.greeting]),
    [
      ['run_output', 'one\n'],
      ['greeting_composed', 'hi'],
      ['run_output', 'two\n'],
    ],
  )
  t.same(
    service
      .events()
      .filter((event) => event.payload.stream === 'stderr')
      .map((event) => event.payload.text),
    ['oops\n'],
  )
  t.match(service.events()[0].occurred_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  t.match(service.said('completed')[0]!.body.result, {
    schema_version: 'intendant.run_result.v1',
    status: 'completed',
    run_request_id: 'runreq_a',
    engine_run_id: 'run_1',
    exit_code: 0,
  })
})

t.test('the command gets the request on its input and neither ENGINE_* nor the token in its environment', async (t) => {
  const { service, runner } = await hired(t, 'cat; env')
  service.offer(executionRequest('runreq_env'))
  await runner.finished
  const text = service
    .events()
    .map((event) => event.payload.text)
    .join('')
  t.match(text, '"request_id":"runreq_env"')
  t.notMatch(text, /ENGINE_/)
  t.notMatch(text, /t0ken-of-laptop/)
  t.match(text, `TRACEPARENT=00-${'a'.repeat(32)}`)
  t.match(text, 'INTENDANT_REQUEST_ID=runreq_env')
})

t.test(
  'a command whose run has a token finds the service with it, and what it prints of it is not posted',
  async (t) => {
    const token = `irt_${'0'.repeat(24)}_1_1767225600000_${'Ab-_'.repeat(10)}xyz`
    const command = `cat; env; printf '{"event_type":"note_taken","payload":{"said":"%s"}}\\n' "$ENGINE_TOKEN"
    echo "$ENGINE_TOKEN" >&2; [ "$ENGINE_TOKEN" = ${token} ] || exit 2; exit 3`
    const { service, runner, logs } = await hired(t, command)
    service.answers.set('runreq_own', { run_token: token })
    service.offer(executionRequest('runreq_own'))
    t.same(await runner.finished, ['failed'])
    t.match(service.said('failed')[0]!.body, { code: 'exit_3', message: /irt_\.\.\./ })
    const text = service
      .events()
      .map((event) => event.payload.text ?? event.payload.said)
      .join('')
    t.match(text, `ENGINE_URL=${service.client.url}\n`)
    t.match(text, /ENGINE_TOKEN=irt_\.\.\.\n/)
    t.equal(service.events().find((event) => event.event_type === 'note_taken').payload.said, 'irt_...')
    t.notMatch(JSON.stringify([service.posts, logs]), token, 'neither in a post nor in the log of the runner')
    t.notMatch(text, /ENGINE_HOME|t0ken-of-laptop/)
  },
)

t.test('a failing command fails the run, with its exit code and the end of its standard error', async (t) => {
  const { service, runner } = await hired(t, 'echo no such luck >&2; exit 3')
  service.offer(executionRequest('runreq_f'))
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'exit_3', message: /exit code 3: no such luck/ })
})

t.test('a task whose command exits with 0 is settled by task_run_completed with verdict complete', async (t) => {
  const { service, runner } = await hired(t, 'true')
  const engine = {
    entry_event: 'execution_requested',
    throttle: 'full',
    payload: { objective: 'x', campaign: 'c', campaign_cycle: 2 },
  }
  service.offer(executionRequest('runreq_t', { engine }))
  await runner.finished
  t.match(service.events().at(-1), {
    event_type: 'task_run_completed',
    payload: { project: 'demo', success: true, landed: false, verdict: 'complete', campaign: 'c', campaign_cycle: 2 },
  })
})

t.test('a task whose command fails is settled as runner_error, and its run fails', async (t) => {
  const { service, runner } = await hired(t, 'exit 9')
  service.offer(
    executionRequest('runreq_t', { engine: { entry_event: 'execution_requested', throttle: 'full', payload: {} } }),
  )
  t.same(await runner.finished, ['failed'])
  t.match(service.events().at(-1).payload, { success: false, verdict: 'runner_error', detail: /exit code 9/ })
  t.equal(service.posts.at(-2)!.verb, 'failed')
})

t.test('a task whose command posted its own verdict gets no second one', async (t) => {
  const own =
    '{"event_type":"task_run_completed","payload":{"project":"demo","success":true,"landed":true,"summary":"s","verdict":"complete"}}'
  const { service, runner } = await hired(t, `echo '${own}'`)
  service.offer(
    executionRequest('runreq_t', { engine: { entry_event: 'execution_requested', throttle: 'full', payload: {} } }),
  )
  await runner.finished
  t.same(
    service.events().map((event) => event.payload.landed),
    [true],
  )
})

t.test('a failure in the last Run Result line fails the run', async (t) => {
  const said = {
    schema_version: 'intendant.run_result.v1',
    decision: 'advance',
    failure: { class: 'execution', code: 'usage_limit', message: 'come back at nine' },
  }
  const { service, runner } = await hired(t, `echo '${JSON.stringify(said)}'`)
  service.offer(executionRequest('runreq_r'))
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, {
    code: 'usage_limit',
    result: { decision: 'advance', run_request_id: 'runreq_r' },
  })
})

t.test('an unfinished line of output is posted while the command waits, but an unfinished event is not', async (t) => {
  const command = `cat > /dev/null; printf 'Go on? '; printf '{"event_type":' >&2; sleep 1.6; echo yes
    printf '{"event_type":'; sleep 1.6; echo '"greeting_composed","payload":{"greeting":"hi"}}'`
  const { service, runner } = await hired(t, command)
  service.offer(executionRequest('runreq_o'))
  await service.until(({ verb, body }) => verb === 'events' && body.events[0].payload.text === 'Go on? ')
  t.same(service.said('completed'), [])
  t.same(await runner.finished, ['completed'])
  const events = service.events().filter((event) => event.payload.stream !== 'stderr')
  t.match(events.at(-1), { event_type: 'greeting_composed', payload: { greeting: 'hi' } })
  t.equal(events.map((event) => event.payload.text ?? '').join(''), 'Go on? yes\n')
})

t.test('a refused event becomes output with the reason, and the others are posted', async (t) => {
  const lines = [
    '{"event_type":"a","payload":{}}',
    '{"event_type":"bad","payload":{}}',
    '{"event_type":"c","payload":{}}',
  ]
  const { service, runner } = await hired(t, lines.map((line) => `echo '${line}'`).join(';'))
  service.misbehave = (post) =>
    post.verb === 'events' && post.body.events.some((event: any) => event.event_type === 'bad')
      ? { status: 422, code: 'invalid_event' }
      : undefined
  service.offer(executionRequest('runreq_b'))
  t.same(await runner.finished, ['completed'])
  t.same(
    service.events().map((event) => event.event_type),
    ['a', 'run_output', 'run_output', 'c'],
  )
  t.match(service.events()[2].payload.text, /refused this line: invalid_event/)
})

t.test('a cancel in an answer ends the command and its children, and the run fails with class cancelled', async (t) => {
  const { service, runner } = await hired(t, 'sleep 300 & echo child=$!; echo self=$$; wait', { heartbeatMs: 40 })
  service.offer(executionRequest('runreq_c'))
  const output = await service.until((post) => post.verb === 'events' && /self=/.test(JSON.stringify(post.body)))
  const text = output.body.events.map((event: any) => event.payload.text).join('')
  const child = Number(/child=(\d+)/.exec(text)![1])
  t.ok(alive(child))
  service.answers.set('runreq_c', { cancel_requested: true, cancel: { reason: 'changed my mind' } })
  t.same(await runner.finished, ['cancelled'])
  t.match(service.said('failed')[0]!.body, { class: 'cancelled', message: 'cancelled: changed my mind' })
  t.ok(await gone(child), 'the child process is gone')
})

t.test('a cancel in the header of a parked poll ends the command at once', async (t) => {
  const { service, runner } = await hired(t, 'echo up; sleep 300', { once: false, heartbeatMs: 60_000 })
  service.offer(executionRequest('runreq_h'))
  await service.until((post) => post.verb === 'events')
  service.news({ 'Intendant-Cancel': 'runreq_other, runreq_h' })
  const failed = await service.until((post) => post.verb === 'failed')
  t.equal(failed.body.class, 'cancelled')
  runner.drain()
  t.same(await runner.finished, ['cancelled'])
})

t.test('a command that ignores SIGTERM is killed after the grace period', async (t) => {
  const { service, runner } = await hired(t, `trap '' TERM; echo pid=$$; while true; do sleep 0.05; done`, {
    heartbeatMs: 30,
  })
  service.offer(executionRequest('runreq_k'))
  const output = await service.until((post) => post.verb === 'events')
  const pid = Number(/pid=(\d+)/.exec(output.body.events[0].payload.text)![1])
  service.answers.set('runreq_k', { cancel_requested: true })
  t.same(await runner.finished, ['cancelled'])
  t.ok(await gone(pid))
})

t.test('a stopped process gets one SIGTERM, and the whole grace period even after its shell has ended', async (t) => {
  const heard = join(t.testdir(), 'heard')
  // It takes half a second to clean up.
  const clearing = `n=0; while [ $n -lt 10 ]; do sleep 0.05; [ -s ${heard} ] && n=$((n + 1)); done; echo done >> ${heard}`
  const command = `(trap 'echo TERM >> ${heard}' TERM; echo up; ${clearing}) & wait`
  const { service, runner } = await hired(t, command, { heartbeatMs: 30, stopGraceMs: 10_000 })
  service.offer(executionRequest('runreq_o'))
  await service.until((post) => post.verb === 'events')
  service.answers.set('runreq_o', { cancel_requested: true })
  t.same(await runner.finished, ['cancelled'])
  t.equal(readFileSync(heard, 'utf8'), 'TERM\ndone\n')
})

t.test('background processes of a command are ended with the run', async (t) => {
  const { service, runner } = await hired(t, 'sleep 300 & echo child=$!')
  service.offer(executionRequest('runreq_l'))
  t.same(await runner.finished, ['completed'])
  const pid = Number(/child=(\d+)/.exec(service.events()[0].payload.text)![1])
  t.ok(await gone(pid))
})

t.test('across a restart of the service every event arrives once and in order', async (t) => {
  const { service, runner } = await hired(
    t,
    'for n in 1 2 3 4 5 6 7 8; do echo "{\\"event_type\\":\\"n\\",\\"payload\\":{\\"n\\":$n}}"; sleep 0.05; done',
  )
  service.offer(executionRequest('runreq_s'))
  await service.until((post) => post.verb === 'events')
  await service.stop()
  await pause(250)
  await service.start()
  t.same(await runner.finished, ['completed'])
  t.same(
    service.events().map((event) => event.payload.n),
    [1, 2, 3, 4, 5, 6, 7, 8],
  )
})

t.test('how long the work has waited for its turn to land stands in the log', async (t) => {
  const said = JSON.stringify({ schema_version: 'intendant.run_result.v1', landing_waited_ms: 41_990 })
  const { service, runner, logs } = await hired(t, `echo '${said}'`)
  service.offer(executionRequest('runreq_a'))
  t.same(await runner.finished, ['completed'])
  t.match(logs.join('\n'), /runreq_a attempt 1: completed; it waited 42\.0 s for its turn to land/)
})

t.test('the runner logs when the service stops answering and when it answers again', async (t) => {
  const { service, runner, logs } = await hired(t, 'true', { once: false })
  service.misbehave = (post) =>
    post.verb === 'session' && logs.length < 1 ? { status: 503, code: 'stopping' } : undefined
  await until(
    async () => logs.join(),
    (said) => said.includes('connected'),
  )
  runner.stop()
  t.match(logs, [/^[^.]+; trying again$/, 'the service answers again', /connected to/])
})

t.test('after a lost answer or a 503 the same text is posted again', async (t) => {
  const { service, runner } = await hired(t, `echo '{"event_type":"x","payload":{}}'`)
  const seen = new Map<string, string[]>()
  service.misbehave = (post) => {
    const texts = seen.get(post.verb) ?? []
    seen.set(post.verb, [...texts, JSON.stringify(post.body)])
    if (texts.length === 0) return 'cut'
    return texts.length === 1 ? { status: 503, code: 'busy' } : undefined
  }
  service.offer(executionRequest('runreq_5'))
  t.same(await runner.finished, ['completed'])
  for (const verb of ['session', 'accepted', 'started', 'events', 'completed']) {
    // The very last post is a second session post, sent once.
    const texts = seen.get(verb)!.slice(0, 3)
    t.equal(texts.length, 3, `${verb} was tried three times`)
    t.equal(new Set(texts).size, 1, `${verb} was the same each time`)
  }
})

t.test('a stale attempt ends the command, and nothing more is posted', async (t) => {
  const { service, runner, logs } = await hired(t, 'echo pid=$$; sleep 300', { once: false, heartbeatMs: 50 })
  service.offer(executionRequest('runreq_st'))
  const output = await service.until((post) => post.verb === 'events')
  const pid = Number(/pid=(\d+)/.exec(output.body.events[0].payload.text)![1])
  service.misbehave = (post) => (post.path.includes('runreq_st') ? { status: 409, code: 'stale_attempt' } : undefined)
  t.ok(await gone(pid))
  runner.drain()
  t.same(await runner.finished, ['abandoned'])
  t.equal(service.said('failed').length + service.said('completed').length, 0)
  t.match(logs.join('\n'), /abandoned: stale_attempt/)
})

t.test('an answer that names another attempt counts as a stale attempt', async (t) => {
  const { service, runner } = await hired(t, 'echo never', { once: false })
  service.answers.set('runreq_e', { run_request: { id: 'runreq_e', attempt: 2 } })
  service.offer(executionRequest('runreq_e'))
  await service.until((post) => post.verb === 'accepted')
  runner.drain()
  t.same(await runner.finished, ['abandoned'])
  t.equal(service.said('started').length, 0)
})

t.test('a newer attempt of a held run ends the older one first', async (t) => {
  const { service, runner } = await hired(
    t,
    'echo pid=$$ attempt=$INTENDANT_ATTEMPT; test $INTENDANT_ATTEMPT = 2 || sleep 300',
    { once: false },
  )
  service.offer(executionRequest('runreq_n'))
  await service.until((post) => post.verb === 'events')
  service.offer(executionRequest('runreq_n', { attempt: 2 }))
  await service.until((post) => post.verb === 'completed' && post.body.attempt === 2)
  runner.drain()
  t.same(await runner.finished, ['abandoned', 'completed'])
})

t.test('a request with an unknown major schema version fails without running anything', async (t) => {
  const { service, runner } = await hired(t, 'echo never')
  service.offer(executionRequest('runreq_v', { schema_version: 'intendant.execution_request.v2' }))
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, { class: 'dispatch', code: 'unsupported_schema_version', message: /v2/ })
  t.equal(service.events().length, 0)
})

t.test('a request that was cancelled before its start is not started', async (t) => {
  const { service, runner } = await hired(t, 'echo never')
  service.answers.set('runreq_u', { cancel_requested: true })
  service.offer(executionRequest('runreq_u'))
  t.same(await runner.finished, ['cancelled'])
  t.equal(service.said('started').length, 0)
})

t.test('a runner that is repeatedly at capacity leaks no abort listeners', async (t) => {
  const { service } = await hired(t, 'true', { once: false, capacity: 1 })
  const { request } = service.client
  let signal: AbortSignal | undefined
  let polls = 0
  service.client.request = (method, path, options = {}) => {
    if (path.endsWith('/next')) {
      polls += 1
      signal = options.signal
    }
    return request(method, path, options)
  }
  for (let n = 0; n < 20; n += 1) service.offer(executionRequest(`runreq_${n}`))
  await service.until(({ path, verb }) => verb === 'completed' && path.includes('runreq_19'))
  await until(
    async () => polls,
    (count) => count > 20,
  )
  t.ok(getEventListeners(signal!, 'abort').length < 5, `${getEventListeners(signal!, 'abort').length} listeners`)
})

t.test('a runner holds as many concurrent runs as its capacity', async (t) => {
  const { service, runner } = await hired(t, 'echo up; while [ ! -e "$GATE" ]; do sleep 0.02; done', {
    once: false,
    capacity: 2,
    environment: { PATH: process.env.PATH, GATE: `${t.testdir()}/gate` },
  })
  for (const id of ['1', '2', '3']) service.offer(executionRequest(`runreq_${id}`))
  await service.until((post) => post.path.includes('runreq_2') && post.verb === 'events')
  t.equal(service.offers.length, 1, 'the third was not polled for')
  writeFileSync(`${t.testdirName}/gate`, '')
  await service.until((post) => post.path.includes('runreq_3') && post.verb === 'completed')
  runner.drain()
  t.same(await runner.finished, ['completed', 'completed', 'completed'])
})

t.test('a run that outlasts the drain time fails as runner_stopped', async (t) => {
  const { service, runner } = await hired(t, 'echo up; sleep 300', { once: false, drainMs: 100 })
  service.offer(executionRequest('runreq_d'))
  await service.until((post) => post.verb === 'events')
  runner.drain()
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'runner_stopped' })
})

t.test('a token that the service refuses ends the runner', async (t) => {
  const { service, runner } = await hired(t, 'true')
  service.misbehave = () => ({ status: 401, code: 'unauthenticated' })
  await t.rejects(runner.finished, { name: 'ServiceRefused', problem: { status: 401 } })
  t.ok(await runner.finished.catch((error) => error instanceof ServiceRefused))
})

t.test('while the service takes no events the command is slowed down, and no output is lost', async (t) => {
  const lines = new Written(t, 400)
  const { service, runner } = await hired(t, lines.command)
  let refused = 0
  let open = false
  service.misbehave = ({ verb }) => {
    if (verb !== 'events' || open) return undefined
    refused += 1
    return { status: 503, code: 'busy' }
  }
  service.offer(executionRequest('runreq_p'))
  const count = await lines.standStill(() => refused)
  t.ok(count < LINES_HELD_MAX, `${count} lines of 400 were written while the service took none`)
  open = true
  t.same(await runner.finished, ['completed'])
  t.equal(lines.count, 400, 'and then it continued')
  const bytes = service.events().reduce((sum, event) => sum + event.payload.text.length, 0)
  t.equal(bytes, 400 * LINE_BYTES)
  t.ok(service.events().every((event) => Buffer.byteLength(event.payload.text) <= 65_536))
})

/** A compiled brief whose digests the runner can verify. */
function compiled(prompts: readonly object[]) {
  const pack = { template_version: '1', prompts }
  const snapshot = { mission: { objective: 'be kind' }, prompt_pack: { digest: digestOf(pack) } }
  return { digest: digestOf(snapshot), snapshot, prompt_pack: { digest: digestOf(pack), ...pack } }
}

const PLAN = { phase: 'planning', prompt_text: 'Plan it: ä.\n' }
const CODE = { phase: 'execution', prompt_text: 'Do it.' }

t.test('brief and prompts are in files during the run, and removed after it', async (t) => {
  const command =
    'cd $INTENDANT_PROMPTS_DIR; ls -m; cat planning.md; echo $INTENDANT_BRIEF_FILE; cat $INTENDANT_BRIEF_FILE'
  const { service, runner } = await hired(t, command)
  const brief = compiled([PLAN, CODE])
  service.brief = brief
  service.offer(executionRequest('runreq_br', { brief: { id: 'brief_1', digest: brief.digest } }))
  t.same(await runner.finished, ['completed'])
  const [list, plan, file, text] = service
    .events()
    .map((event) => event.payload.text)
    .join('')
    .split('\n')
  t.equal(list, 'execution.md, planning.md')
  t.equal(`${plan}\n`, PLAN.prompt_text)
  t.same(JSON.parse(text!), brief)
  t.notOk(existsSync(file!))
})

t.test('a brief that does not match its digest fails the run before it starts', async (t) => {
  const brief = compiled([PLAN, CODE])
  const { snapshot, prompt_pack: pack } = brief
  const traversing = compiled([{ ...PLAN, phase: '../../planning' }])
  const others: Record<string, [held: object | undefined, digest: string]> = {
    'another text under the same digest': [
      { ...brief, snapshot: { ...snapshot, mission: { objective: 'be unkind' } } },
      brief.digest,
    ],
    'another prompt': [
      { ...brief, prompt_pack: { ...pack, prompts: [PLAN, { ...CODE, prompt_text: 'x' }] } },
      brief.digest,
    ],
    'a prompt less': [{ ...brief, prompt_pack: { ...pack, prompts: [PLAN] } }, brief.digest],
    'no prompts': [{ digest: brief.digest, snapshot }, brief.digest],
    'another brief': [compiled([PLAN]), brief.digest],
    'a prompt that would leave its folder': [traversing, traversing.digest],
    'no such brief': [undefined, brief.digest],
    'no brief at all': [{}, brief.digest],
    'a text that is not JSON for everybody': [{ ...brief, snapshot: { ...snapshot, mission: '\ud800' } }, brief.digest],
  }
  for (const [name, [held, digest]] of Object.entries(others)) {
    await t.test(name, async (t) => {
      const { service, runner } = await hired(t, 'echo never')
      service.brief = held
      service.offer(executionRequest('runreq_bm', { brief: { id: 'brief_1', digest } }))
      t.same(await runner.finished, ['failed'])
      t.match(service.said('failed')[0]!.body, { class: 'safety', code: 'brief_digest_mismatch' })
      t.equal(service.said('started').length, 0)
    })
  }
})
