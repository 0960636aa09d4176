import t from 'tap'
import { cli, service } from './in-process.ts'

const AT = '2030-01-01T00:00:00Z'
const RUNNING = {
  session_id: '6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b',
  project: 'shop',
  state: 'started',
  runner_id: 'build-1',
  work_item_id: `wi_${'1'.repeat(24)}`,
  started_at: AT,
  recorded_at: AT,
  bytes_written: 4096,
  last_output_at: AT,
}
const ENDED = {
  session_id: 'other',
  project: 'shop',
  state: 'ended',
  status: 'interrupted',
  recorded_at: AT,
  ended_at: AT,
  bytes_written: 0,
  error: 'daemon restarted\u001b[2J',
  tokens: { 'model-a': { input: 120000, output: 42 } },
  cost: { USD: 1.5 },
  cost_basis: 'list',
}

t.test('session list shows running and ended sessions, and sends the given filters', async (t) => {
  const { env, asked } = await service(t, () => [200, { items: [RUNNING, ENDED] }])
  const { code, out } = await cli(env, 'session', 'list', '--running', '--item', RUNNING.work_item_id)
  t.equal(code, 0)
  t.match(out, /SESSION +STATE +PROJECT/)
  t.match(out, /6f1c2a34-5b7d-4e8f-9a0b-1c2d3e4f5a6b +started +shop +build-1 .*ago, 4 KiB +wi_1/)
  t.match(out, /other +interrupted/)
  t.match(asked[0]!.url, /state=started&work_item=wi_1+/)
  t.strictSame(JSON.parse((await cli(env, 'session', 'list', '--json')).out), [RUNNING, ENDED])
})

t.test('session show prints everything known, without control characters', async (t) => {
  const { env, asked } = await service(t, () => [200, ENDED])
  const { out } = await cli(env, 'session', 'show', 'other')
  t.equal(asked[0]!.url, '/api/agent-sessions/other')
  t.match(out, /state +interrupted/)
  t.match(out, /tokens +model-a: 120,000 input, 42 output/)
  t.match(out, /cost +1\.50 USD \(list\)/)
  t.notMatch(out, '\u001b')
  t.strictSame(JSON.parse((await cli(env, 'session', 'show', 'other', '--json')).out), ENDED)
})

t.test('project show distinguishes unknown usage from none', async (t) => {
  const project = { key: 'shop', id: 'proj_1', name: 'Shop', state: 'active', created_at: AT }
  const shown = async (usage?: object) => {
    const { env } = await service(t, () => [200, { ...project, ...(usage === undefined ? {} : { usage }) }])
    return (await cli(env, 'project', 'show', 'shop')).out
  }
  t.notMatch(await shown(), 'sessions')
  const unknown = await shown({ sessions: 3, measured: 0, priced: 0 })
  t.match(unknown, /sessions +3 ended\ntokens +not measured\ncost +unknown/)
  const partly = await shown({ sessions: 3, measured: 2, priced: 3, tokens: { a: { input: 5 } }, cost: { USD: 0.002 } })
  t.match(partly, /tokens +a: 5 input \(unknown for 1 more\)\ncost +0\.002 USD\n/)
})
