/**
 * What earlier systems of this kind learned the hard way (test/LEARNED.md), as far as it concerns the bundled runner.
 */
import t from 'tap'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

/** Longer than Linux allows for one argument, or by default for all of them together. */
const PROMPT_CHARS = 3 * 1024 * 1024

t.test('learned 6: a prompt that no command line could hold reaches the command by its standard input', async (t) => {
  const { service, runner } = await hired(t, 'wc -c')
  const request = executionRequest('runreq_p')
  request.engine.payload = { prompt: 'x'.repeat(PROMPT_CHARS) }
  service.offer(request)
  t.same(await runner.finished, ['completed'])
  t.ok(Number(service.events()[0].payload.text) > PROMPT_CHARS)
})

t.test(
  'learned 6: a command that does not exist fails the run with the message of the shell, and not as an outage',
  async (t) => {
    const { service, runner } = await hired(t, './not-there', { cwd: t.testdir() })
    service.offer(executionRequest('runreq_q'))
    t.same(await runner.finished, ['failed'])
    t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'exit_127', message: /not-there: not found/ })
  },
)
