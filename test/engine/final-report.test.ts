/** The final report of a run whose command printed something that the service or the runner cannot take. */
import t, { type Test } from 'tap'
import { jsonText } from '../../engine/json-text.ts'
import { UnreadLines } from '../../engine/unread-lines.ts'
import { hired } from './hired.ts'
import { executionRequest, type StandIn } from './stand-in.ts'

/** Runs one request by the command; returns how it ended, and the service. */
async function ran(test: Test, command: string, arrange = (_: StandIn): void => {}, more: Record<string, any> = {}) {
  const { service, runner, logs } = await hired(test, command)
  arrange(service)
  service.offer(executionRequest('runreq_w', more))
  return { ends: await runner.finished, service, logs }
}

const TASK = { engine: { entry_event: 'execution_requested', throttle: 'full', payload: {} } }

/** A command that prints the lines and exits with 0. */
function prints(...lines: object[]): string {
  return ['cat > /dev/null', ...lines.map((line) => `printf '%s\\n' '${JSON.stringify(line)}'`)].join('; ')
}

/** Refuses each post of events in which one matches. */
function refuseEvents(matches: (event: any) => boolean) {
  return (service: StandIn): void => {
    service.misbehave = ({ verb, body }) =>
      verb === 'events' && body.events.some(matches) ? { status: 422, code: 'invalid_event' } : undefined
  }
}

const verdicts = (service: StandIn): any[] =>
  service.events().flatMap(({ event_type, payload }) => (event_type === 'task_run_completed' ? [payload] : []))

t.test('a failure is posted again without its Run Result if the service refuses that', async (t) => {
  const result = '{"schema_version":"intendant.run_result.v1","completed_at":"yesterday"}'
  const { ends, service } = await ran(t, `cat > /dev/null; echo '${result}'; exit 3`, (service) => {
    service.misbehave = (post) =>
      post.verb === 'failed' && post.body.result !== undefined ? { status: 422, code: 'invalid_body' } : undefined
  })
  t.same(ends, ['failed'])
  const [failed] = service.said('failed')
  t.match(failed!.body, { attempt: 1, class: 'execution', code: 'exit_3', message: /refused the Run Result/ })
})

t.test('a Run Result with a failure or an invalid status fails the run', async (t) => {
  const word = { class: 'execution', code: 'run_result_status' }
  for (const [said, told] of [
    [{ status: 'failed' }, { ...word, message: /status failed: a successful status is completed or/ }],
    [{ status: 7 }, { ...word, message: /status 7/ }],
    [{ failure: 'boom' }, { class: 'execution', message: 'boom' }],
    [{ failure: { class: 'nope', message: 'm' } }, { class: 'execution', message: 'm (its class nope is unknown)' }],
  ] as const) {
    const { ends, service } = await ran(
      t,
      prints({ schema_version: 'intendant.run_result.v1', ...said }),
      undefined,
      TASK,
    )
    t.same(ends, ['failed'], JSON.stringify(said))
    t.match(verdicts(service), [{ verdict: 'runner_error', success: false }])
    const [failed] = service.said('failed')
    t.match(failed!.body, told)
    t.notOk('status' in failed!.body.result, 'a failed run reports no status')
  }
  for (const status of [undefined, 'completed', 'completed_with_findings']) {
    const line = { schema_version: 'intendant.run_result.v1', failure: null, status }
    const { ends, service } = await ran(t, prints(line))
    t.same(ends, ['completed'])
    t.equal(service.said('completed')[0]!.body.result.status, status ?? 'completed')
  }
})

t.test('a failure that the service answers with the next attempt counts as reported', async (t) => {
  const { ends } = await ran(t, 'exit 3', (service) => {
    service.misbehave = (post) => {
      if (post.verb === 'failed') service.answers.set('runreq_w', { run_request: { id: 'runreq_w', attempt: 2 } })
      return undefined
    }
  })
  t.same(ends, ['failed'])
})

t.test('text cut in the middle of a character is posted with U+FFFD', async (t) => {
  // 1 + 2 * 1,500 + 1 UTF-16 units: the last 2,000 of them begin in the middle of a pair.
  const { ends, service } = await ran(t, `cat > /dev/null; node -e 'console.error("x" + "😀".repeat(1500))'; exit 4`)
  t.same(ends, ['failed'])
  const { message } = service.said('failed')[0]!.body
  t.ok(message.isWellFormed())
  t.match(message, /exit code 4: \ufffd😀/)
})

t.test('only unpaired surrogates are replaced, not text that looks like their escapes', (t) => {
  for (const value of ['😀', '\\ud800', '\\\\ud83d', '\n"\u0000', { '\\udc00': '\\' }]) {
    t.same(JSON.parse(jsonText(value)), value)
  }
  t.equal(JSON.parse(jsonText('a\ud800b\udc00\\\ud83d')), 'a\ufffdb\ufffd\\\ufffd')
  t.end()
})

t.test('a line over the limit arrives unchanged in pieces', async (t) => {
  const { service } = await ran(t, `cat > /dev/null; node -e 'process.stdout.write("y".repeat(1200000) + "\\nend\\n")'`)
  const text = service.events().map((event) => event.payload.text)
  t.equal(text.join(''), `${'y'.repeat(1_200_000)}\nend\n`)
})

const LONG = `head -c 600000 /dev/zero | tr '\\0' y`

/** A command that prints one object, with more than the limit between its two parts. */
function printsLong(head: object, tail: object): string {
  const [open, close] = [JSON.stringify(head).slice(0, -1), JSON.stringify(tail).slice(1)]
  return `cat > /dev/null; printf '%s' '${open},"log":"'; ${LONG}; printf '%s\\n' '",${close}'`
}

t.test('a task_run_completed in a line over the limit fails the run as line_too_long', async (t) => {
  const payload = { verdict: 'defect', diagnosis: 'it leaks' }
  for (const [head, tail] of [
    [{ event_type: 'task_run_completed' }, { payload }],
    [{ payload }, { event_type: 'task_run_completed' }],
  ] as const) {
    const { ends, service, logs } = await ran(t, printsLong(head, tail), undefined, TASK)
    t.same(ends, ['failed'])
    const message = 'a line of more than 524288 characters was ignored: it names task_run_completed'
    const [told, ...more] = verdicts(service)
    t.match(told, { success: false, landed: false, verdict: 'runner_error', detail: message })
    t.same(more, [])
    t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'line_too_long', message })
    t.match(logs.join('\n'), message)
    const text = service.events().map((event) => event.payload.text ?? '')
    t.match(text.join(''), /"diagnosis":"it leaks"/, 'its text is kept')
    t.match(text.join(''), `intendant runner: ${message}\n`)
  }
})

t.test('a failure in a Run Result over the limit fails the run, unless another Run Result follows', async (t) => {
  const said = { schema_version: 'intendant.run_result.v1' }
  const failing = printsLong({ failure: { class: 'semantic', message: 'no' } }, said)
  const { ends, service } = await ran(t, failing)
  t.same(ends, ['failed'])
  t.match(service.said('failed')[0]!.body, { code: 'line_too_long', message: /names intendant.run_result.v1/ })
  const read = await ran(t, `${failing}; echo '${JSON.stringify(said)}'`)
  t.same(read.ends, ['completed'])
})

t.test('a long line that only quotes a verdict or is no object is plain text', async (t) => {
  const quoted = JSON.stringify({ event_type: 'task_run_completed' })
  const { ends } = await ran(t, printsLong({ output: quoted }, { more: quoted }), undefined, TASK)
  t.same(ends, ['completed'])
  const plain = `cat > /dev/null; printf '['; ${LONG}; printf '%s\\n' '${quoted}'`
  t.same((await ran(t, plain, undefined, TASK)).ends, ['completed'])
})

t.test('a verdict in an unread line is found even if it is cut in two, once per line', (t) => {
  const failures: unknown[] = []
  const told: string[] = []
  const unread = new UnreadLines({ onVerdict: (failure) => failures.push(failure), tell: (text) => told.push(text) })
  const line = ' {"payload":{}, "event_type" : "task_run_completed"}'
  for (let at = 1; at < line.length; at++) {
    unread.piece({ text: line.slice(0, at), whole: false, ended: false })
    unread.piece({ text: line.slice(at), whole: false, ended: true })
  }
  // Nothing is known of an object whose first piece is blank.
  t.equal(failures.length, line.length - 2)
  t.equal(told.length, failures.length)
  unread.piece({ text: 'text ', whole: false, ended: false })
  unread.piece({ text: line, whole: false, ended: true })
  t.equal(told.length, failures.length, 'a line that does not begin as an object is text')
  t.equal(failures.length, line.length - 2)
  t.equal(unread.result, undefined)
  t.end()
})

t.test('a verdict of the command that the service refuses fails the run as verdict_refused', async (t) => {
  const defect = { event_type: 'task_run_completed', payload: { verdict: 'defect', summary: 'it does not hold' } }
  const refuse = refuseEvents(({ payload }) => payload.verdict === 'defect')
  const { ends, service } = await ran(t, prints(defect), refuse, TASK)
  t.same(ends, ['failed'])
  const reason = /refused task_run_completed: invalid_event/
  t.match(verdicts(service), [{ success: false, landed: false, verdict: 'runner_error', detail: reason }])
  t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'verdict_refused', message: reason })
  t.match(service.events()[0].payload.text, 'it does not hold', 'its text is kept')
})

t.test('of several verdicts the one that the service accepts counts', async (t) => {
  const bad = { event_type: 'task_run_completed', payload: { verdict: 'defect' } }
  const good = { event_type: 'task_run_completed', payload: { verdict: 'defect', diagnosis: 'it leaks' } }
  const refuse = refuseEvents(({ payload }) => payload.verdict === 'defect' && payload.diagnosis === undefined)
  for (const lines of [
    [bad, good],
    [good, bad],
  ]) {
    const { ends, service } = await ran(t, prints(...lines), refuse, TASK)
    t.same(ends, ['completed'])
    t.same(verdicts(service), [good.payload])
  }
})

t.test("a runner_error verdict that is refused is posted again without the command's own fields", async (t) => {
  const said = {
    schema_version: 'intendant.run_result.v1',
    failure: { class: 'execution', code: 'usage_limit', message: 'come back' },
    retry_after: 'soon',
  }
  const refuse = refuseEvents(({ payload }) => payload.retry_after !== undefined)
  const { ends, service } = await ran(t, prints(said), refuse, TASK)
  t.same(ends, ['failed'])
  t.match(verdicts(service), [{ verdict: 'runner_error', failure_code: 'usage_limit', retry_after: undefined }])
  t.match(service.said('failed')[0]!.body, { code: 'usage_limit', message: 'come back' })
})

t.test('a run whose every task_run_completed is refused fails with that reason', async (t) => {
  const refuse = refuseEvents(({ event_type }) => event_type === 'task_run_completed')
  const { ends, service, logs } = await ran(t, 'cat > /dev/null', refuse, TASK)
  t.same(ends, ['failed'])
  t.match(service.said('failed')[0]!.body, { code: 'verdict_refused', message: /invalid_event/ })
  t.match(logs.join('\n'), /refused the runner's task_run_completed: invalid_event/)
})

t.test('an event with text cut in the middle of a character is posted with U+FFFD', async (t) => {
  const diagnosis = `${'😀'.slice(1)} is what the gate said`
  const defect = { event_type: 'task_run_completed', payload: { verdict: 'defect', diagnosis } }
  const { service } = await ran(t, prints(defect), undefined, TASK)
  t.same(verdicts(service), [{ verdict: 'defect', diagnosis: '\ufffd is what the gate said' }])
})
