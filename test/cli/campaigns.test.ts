import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { NOWHERE } from '../nowhere.ts'
import { until } from '../until.ts'
import { cli, cliOn, service } from './in-process.ts'
import { serve } from './processes.ts'

const ITEM_ID = 'wi_0a1b2c3d4e5f60718293a4b5'
const CAMPAIGN = {
  name: 'pay',
  project: 'shop',
  status: 'active',
  reason: 'cycle 1: no invoice is sent yet',
  since: '2030-01-01T00:00:00Z',
  stage: 'cycle',
  work: {
    role: 'cycle',
    item_id: ITEM_ID,
    since: '2030-01-01T00:00:00Z',
    cycle: 1,
    objective: 'Send\u001b[31m the invoice',
    state: 'queued',
    reason: 'lane campaign is paused',
  },
  mission: 'Let customers pay by invoice',
  done_evidence: [
    { name: 'campaign_done_1', kind: 'gate', command: 'npm test' },
    { name: 'campaign_done_2', kind: 'review', statement: 'It can be chosen.' },
  ],
  gate_results: [{ name: 'campaign_done_1', passed: false }],
  budget: { max_cycles: 10, remaining: 9 },
  cycles_completed: 1,
  cycles_landed: 0,
  authorized_by: 'ada',
  added_by: { id: 'tok_1', name: 'ada' },
  objective_history: [{ cycle: 1, objective: 'Send the invoice', outcome: { item_id: ITEM_ID } }],
  owner_decisions: [{ decision: 'Gross.', authorized_by: 'ada', decided_at: '2030-01-01T00:00:00Z' }],
  trace_id: 'a'.repeat(32),
  created_at: '2030-01-01T00:00:00Z',
}
const ESCALATED = {
  ...CAMPAIGN,
  name: 'till',
  status: 'escalated',
  stage: 'idle',
  work: undefined,
  reason: 'the price',
}

t.test('campaign show marks its objectives as the last ones if there were more cycles', async (t) => {
  const entry = (cycle: number) => ({ cycle, objective: `Do ${cycle}`, outcome: { item_id: ITEM_ID, state: 'landed' } })
  const campaign = { ...CAMPAIGN, objective_history: [2, 3].map(entry) }
  const { env } = await service(t, ({ url }) => [200, url.startsWith('/api/events') ? { items: [] } : campaign])
  t.match((await cli(env, 'campaign', 'show', 'pay')).out, '\nObjectives (the last 2)\n')
  const all = await service(t, ({ url }) => [200, url.startsWith('/api/events') ? { items: [] } : CAMPAIGN])
  t.match((await cli(all.env, 'campaign', 'show', 'pay')).out, '\nObjectives\n')
})

t.test("campaign show suggests the commands that fit the campaign's status, question and budget", async (t) => {
  const adviceOf = async (more: object) => {
    const campaign = { ...ESCALATED, ...more }
    const { env } = await service(t, ({ url }) => [200, url.startsWith('/api/events') ? { items: [] } : campaign])
    const { out } = await cli(env, 'campaign', 'show', 'till')
    return out.split('\n').filter((line) => line.startsWith('intendant campaign '))
  }
  const of = (move: string) => `intendant campaign ${move}`
  const [decide, resume, more] = ['decide till --decision TEXT', 'resume till', 'resume till --add-cycles N'].map(of)
  const complete = of('complete till --reason TEXT')
  const question = { finding: 'Net or gross?', options: ['net', 'gross'] }
  const spent = { budget: { max_cycles: 10, remaining: 0 } }
  const paused = { status: 'paused', paused: { by: 'owner', escalated: 'the price' } }
  t.same(await adviceOf({}), [decide, resume, complete])
  t.same(await adviceOf({ question, ...spent }), [decide])
  t.same(await adviceOf(spent), [more, complete])
  t.same(await adviceOf({ ...paused, question, ...spent }), [resume, decide])
  t.same(await adviceOf({ ...paused, ...spent }), [more, complete])
  t.same(await adviceOf({ status: 'paused', paused: { by: 'owner' }, ...spent }), [more])
  t.same(await adviceOf({ status: 'paused', paused: { by: 'provider', until: '2031-01-01T00:00:00Z' } }), [])
  t.same(await adviceOf({ status: 'staged' }), [of('advance till')])
})

t.test('campaign list shows the current stage of each campaign, on wide and narrow terminals', async (t) => {
  const { env } = await service(t, () => [200, { items: [CAMPAIGN, ESCALATED] }])
  const { out } = await cli(env, 'campaign')
  t.match(out, /CAMPAIGN +STATUS +PROJECT +CYCLES +FOR +NOW +WHY/)
  t.match(
    out,
    /pay +active +shop +1\/10 +\S+ +cycle 1, queued +lane campaign is paused; cycle 1: no invoice is sent yet/,
  )
  const limited = {
    ...CAMPAIGN,
    status: 'paused',
    stage: 'idle',
    reason: 'its provider is unavailable',
    work: undefined,
  }
  const until = '2030-01-01T00:00:00Z'
  const paused = await service(t, () => [200, { items: [{ ...limited, paused: { by: 'provider', until } }] }])
  t.match((await cli(paused.env, 'campaign')).out, `idle  its provider is unavailable; continues at ${until}`)
  const narrow = await cliOn({ isTTY: true, columns: 50 }, { ...env, NO_COLOR: '1' }, 'campaign', 'list')
  for (const line of narrow.out.split('\n')) t.ok(line.length <= 50, line)
  t.match(narrow.out, /escalated till {2}idle\n {2}shop {2}1\/10/)
  t.match((await cliOn({ isTTY: true, columns: 140 }, env, 'campaign')).out, '\u001b[31mescalated')
  t.equal(JSON.parse((await cli(env, 'campaign', '--json')).out).length, 2)
})

t.test('campaign show lists the current work, why it waits, evidence, decisions and next commands', async (t) => {
  const { env } = await service(t, ({ url }) => [200, url.includes('/events') ? { items: [] } : CAMPAIGN])
  const { out } = await cli(env, 'campaign', 'show', 'pay')
  for (const words of [/state +queued/, /why +lane campaign is paused/, /campaign_done_1 +failed +npm test/, /Gross\./])
    t.match(out, words)
  t.notMatch(out, '\u001b', 'control characters are removed')
  const escalated = await service(t, ({ url }) => [200, url.includes('/events') ? { items: [] } : ESCALATED])
  t.match((await cli(escalated.env, 'campaign', 'show', 'till')).out, 'intendant campaign decide till --decision TEXT')
})

t.test('attention shows for each entry its reason, its question or subject, and the next commands', async (t) => {
  const since = '2030-01-01T00:00:00Z'
  const lost = { id: 'runreq_1', entry_event: 'campaign_advance_requested', payload: { campaign: 'pay', prompt: 'x' } }
  const failed = {
    id: ITEM_ID,
    state: 'failed',
    objective: 'Send the invoice',
    reason: 'run failed: no\u001b[31m disk',
  }
  const kept = {
    id: ITEM_ID,
    state: 'preserved',
    objective: 'Send it',
    reason: 'x',
    disposition: { preservation_ref: 'a' },
  }
  const items = [
    { kind: 'run_request', reason: 'lost', project: 'shop', since, run_request: lost },
    { kind: 'campaign', reason: 'escalated', project: 'shop', since, campaign: ESCALATED },
    { kind: 'work_item', reason: 'failed', project: 'shop', since, work_item: failed },
    { kind: 'work_item', reason: 'preserved', project: 'shop', since, work_item: kept },
  ]
  const { env } = await service(t, () => [200, { items }])
  const { out } = await cli(env, 'attention')
  t.match(out, /lost +runreq_1 +shop +\S+ +campaign_advance_requested of pay +intendant/)
  t.match(out, /escalated +till +shop +\S+ +the price +intendant campaign decide till/)
  t.match(
    out,
    /failed +wi_\w+ +shop +\S+ +Send the invoice: run failed: no\W+\[31m disk +intendant queue retry wi_\w+, or intendant queue close/,
  )
  t.match(out, /preserved .*intendant queue resume wi_\w+, or intendant queue close/)
  t.notMatch(out, '\u001b', 'control characters are removed')
  items.push({ ...items.pop()!, work_item: { ...kept, built_upon_by: 'pay' } } as never)
  const builtUpon = (await cli(env, 'attention')).out
  t.match(builtUpon, /campaign pay builds upon it: intendant campaign show pay, or intendant queue close/)
  t.notMatch(builtUpon, 'queue resume', 'resuming it would do the work twice')
  for (const state of ['failed', 'needs_decision']) {
    const cycle = { kind: 'campaign', ref: 'pay', role: 'cycle', cycle: 2 }
    const open = { ...kept, state, started_at: since, source: cycle, built_upon_by: 'pay' }
    items.push({ ...items.pop()!, reason: state, work_item: open } as never)
    t.match((await cli(env, 'attention')).out, /campaign pay builds upon it: .*, or intendant queue close/, state)
  }
})

t.test('each campaign command posts to its endpoint with its origin', async (t) => {
  const { env, asked } = await service(t, () => [200, CAMPAIGN])
  const origin = `${hostname().slice(0, 64)} by hand`
  const run = async (...argv: string[]) => {
    t.equal((await cli(env, 'campaign', ...argv, '--origin', 'by hand')).code, 0, argv.join(' '))
    const { method, url, body } = asked.at(-1)!
    return [method, url, body]
  }
  const at = (move: string) => `/api/campaigns/pay/${move}`
  t.same(await run('advance', 'pay'), ['POST', at('advance'), { origin }])
  t.same(await run('pause', 'pay', '--reason', 'x'), ['POST', at('pause'), { reason: 'x', origin }])
  t.same(await run('resume', 'pay', '--add-cycles', '3'), ['POST', at('resume'), { add_cycles: 3, origin }])
  const base = { from_trunk: true, origin }
  t.same(await run('resume', 'pay', '--from-trunk'), ['POST', at('resume'), base])
  const decision = ['--decision', 'x', '--from-trunk']
  t.same(await run('decide', 'pay', ...decision), ['POST', at('decide'), { decision: 'x', ...base }])
  t.same(await run('decide', 'pay', '--decision', 'x'), ['POST', at('decide'), { decision: 'x', origin }])
  t.same(await run('complete', 'pay', '--reason', 'x'), ['POST', at('complete'), { reason: 'x', origin }])
  const cancel = { reason: 'x', now: true, discard_work: true, origin }
  t.same(await run('cancel', 'pay', '--reason', 'x', '--now', '--discard'), ['POST', at('cancel'), cancel])
  t.equal((await cli(env, 'campaign', 'cancel', 'pay')).code, 2, 'a reason is required')
  t.equal((await cli(env, 'campaign', 'decide', 'pay')).code, 2)
})

t.test('campaign add takes a file and options over it, and refuses a file without a JSON object', async (t) => {
  const { env, asked } = await service(t, () => [201, { ...CAMPAIGN, status: 'staged', needs: 'advance it' }])
  const file = join(t.testdir(), 'pay.json')
  writeFileSync(file, JSON.stringify({ name: 'pay', mission: 'x', done_evidence: [{ kind: 'gate', command: 'a' }] }))
  const options = [
    '--project',
    'shop',
    '--gate',
    'npm test, twice',
    '--review',
    'y',
    '--max-cycles',
    '3',
    '--unauthorized',
  ]
  const { out } = await cli(env, 'campaign', 'add', file, ...options)
  t.match(out, 'intendant campaign advance pay')
  const { origin, ...body } = asked.at(-1)!.body
  t.equal(origin, hostname().slice(0, 64))
  t.same(body, {
    name: 'pay',
    mission: 'x',
    project: 'shop',
    done_evidence: [
      { kind: 'gate', command: 'a' },
      { kind: 'gate', command: 'npm test, twice' },
      { kind: 'review', statement: 'y' },
    ],
    budget: { max_cycles: 3 },
    authorized_by: null,
  })
  writeFileSync(file, '{"name":"pay","done_evidence":{"gate":"npm test"}}')
  await cli(env, 'campaign', 'add', file, '--gate', 'a')
  t.same(asked.at(-1)!.body.done_evidence, { gate: 'npm test' }, 'the service judges the definition')
  writeFileSync(file, '[]')
  const list = await cli(env, 'campaign', 'add', file)
  t.equal(list.code, 2)
  t.match(list.err, `${file} does not hold a JSON object. See campaign add --help for its form.`)
  writeFileSync(file, '{')
  const cut = await cli(env, 'campaign', 'add', file)
  t.equal(cut.code, 2)
  t.match(cut.err, `${file} is not JSON`)
  const missing = await cli(env, 'campaign', 'add', NOWHERE)
  t.equal(missing.code, 2)
  t.match(missing.err, `${NOWHERE} cannot be read: ENOTDIR`)
})

/**
 * Plays both roles: the formation agent, which wants two tasks and then finds the mission done, and the agent of tasks.
 */
const AGENT = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
const { engine } = JSON.parse(readFileSync(0, 'utf8'))
const say = (document) => console.log(JSON.stringify(document))
if (engine.entry_event === 'execution_requested') {
  const { objective, campaign, campaign_cycle } = engine.payload
  writeFileSync(\`trunk-\${campaign_cycle}\`, objective)
  say({ event_type: 'task_run_completed', payload: { project: 'shop', success: true, landed: true,
    summary: objective + ' is there', verdict: 'complete', preservation_ref: 'abc' + campaign_cycle, campaign, campaign_cycle } })
} else {
  const done = [1, 2].every((n) => existsSync(\`trunk-\${n}\`))
  const gate_results = engine.payload.gates.map((gate) => ({ ...gate, passed: done, output: '', exit_code: done ? 0 : 1 }))
  const next = existsSync('trunk-1') ? 'Add receipts' : 'Add invoices'
  const decision = done ? { decision: 'done', reason: 'both are there' } : { decision: 'advance', reason: 'a gap', objective: next }
  say({ schema_version: 'intendant.run_result.v1', decision, gate_results, agent_provider: 'scripted', prompt: engine.payload.prompt })
}
`

t.test('the bundled runner works a campaign through two cycles to its completion', async (t) => {
  const folder = t.testdir({ trunk: { 'agent.mjs': AGENT }, home: {} })
  const script = `cd ${folder}/trunk && ${process.execPath} agent.mjs`
  const s = await serve(t, join(folder, 'home'), '--runner', 'local', '--exec', script)
  const ok = async (...argv: string[]) => {
    const { code, out, err } = await s.cli(...argv)
    t.equal(code, 0, `${argv.join(' ')}: ${err}`)
    return out
  }
  await ok('project', 'add', '--name', 'Shop')
  await ok('pacing', 'pause', '--lane', 'campaign')
  const added = ['--project', 'shop', '--name', 'pay', '--mission', 'Let customers pay', '--gate', 'npm test']
  t.match(await ok('campaign', 'add', ...added), /pay is staged: added by admin/)
  t.match(await ok('campaign', 'advance', 'pay'), /pay is staged: its next step is being formed/)
  const shown = await until(
    () => ok('queue'),
    (out) => /lane campaign is paused/.test(out),
  )
  t.match(shown, /1 waiting.*paused: campaign/)
  t.match(shown, /Form the next step of campaign pay/)
  t.match(shown, /Campaigns\n.*\npay +staged +shop +0\/20/)
  await ok('pacing', 'resume')
  const completed = await until(
    async () => JSON.parse(await ok('campaign', 'show', 'pay', '--json')),
    ({ status }) => status === 'completed' || status === 'escalated',
  )
  t.match(completed, {
    status: 'completed',
    reason: 'done: both are there',
    cycles_completed: 2,
    cycles_landed: 2,
    objective_history: [
      { cycle: 1, objective: 'Add invoices', outcome: { state: 'landed', landed: true } },
      { cycle: 2, objective: 'Add receipts', outcome: { state: 'landed', landed: true } },
    ],
  })
  const types = completed.events.map(({ event_type }: any) => event_type.replace('campaign_', ''))
  const round = ['advance_requested', 'advance_completed']
  t.same(types, ['added', ...round, ...round, ...round, 'completed'])
  t.match(await ok('queue'), /pay 2: Add receipts/)
  const verified = await s.end('SIGTERM').then(() => s.cli('verify'))
  t.equal(verified.code, 0, verified.out + verified.err)
})
