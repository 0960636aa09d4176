/** Faults of a runner's own machine are reported at once with their cause, and do not drain the queue into failures. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { digestOf } from '../../machines/digest.ts'
import { until } from '../until.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

/** The longest path of a file on Linux, without its terminator (limits.h, PATH_MAX). */
const PATH_CHARS_MAX = 4_095

const PROMPTS = { template_version: '1', prompts: [{ phase: 'execution', prompt_text: 'Do it.' }] }
const SNAPSHOT = { mission: { objective: 'be kind' }, prompt_pack: { digest: digestOf(PROMPTS) } }
const BRIEF = { digest: digestOf(SNAPSHOT), snapshot: SNAPSHOT, prompt_pack: { digest: digestOf(PROMPTS), ...PROMPTS } }

/** Sets TMPDIR, where briefs are written, until the test ends. */
function laidDownIn(test: Test, folder: string): void {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  test.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
}

t.test('a command that cannot be started fails its run with the cause', async (t) => {
  const file = join(t.testdir({ file: '' }), 'file')
  const task = { entry_event: 'execution_requested', throttle: 'full', payload: {} }
  // Node.js throws one of these faults, and reports the other by an event.
  for (const [cwd, cause] of [
    [file, /ENOTDIR in /],
    [join(t.testdirName, 'none'), /ENOENT in /],
  ] as const) {
    const { service, runner } = await hired(t, 'echo never', { cwd })
    service.offer(executionRequest('runreq_c', { engine: task }))
    t.same(await runner.finished, ['failed'])
    t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'command_not_started', message: cause })
    t.match(service.events()[0].payload, { verdict: 'runner_error', failure_code: 'command_not_started' })
  }
})

t.test('a runner whose runs cannot start pauses ever longer between them, until one starts', async (t) => {
  const folder = join(t.testdir(), 'late')
  const { service, runner, logs } = await hired(t, 'echo up', { once: false, capacity: 1, cwd: folder })
  const offered = async (n: number, end: string): Promise<number> => {
    service.offer(executionRequest(`runreq_${n}`))
    await service.until(({ path, verb }) => path.includes(`runreq_${n}/`) && verb === end)
    return performance.now()
  }
  const firstMs = await offered(1, 'failed')
  const secondMs = await offered(2, 'failed')
  t.ok(secondMs - firstMs > 900, `${secondMs - firstMs} ms`)
  mkdirSync(folder)
  t.ok((await offered(3, 'completed')) - secondMs > 1_900)
  rmdirSync(folder)
  await offered(4, 'failed')
  runner.drain()
  t.same(await runner.finished, ['failed', 'failed', 'completed', 'failed'])
  const rests = logs.flatMap((line) => /could not begin (\d) run.* for (\d) s/.exec(line)?.slice(1) ?? [])
  t.same(rests, ['1', '1', '2', '2', '1', '1'])
})

t.test('commands that report a dispatch failure and malformed offers slow the runner down', async (t) => {
  const says = `echo '{"schema_version":"intendant.run_result.v1","failure":{"class":"dispatch","code":"not_configured"}}'`
  const newer = { schema_version: 'intendant.execution_request.v2' }
  for (const [command, offer, code] of [
    [`${says}; exit 1`, {}, 'not_configured'],
    ['echo never', newer, 'unsupported_schema_version'],
    ['echo never', { project: {} }, 'malformed_execution_request'],
  ] as const) {
    const { service, runner, logs } = await hired(t, command, { once: false, capacity: 1 })
    for (let n = 0; n < 25; n++) service.offer(executionRequest(`runreq_${n}`, offer))
    await service.until(({ path, verb }) => path.includes('runreq_1/') && verb === 'failed')
    runner.drain()
    t.same(await runner.finished, ['failed', 'failed'], code)
    t.match(service.said('failed')[1]!.body, { class: 'dispatch', code })
    const rests = logs.flatMap((line) => /could not begin (\d) run.* for (\d) s/.exec(line)?.slice(1) ?? [])
    t.same(rests, ['1', '1', '2', '2'], code)
  }
})

t.test('a brief that cannot be written to disk fails its run with the cause', async (t) => {
  laidDownIn(t, join(t.testdir(), 'none'))
  const { service, runner } = await hired(t, 'echo never')
  service.brief = BRIEF
  service.offer(executionRequest('runreq_b', { brief: { id: 'brief_1', digest: BRIEF.digest } }))
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, { class: 'execution', code: 'brief_not_laid_down', message: /ENOENT/ })
  t.equal(service.said('started').length, 0)
})

t.test('a brief that was only partly written leaves no files', async (t) => {
  // The path of the brief fits, that of its prompt does not.
  const room = PATH_CHARS_MAX - '/intendant-brief-XXXXXX/prompts/abc'.length
  let folder = t.testdir()
  while (room - folder.length > 1) folder += `/${'d'.repeat(Math.min(200, room - folder.length - 1))}`
  mkdirSync(folder, { recursive: true })
  laidDownIn(t, folder)
  const { service, runner } = await hired(t, 'echo never')
  service.brief = BRIEF
  service.offer(executionRequest('runreq_p', { brief: { id: 'brief_1', digest: BRIEF.digest } }))
  t.same(await runner.finished, ['failed'])
  t.match(service.said('failed')[0]!.body, { code: 'brief_not_laid_down', message: /ENAMETOOLONG/ })
  t.same(readdirSync(folder), [])
})

t.test('brief files that cannot be removed are logged, and the run is unaffected', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'intendant-test-'))
  t.teardown(() => execFileSync('rm', ['-rf', folder]))
  laidDownIn(t, folder)
  // Deeper than any path may be long: only a program that descends step by step can remove it.
  const dig = `for (let i = 0; i < 25; i++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)) }`
  const { service, runner, logs } = await hired(t, `cd "$INTENDANT_PROMPTS_DIR" && node -e "${dig}"`)
  service.brief = BRIEF
  service.offer(executionRequest('runreq_r', { brief: { id: 'brief_1', digest: BRIEF.digest } }))
  t.same(await runner.finished, ['completed'])
  t.match(
    await until(
      async () => logs.join('\n'),
      (text) => text.includes('remain'),
    ),
    /the brief's files remain: .*ENAMETOOLONG/,
  )
})
