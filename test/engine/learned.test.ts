/** What earlier systems of this kind learned the hard way, as far as the bundled runner can get it wrong. */
import t from 'tap'
import { startRunner } from '../../engine/runner.ts'
import { executionRequest, standIn } from './stand-in.ts'

/** Longer than one argument of a command may be on Linux, and than all of them together by default. */
const PROMPT_CHARS = 3 * 1024 * 1024

t.test('learned 6: a prompt that no command line could hold reaches the command by its standard input', async (t) => {
  const service = await standIn()
  const runner = startRunner({
    client: service.client,
    id: 'r1',
    command: 'wc -c',
    environment: { PATH: process.env.PATH },
    version: '0.0.0',
    once: true,
    drainMs: 5_000,
    stopGraceMs: 300,
    backoff: { firstMs: 5, longestMs: 40 },
    log: () => {},
  })
  t.teardown(async () => {
    runner.stop()
    await runner.finished.catch(() => {})
    await service.stop()
  })
  const request = executionRequest('runreq_p')
  request.engine.payload = { prompt: 'x'.repeat(PROMPT_CHARS) }
  service.offer(request)
  t.same(await runner.finished, ['completed'])
  t.ok(Number(service.events()[0].payload.text) > PROMPT_CHARS)
})

t.test(
  'learned 6: what the operating system says of a command that cannot be run is told, and is no outage',
  async (t) => {
    const service = await standIn()
    const runner = startRunner({
      client: service.client,
      id: 'r1',
      command: './not-there',
      cwd: t.testdir(),
      environment: { PATH: process.env.PATH },
      version: '0.0.0',
      once: true,
      drainMs: 5_000,
      stopGraceMs: 300,
      backoff: { firstMs: 5, longestMs: 40 },
      log: () => {},
    })
    t.teardown(async () => {
      runner.stop()
      await runner.finished.catch(() => {})
      await service.stop()
    })
    service.offer(executionRequest('runreq_q'))
    t.same(await runner.finished, ['failed'])
    t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'exit_127', message: /not-there: not found/ })
  },
)
