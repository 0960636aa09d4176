/** What a runner says last about a run whose command said something that the service cannot take. */
import t, { type Test } from 'tap'
import { wellFormed } from '../../engine/run-posts.ts'
import { hired } from './hired.ts'
import { executionRequest, type StandIn } from './stand-in.ts'

/** Runs one request by the command; how it ended, and the service. */
async function ran(test: Test, command: string, arrange = (_: StandIn): void => {}) {
  const { service, runner } = await hired(test, command)
  arrange(service)
  service.offer(executionRequest('runreq_w'))
  return { ends: await runner.finished, service }
}

t.test('a failure is told without its Run Result when the service finds fault with that', async (t) => {
  const result = '{"schema_version":"intendant.run_result.v1","completed_at":"yesterday"}'
  const { ends, service } = await ran(t, `cat > /dev/null; echo '${result}'; exit 3`, (service) => {
    service.misbehave = (post) =>
      post.verb === 'failed' && post.body.result !== undefined ? { status: 422, code: 'invalid_body' } : undefined
  })
  t.same(ends, ['failed'])
  const [failed] = service.said('failed')
  t.match(failed!.body, { attempt: 1, class: 'execution', code: 'exit_3', message: /refused the Run Result/ })
})

t.test('a failure after which the run is tried again has been told: the attempt is over, not taken away', async (t) => {
  const { ends } = await ran(t, 'exit 3', (service) => {
    service.misbehave = (post) => {
      if (post.verb === 'failed') service.answers.set('runreq_w', { run_request: { id: 'runreq_w', attempt: 2 } })
      return undefined
    }
  })
  t.same(ends, ['failed'])
})

t.test('a text that was cut within a character is posted with U+FFFD, which every reader takes', async (t) => {
  // 1 + 2 * 1,500 + 1 UTF-16 units: the last 2,000 of them begin in the middle of a pair.
  const { ends, service } = await ran(t, `cat > /dev/null; node -e 'console.error("x" + "😀".repeat(1500))'; exit 4`)
  t.same(ends, ['failed'])
  const { message } = service.said('failed')[0]!.body
  t.ok(message.isWellFormed())
  t.match(message, /exit code 4: \ufffd😀/)
})

t.test('only halves of surrogate pairs are replaced, not what looks like their escapes', (t) => {
  for (const value of ['😀', '\\ud800', '\\\\ud83d', '\n"\u0000', { '\\udc00': '\\' }]) {
    t.same(JSON.parse(wellFormed(JSON.stringify(value))), value)
  }
  t.equal(JSON.parse(wellFormed(JSON.stringify('a\ud800b\udc00\\\ud83d'))), 'a\ufffdb\ufffd\\\ufffd')
  t.end()
})

t.test('a line too long to be held arrives as it was written, in pieces', async (t) => {
  const { service } = await ran(t, `cat > /dev/null; node -e 'process.stdout.write("y".repeat(1200000) + "\\nend\\n")'`)
  const text = service.events().map((event) => event.payload.text)
  t.equal(text.join(''), `${'y'.repeat(1_200_000)}\nend\n`)
})
