/** The next step of a campaign or an initiative, decided by the agent of `intendant agent`. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { executionRequest } from '../stand-in.ts'
import { assertTidy, type Done, git, place, run, said, task } from './place.ts'

/** A request for the next step. */
const step = (entry_event: string, payload: object, more: object = { work_item_id: 'wi_1' }) =>
  executionRequest('runreq_1', { engine: { entry_event, throttle: 'full', access: 'read_only', payload }, ...more })

const formation = step('campaign_advance_requested', {
  campaign: 'pay',
  prompt: 'Decide.',
  gates: [
    { name: 'campaign_done_1', command: 'cat README', required: true },
    { name: 'campaign_done_2', command: 'cat README', required: true, artifacts: ['dist/invoice.js', 'README'] },
    { name: 'campaign_done_3', command: 'echo 2 tests failed; exit 4', required: false },
  ],
})

/** The Run Result, checked to be the last line after the session's start and end only. */
function concluded(t: Test, done: Done): Record<string, any> {
  const result = done.lines.at(-1)!
  t.equal(result.schema_version, 'intendant.run_result.v1')
  t.strictSame(
    done.lines.slice(0, -1).map(({ event_type }) => event_type),
    ['agent_session_started', 'agent_session_ended'],
  )
  return result
}

t.test("a campaign step runs the gates on trunk and reports their results with the agent's decision", async (t) => {
  const at = place(t)
  const decision = { decision: 'advance', reason: 'No {invoice} is sent.', objective: 'Send the invoice' }
  const AGENT = `cat > ../../../asked; touch junk; echo 'I {looked} at it:'; echo '${JSON.stringify(decision)} is it.'`
  const done = await run(at, formation, { AGENT })
  t.equal(done.code, 0, done.stderr)
  t.match(said(t, done, 'agent_session_started'), [{ capability: 'reasoning', access: 'read_only' }])
  const result = concluded(t, done)
  t.strictSame(result.decision, decision)
  t.equal(result.agent_provider, 'cat')
  t.strictSame(result.gate_results, [
    { name: 'campaign_done_1', command: 'cat README', required: true, passed: true, output: 'shop', exit_code: 0 },
    {
      name: 'campaign_done_2',
      command: 'cat README',
      required: true,
      passed: false,
      output: 'shop\ndist/invoice.js does not exist',
      exit_code: 0,
    },
    {
      name: 'campaign_done_3',
      command: 'echo 2 tests failed; exit 4',
      required: false,
      passed: false,
      output: '2 tests failed',
      exit_code: 4,
    },
  ])
  t.match(result.prompt, /^Decide\.[\s\S]*campaign_done_1 passes[\s\S]*campaign_done_3 fails:\n2 tests failed\n$/)
  t.equal(
    readFileSync(join(at.folder, 'asked'), 'utf8'),
    result.prompt,
    'the reported prompt is what the agent was shown',
  )
  t.equal(git(at.repository, 'branch', '--list'), '* main', 'a step leaves no branch')
  assertTidy(t, at)
})

t.test('gate output is reported as the ends of both streams, at most 200 lines each', async (t) => {
  const at = place(t)
  const lines = (what: string, n: number) => `i=0; while [ $i -lt ${n} ]; do i=$((i+1)); echo ${what} $i; done`
  const gate = (command: string) => ({ name: 'campaign_done_1', command, required: true })
  const outputs = async (...commands: string[]) => {
    const asked = step('campaign_advance_requested', { campaign: 'pay', prompt: 'Decide.', gates: commands.map(gate) })
    const { gate_results } = concluded(t, await run(at, asked, { AGENT: `echo '{"decision":"wait"}'` }))
    return gate_results.map(({ output }: { output: string }) => output)
  }
  const [chatty, quiet, silent] = await outputs(
    `${lines('out', 300)}; { ${lines('err', 300)}; } >&2`,
    'echo err >&2',
    'true',
  )
  const [out, err] = chatty.split('\n--- stderr ---\n').map((text: string) => text.split('\n'))
  for (const [said, what] of [
    [out, 'out'],
    [err, 'err'],
  ])
    t.match([said.length, said[0], said.at(-1)], [200, `${what} 101`, `${what} 300`])
  t.same([quiet, silent], ['--- stderr ---\nerr', ''])
  const wide = 'head -c 30000 /dev/zero | tr "\\0" x'
  const [long, short] = await outputs(`echo failed here; ${wide} >&2`, `${wide}; ${wide} >&2`)
  t.match(long, /^failed here\n--- stderr ---\nx{15989}$/)
  t.match(short, /^x{8000}\n--- stderr ---\nx{8000}$/)
  const denied = await run(at, task(), { AGENT: 'true', GATE: `echo 1 test failed; ${wide} >&2; false` })
  t.match(said(t, denied, 'task_run_completed'), [{ diagnosis: /^1 test failed\n--- stderr ---\nx+$/ }])
})

t.test("an initiative step takes the answer in plain form or wrapped in a coding agent's result", async (t) => {
  const at = place(t)
  const decision = { decision: 'wait', reason: 'Nothing is to be done.' }
  const answer = JSON.stringify({ decision, agent_provider: 'me' })
  const asked = step('initiative_advance_requested', { initiative: 'invoices', prompt: 'Steer.' })
  const plain = concluded(t, await run(at, asked, { AGENT: `echo '${answer}'` }))
  t.strictSame([plain.decision, plain.gate_results, plain.prompt], [decision, [], 'Steer.'])
  const wrapped = JSON.stringify({ result: `It is:\n${answer}`, total_cost_usd: 0.5 })
  const done = await run(at, asked, { AGENT: `printf '%s' '${wrapped}'` })
  t.strictSame(concluded(t, done).decision, decision)
  t.match(said(t, done, 'agent_session_ended'), [{ cost: { USD: 0.5 } }])
})

t.test('a decision is found among other braces, and a question only at the end of the answer', async (t) => {
  const at = place(t)
  const decision = { decision: 'advance', reason: 'The {name} in "{x" is not filled.' }
  const AGENT = `cat <<'END'\nI looked { at it.\n${JSON.stringify({ decision })}\nThe template {name} is next }.\nEND`
  t.strictSame(concluded(t, await run(at, formation, { AGENT })).decision, decision)
  const asks = `echo '{"question":"Net or gross?"} is answered in {x}'`
  t.match(said(t, await run(at, task(), { AGENT: asks }), 'task_run_completed'), [{ verdict: 'complete' }])
})

t.test(
  'an answer without a decision is reported as an error, and an agent that fails or is missing fails the run',
  async (t) => {
    const at = place(t)
    const vague = await run(at, formation, { AGENT: 'echo "{I} do not know"' })
    t.equal(vague.code, 0)
    t.match(concluded(t, vague), { decision: undefined, errors: [/do not know/], gate_results: [{}, {}, {}] })
    const failed = await run(at, formation, { AGENT: `echo out of credit; echo '{"decision":"done"}' >&2; exit 9` })
    t.equal(failed.code, 1)
    t.match(concluded(t, failed), {
      failure: { class: 'execution', code: 'agent_failed', message: /9: out of credit/ },
    })
    const absent = await run(at, formation, { AGENT: 'no-such-agent' })
    t.equal(absent.code, 1)
    t.match(concluded(t, absent), {
      failure: { class: 'dispatch', code: 'agent_missing', message: /no-such-agent/ },
    })
    assertTidy(t, at)
  },
)

t.test('only the program name of AGENT is reported, not its arguments or variables', async (t) => {
  const at = place(t)
  const bin = join(at.folder, 'bin dir')
  const absent = 'claudex -p --token t0ps3cret'
  const names: [command: string, name: string][] = [
    [`KEY=s3cret ${absent}`, 'claudex'],
    [`KEY='s3 cret' OTHER="s3 \\" cret" THIRD=$(echo s3cret) ${absent}`, 'claudex'],
    [`/opt/agents/${absent}`, 'claudex'],
    [`env KEY=s3cret ${absent}`, 'env'],
    [`(KEY=s3cret ${absent})`, 'agent'],
    [`'${bin}/${absent}'`, 'bin'],
  ]
  for (const [i, [AGENT, agent_type]] of names.entries()) {
    const done = await run(at, { ...task(), attempt: i + 1 }, { AGENT })
    t.match(said(t, done, 'agent_session_started'), [{ agent_type }], AGENT)
    t.match(said(t, done, 'agent_session_ended'), [{ error: `${agent_type} could not be run` }])
    if (i < 5) t.notMatch(JSON.stringify(done.lines), /s3.?cret|t0ps3cret/)
  }
  const step = await run(at, formation, { AGENT: `KEY=s3cret echo '{"decision":"wait"}'` })
  t.equal(concluded(t, step).agent_provider, 'echo')
})

t.test('a campaign or initiative step without a work item is refused, and its gates are not run', async (t) => {
  const at = place(t)
  const gates = [{ name: 'mine', command: 'touch ../../../ran', required: true }]
  for (const entry_event of ['campaign_advance_requested', 'initiative_advance_requested']) {
    const done = await run(at, step(entry_event, { prompt: 'Decide.', gates }, {}), { AGENT: 'touch ../../../ran' })
    t.equal(done.code, 1)
    t.match(done.lines, [{ failure: { code: 'unsupported_entry_event', message: /campaign or initiative/ } }])
    t.notOk(existsSync(join(at.folder, 'ran')))
  }
})
