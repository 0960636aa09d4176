import t from 'tap'
import { cli, cliOn, service } from './in-process.ts'

const ID = 'runreq_0a1b2c3d4e5f60718293a4b5'
const RUN = { id: ID, state: 'started', project: 'demo', throttle: 'dry_run', access: 'full' }

const output = (text: string, stream = 'stdout') => ({ event_type: 'run_output', payload: { stream, text } })
const event = (event_type: string) => ({ event_type, payload: {}, run_request_id: ID })

/**
 * A run request that goes through these states; its output in pages, `late` being what comes after them; and the events
 * that Watch sends.
 */
function run(
  states: readonly object[],
  pages: readonly (readonly object[])[],
  { watched = [] as readonly object[], late = [] as readonly object[] } = {},
) {
  let reads = 0
  return ({ url }: { url: string }): readonly [number, unknown, Record<string, string>?] => {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (pathname.startsWith('/api/run-requests/')) return [200, states[Math.min(reads++, states.length - 1)]]
    if (pathname === '/api/watch')
      return [200, `data: ${JSON.stringify({ type: 'events', cursor: 'e.9', events: watched })}\n\n`]
    const page = Number(/\d+$/.exec(searchParams.get('cursor') ?? 'e.0')![0])
    const next = page + 1 < pages.length ? { next_cursor: `e.${page + 1}` } : {}
    return [200, { items: pages[page] ?? late, ...next }, { 'watch-cursor': `e.${page + 1}` }]
  }
}

t.test('run-request log prints all pages of the output unchanged', async (t) => {
  const pages = [[output('  one\n\ttw'), output('o\n')], [output('\u001b[31mthree\u001b[0m\u0007\n', 'stderr')]]
  const { env, asked } = await service(t, run([RUN], pages))
  const { code, out, err } = await cli(env, 'run-request', 'log', ID)
  t.equal(code, 0)
  t.equal(out, '  one\n\ttwo\n\u001b[31mthree\u001b[0m\u0007\n')
  t.equal(err, '')
  t.match(asked.at(-1)!.url, `run_request_id=${ID}&event_type=run_output`)
  const shown = await cliOn({ isTTY: true, columns: 40 }, env, 'run-request', 'log', ID)
  t.equal(shown.out, '  one\n\ttwo\nthree \n', 'control characters are removed on a terminal')
  const json = await cli(env, 'run-request', 'log', ID, '--json')
  t.same(
    json.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    pages.flat(),
  )
})

t.test('a last line without a newline is printed as it is, and ended only on a terminal', async (t) => {
  const { env } = await service(t, run([RUN], [[output('one\n'), output('Go on? ')]]))
  t.equal((await cli(env, 'run-request', 'log', ID)).out, 'one\nGo on? ')
  t.equal((await cliOn({ isTTY: true, columns: 40 }, env, 'run-request', 'log', ID)).out, 'one\nGo on? \n')
})

t.test('run-request log of an unknown run request exits with 3', async (t) => {
  const { env, asked } = await service(t, () => [404, { status: 404, code: 'not_found', detail: 'There is none.' }])
  const { code, err } = await cli(env, 'run-request', 'log', ID)
  t.equal(code, 3)
  t.match(err, 'There is none.')
  t.equal(asked.length, 1)
})

for (const [state, code] of [
  ['completed', 0],
  ['failed', 1],
  ['cancelled', 5],
] as const)
  t.test(`log --follow continues until the run is ${state}, and exits accordingly`, async (t) => {
    const failure = { class: 'execution', code: 'exit_7', message: 'no luck' }
    const settled = { ...RUN, state, ...(state === 'failed' ? { failure } : {}) }
    const watched = [output('two\n'), event('greeting_composed'), output('three\n'), event(`run_request_${state}`)]
    const { env, asked } = await service(t, run([RUN, RUN, RUN, settled], [[output('one\n')]], { watched }))
    const ended = await cli(env, 'run-request', 'log', ID, '--follow')
    t.equal(ended.code, code)
    t.equal(ended.out, 'one\ntwo\nthree\n')
    t.match(ended.err, state === 'failed' ? `${ID} failed: execution, exit_7: no luck\n` : `${ID} ${state}\n`)
    t.match(asked.find(({ url }) => url.startsWith('/api/watch'))!.url, 'since=e.1')
  })

t.test('log --follow of a run that has settled meanwhile prints the rest and does not wait', async (t) => {
  const settled = { ...RUN, state: 'completed' }
  const { env, asked } = await service(t, run([RUN, settled], [[output('one\n')]], { late: [output('two\n')] }))
  const { code, out } = await cli(env, 'run-request', 'log', ID, '--follow')
  t.equal(code, 0)
  t.equal(out, 'one\ntwo\n')
  t.match(asked.at(-1)!.url, /cursor=e\.1/)
  t.notOk(asked.some(({ url }) => url.startsWith('/api/watch')))
})
