/** A single task of `intendant agent`: what is kept of it, and what is reported. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { validatePayload } from '../../../machines/events/index.ts'
import { hired } from '../hired.ts'
import { executionRequest } from '../stand-in.ts'
import {
  assertTidy,
  BRANCH,
  COMMAND,
  elsewhere,
  git,
  landing,
  place,
  remoteOf,
  run,
  said,
  stoppedOnceBegun,
  task,
  WHO,
} from './place.ts'

/** The prompt of a brief, and what every agent that changes something is told. */
const BRIEFED = /^# Do it\n\nDo not use `git stash`: other agents may .* all share one stash.$/

t.test('without LAND the changes of the agent are kept on a branch, complete if they pass the gate', async (t) => {
  const at = place(t)
  const done = await run(at, task(), {
    AGENT: 'cat > asked; echo "I said hello"',
    GATE: 'test -f asked && test -f README',
  })
  t.equal(done.code, 0, done.stderr)
  const [started] = said(t, done, 'agent_session_started')
  const [ended] = said(t, done, 'agent_session_ended')
  t.match(started, { agent_type: 'cat', project: 'demo', access: 'full', capability: 'coding' })
  t.match(ended, { session_id: started!.session_id, status: 'ok', exit_code: 0, bytes_written: 13 })
  t.equal(readFileSync(started!.source_log_path, 'utf8'), 'I said hello\n')
  t.strictSame(said(t, done, 'task_run_completed'), [
    {
      project: 'demo',
      success: false,
      landed: false,
      summary: `I said hello\n(kept on ${BRANCH}, since LAND names no branch to land it on)`,
      verdict: 'complete',
      preservation_ref: BRANCH,
      land_blocked: 'checkout_not_ready',
      workspace_base: { commit: at.base, trunk: at.base },
    },
  ])
  t.match(git(at.repository, 'show', `${BRANCH}:asked`), /^Say hello\nto everyone\n\n[\s\S]*"question"/)
  t.match(git(at.repository, 'log', '-1', '--format=%s|%b', BRANCH), /^Say hello\|Intendant-Request: runreq_1/)
  assertTidy(t, at)
})

t.test("work that fails the gate is kept and reported as a defect with the gate's output", async (t) => {
  const at = place(t)
  const done = await run(at, task({ campaign: 'tidy', campaign_cycle: 3 }), {
    AGENT: 'echo x > y',
    GATE: 'echo 2 tests failed; exit 4',
  })
  t.equal(done.code, 0)
  t.match(said(t, done, 'task_run_completed'), [
    {
      success: false,
      verdict: 'defect',
      diagnosis: '2 tests failed',
      preservation_ref: BRANCH,
      campaign: 'tidy',
      campaign_cycle: 3,
    },
  ])
  assertTidy(t, at)
})

t.test(
  'an agent that fails is a runner_error with its work kept, and one that is missing a dispatch failure',
  async (t) => {
    const at = place(t)
    const failed = await run(at, task(), { AGENT: 'echo half > half; echo out of credit; exit 9', GATE: 'true' })
    t.equal(failed.code, 1)
    t.match(said(t, failed, 'agent_session_ended'), [{ status: 'agent_failed', exit_code: 9 }])
    t.match(said(t, failed, 'task_run_completed'), [
      { verdict: 'runner_error', detail: /exit code 9: out of credit/, preservation_ref: BRANCH },
    ])
    t.equal(git(at.repository, 'show', `${BRANCH}:half`), 'half')
    const absent = await run(at, { ...task(), attempt: 2 }, { AGENT: 'no-such-agent' })
    t.equal(absent.code, 1)
    t.match(said(t, absent, 'agent_session_ended'), [{ status: 'unavailable', error: /no-such-agent/ }])
    // The next task would not find the agent either, so the runner pauses for a while.
    const failure = { class: 'dispatch', code: 'agent_missing', message: /no-such-agent/ }
    t.match(absent.lines.at(-1), { failure })
    t.match(said(t, absent, 'task_run_completed'), [
      { verdict: 'runner_error', failure_class: 'dispatch', failure_code: 'agent_missing' },
    ])
    const within = await run(at, { ...task(), attempt: 3 }, { AGENT: 'echo x > y; no-such-tool' })
    const [changed] = said(t, within, 'task_run_completed')
    t.match(changed, { verdict: 'runner_error', preservation_ref: 'intendant/runreq_1-3' })
    t.notOk('failure_class' in changed!, 'the agent ran and changed something')
    git(at.repository, 'branch', '-D', 'intendant/runreq_1-3')
    t.equal(git(at.repository, 'branch', '--list', 'intendant/*').trim(), BRANCH, 'without changes no branch is kept')
    assertTidy(t, at)
  },
)

t.test('a dry run leaves no branch', async (t) => {
  const at = place(t)
  const done = await run(at, task({}, { throttle: 'dry_run' }), { AGENT: 'echo x > y; echo would do', GATE: 'exit 1' })
  t.match(said(t, done, 'agent_session_started'), [{ access: 'read_only' }])
  const [completed] = said(t, done, 'task_run_completed')
  t.match(completed, { verdict: 'complete', summary: 'would do' })
  t.notOk('preservation_ref' in completed!)
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
})

t.test(
  'a task starts from its base_ref, uses the execution prompt of its brief and reports the cost of the agent',
  async (t) => {
    const at = place(t)
    git(at.repository, 'branch', 'older')
    git(at.repository, ...WHO, 'commit', '--quiet', '--allow-empty', '-m', 'next')
    const prompts = join(at.folder, 'prompts')
    mkdirSync(prompts)
    writeFileSync(join(prompts, 'execution.md'), '# Do it\n')
    const result = '{"type":"result","result":"Done.","total_cost_usd":0.25}'
    const done = await run(at, task({ base_ref: 'older' }), {
      AGENT: `cat > prompt; echo '{"type":"system"}'; echo '${result}'`,
      INTENDANT_PROMPTS_DIR: prompts,
    })
    t.match(said(t, done, 'task_run_completed'), [{ summary: 'Done.', workspace_base: { commit: at.base } }])
    t.match(said(t, done, 'agent_session_ended'), [{ cost: { USD: 0.25 } }])
    t.match(git(at.repository, 'show', `${BRANCH}:prompt`), BRIEFED)
    assertTidy(t, at)
  },
)

t.test('a run of a brief takes its objective and revision from there', async (t) => {
  const at = place(t)
  git(at.repository, ...WHO, 'commit', '--quiet', '--allow-empty', '-m', 'next')
  const brief = join(at.folder, 'brief.json')
  writeFileSync(brief, JSON.stringify({ snapshot: { mission: { objective: 'Move the sessions' } } }))
  const prompts = join(at.folder, 'prompts')
  mkdirSync(prompts)
  writeFileSync(join(prompts, 'execution.md'), '# Do it\n')
  const follows = { INTENDANT_BRIEF_FILE: brief, INTENDANT_PROMPTS_DIR: prompts }
  const request = { ...task({ objective: undefined }), repo: { revision: at.base } }
  const done = await run(at, request, { ...follows, AGENT: 'cat > prompt' })
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', workspace_base: { commit: at.base } }])
  t.match(git(at.repository, 'show', `${BRANCH}:prompt`), BRIEFED)
  t.equal(git(at.repository, 'log', '-1', '--format=%s', BRANCH), 'Move the sessions')
  const unknown = await run(at, { ...request, attempt: 2, repo: { revision: 'abc123' } }, { ...follows, AGENT: 'true' })
  t.match(unknown.lines, [{ failure: { code: 'unknown_base', message: /abc123/ } }])
  const branch = await run(at, { ...task(), attempt: 3, repo: { branch: 'elsewhere' } }, { AGENT: 'true' })
  t.match(branch.lines, [{ failure: { code: 'unknown_base' } }])
  assertTidy(t, at)
})

t.test('the branch is pushed to PUSH, or stays in the clone if that fails', async (t) => {
  const at = place(t)
  const remote = remoteOf(at)
  const pushed = await run(at, task(), { AGENT: 'echo x > y', PUSH: 'origin' })
  t.match(said(t, pushed, 'task_run_completed'), [{ preservation_ref: `origin/${BRANCH}` }])
  t.equal(git(remote, 'show', `${BRANCH}:y`), 'x')
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*'), '')
  const stays = await run(at, task(), { AGENT: 'echo z > y', PUSH: 'nowhere' })
  t.match(said(t, stays, 'task_run_completed'), [{ verdict: 'complete', preservation_ref: BRANCH }])
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'z')
  assertTidy(t, at)
})

t.test('an agent that ends with a question is blocked_on_decision, and its work is kept', async (t) => {
  const at = place(t)
  const question = { question: 'Net or gross?', options: ['Net', 'Gross'] }
  const answer = `I stop here.\n\`\`\`json\n${JSON.stringify(question)}\n\`\`\``
  const asks = await run(at, task(), { AGENT: `echo half > half; printf '%s\\n' '${answer}'`, GATE: 'false' })
  t.equal(asks.code, 0, asks.stderr)
  t.match(said(t, asks, 'task_run_completed'), [
    {
      success: false,
      verdict: 'blocked_on_decision',
      finding: 'Net or gross?',
      options: ['Net', 'Gross'],
      preservation_ref: BRANCH,
    },
  ])
  const speaks = await run(at, { ...task(), attempt: 2 }, { AGENT: `echo '${JSON.stringify(question)} was answered.'` })
  t.match(said(t, speaks, 'task_run_completed'), [{ verdict: 'complete' }])
  assertTidy(t, at)
})

t.test(
  'without a work item a defect, question or conflict fails the run, because nothing else would report it',
  async (t) => {
    const { at, remote, lands } = landing(t)
    let attempt = 0
    const failure = async (environment: Record<string, string>) => {
      attempt += 1
      const done = await run(at, { ...task({ item_id: undefined }), attempt }, environment)
      t.equal(said(t, done, 'task_run_completed').length, 1)
      const result = done.lines.find(({ schema_version }) => schema_version === 'intendant.run_result.v1')
      t.equal(done.code, result === undefined ? 0 : 1)
      return result?.failure
    }
    t.match(await failure({ ...lands, AGENT: 'echo x > y', GATE: 'echo 1 failed; false' }), {
      class: 'semantic',
      code: 'defect',
      message: /1 failed\nthe work is in origin\/intendant\/runreq_1-1$/,
    })
    t.match(await failure({ ...lands, AGENT: `echo '{"question": "Net or gross?"}'` }), {
      code: 'blocked_on_decision',
      message: 'Net or gross?',
    })
    const conflicts = `echo mine > README; ${elsewhere(at, remote, 'echo theirs > README')}`
    t.match(await failure({ ...lands, AGENT: conflicts }), { code: 'trunk_moved_conflict' })
    t.equal(await failure({ ...lands, AGENT: 'echo x > y' }), undefined)
    t.equal(await failure({ PUSH: 'origin', AGENT: 'echo x > y2' }), undefined, 'landing was not asked for')
    const request = task({ item_id: undefined })
    const environment = { ...at.environment, AGENT: 'true', GATE: 'false' }
    const { service, runner } = await hired(t, COMMAND, { environment })
    service.offer({ ...request, attempt: 1 })
    await runner.finished
    t.match(service.said('failed')[0]!.body, { class: 'semantic', code: 'defect' })
  },
)

t.test('no commit is lost when the agent detaches HEAD, moves back or makes a repository of its own', async (t) => {
  const at = place(t)
  const who = WHO.join(' ')
  const detached = await run(at, task(), { AGENT: 'git checkout --quiet --detach; echo w > w' })
  t.match(said(t, detached, 'task_run_completed'), [{ preservation_ref: BRANCH }])
  t.equal(git(at.repository, 'show', `${BRANCH}:w`), 'w')
  const second = 'intendant/runreq_1-2'
  const back = `echo w > w; git add w; git ${who} commit -qm w; git checkout -q --detach ${at.base}`
  t.match(said(t, await run(at, { ...task(), attempt: 2 }, { AGENT: back }), 'task_run_completed'), [
    { preservation_ref: second },
  ])
  t.equal(git(at.repository, 'show', `${second}:w`), 'w')
  const both = `${back}; echo v > v`
  t.match(said(t, await run(at, { ...task(), attempt: 3 }, { AGENT: both }), 'task_run_completed'), [
    { verdict: 'complete' },
  ])
  t.equal(git(at.repository, 'show', 'intendant/runreq_1-3:v'), 'v')
  t.equal(git(at.repository, 'show', 'intendant/runreq_1-3-left:w'), 'w')
  assertTidy(t, at)
  const within = await run(
    at,
    { ...task(), attempt: 4 },
    { AGENT: `git init -q sub; git -C sub ${who} commit -qm s --allow-empty` },
  )
  const [, left] = /the work is in (.*)/.exec(within.stderr)!
  t.ok(existsSync(join(left!, 'sub')), 'a repository within the worktree is kept there')
})

t.test('background processes of the agent do not delay the run', async (t) => {
  const at = place(t)
  const from = performance.now()
  const done = await run(at, task(), { AGENT: 'sleep 30 & echo w > w' })
  t.equal(done.code, 0)
  t.ok(performance.now() - from < 20_000)
  assertTidy(t, at)
})

t.test('a task without changes still has to pass the gate', async (t) => {
  const at = place(t)
  const passed = await run(at, task(), { AGENT: 'echo all is well', GATE: 'true' })
  t.match(said(t, passed, 'task_run_completed'), [{ success: true, verdict: 'complete', summary: 'all is well' }])
  const denied = await run(at, { ...task(), attempt: 2 }, { AGENT: 'echo may I?', GATE: 'test -f answer' })
  t.match(said(t, denied, 'task_run_completed'), [{ success: false, verdict: 'defect' }])
  assertTidy(t, at)
})

t.test('a request that cannot be carried out fails the run before anything is done', async (t) => {
  const at = place(t)
  const failure = async (more: object, environment: Record<string, string> = {}) =>
    (await run(at, { ...task(), ...more }, { AGENT: 'true', ...environment })).lines[0]?.failure
  t.match(await failure(task({ objective: ' ' })), { code: 'no_objective' })
  t.match(await failure(task({ base_ref: '--upload-pack=x' })), { code: 'unknown_base' })
  git(at.repository, 'branch', BRANCH)
  t.match(await failure({}), { code: 'no_worktree' })
  assertTidy(t, at)
  t.match((await run(at, task(), {})).lines, [{ failure: { class: 'dispatch', code: 'not_configured' } }])
  const greeting = await run(at, executionRequest('runreq_1'), { AGENT: 'true' })
  t.match([greeting.code, greeting.lines], [1, [{ failure: { code: 'unsupported_entry_event' } }]])
})

t.test('a task whose agent is missing has the dispatch failure in its result and its run', async (t) => {
  const at = place(t)
  const absent = await run(at, task(), { AGENT: 'no-such-agent' })
  t.equal(absent.code, 1)
  const failed = { failure_class: 'dispatch', failure_code: 'agent_missing', detail: /no-such-agent/ }
  t.match(said(t, absent, 'task_run_completed'), [{ verdict: 'runner_error', ...failed }])
  t.match(absent.lines.at(-1), { failure: { class: 'dispatch', code: 'agent_missing' } })
  const broken = await run(at, task(), { AGENT: 'exit 9' })
  t.match(said(t, broken, 'task_run_completed'), [{ verdict: 'runner_error', failure_code: undefined }])
})

t.test('an agent that a signal has killed is reported with that signal', async (t) => {
  const killed = await run(place(t), task(), { AGENT: 'kill -9 $$' })
  const how = 'the agent was killed by SIGKILL'
  t.match(said(t, killed, 'task_run_completed'), [
    { verdict: 'runner_error', summary: how, detail: new RegExp(`^${how}$`) },
  ])
})

t.test('under the bundled runner a stop ends the agent, keeps its work and says where it is', async (t) => {
  const at = place(t)
  const environment = { ...at.environment, AGENT: 'echo begun > y; echo begun >&2; sleep 60' }
  const service = await stoppedOnceBegun(t, environment)
  t.match(service.said('failed')[0]!.body, { class: 'cancelled' })
  const events = service.events()
  t.strictSame(
    events.map(({ event_type }) => event_type).filter((type) => type !== 'run_output'),
    ['task_run_started', 'agent_session_started', 'agent_session_ended', 'task_run_completed'],
  )
  const { payload } = events.find(({ event_type }) => event_type === 'task_run_completed')!
  t.same(validatePayload('task_run_completed', payload), [])
  t.match(payload, { verdict: 'runner_error', success: false, landed: false, preservation_ref: BRANCH })
  t.equal(payload.failure_class, 'cancelled', 'the end of the run settles the item')
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'begun')
  assertTidy(t, at)
})

t.test('if the command itself is killed, the failure says where the work is', async (t) => {
  const at = place(t)
  const environment = { ...at.environment, AGENT: 'echo begun > y; kill -9 $PPID; sleep 60' }
  const { service, runner } = await hired(t, COMMAND, { environment })
  service.offer(task())
  await runner.finished
  const { message } = service.said('failed')[0]!.body as { message: string }
  const [, path] = /working in (\S+), on the branch intendant\/runreq_1-1/.exec(message) ?? []
  t.equal(readFileSync(join(path ?? at.folder, 'y'), 'utf8'), 'begun\n')
})

t.test('a stopped run that has changed nothing has no result', async (t) => {
  const at = place(t)
  const environment = { ...at.environment, AGENT: 'echo begun >&2; sleep 60' }
  const service = await stoppedOnceBegun(t, environment)
  t.notOk(service.events().some(({ event_type }) => event_type === 'task_run_completed'))
  assertTidy(t, at)
})

t.test('an agent that exits with 0 after a stop lands nothing', async (t) => {
  const { at, lands, trunk } = landing(t)
  const AGENT = 'echo begun > y; echo begun >&2; trap "exit 0" TERM; sleep 60 & wait'
  const environment = { ...at.environment, ...lands, AGENT, GATE: 'true' }
  const service = await stoppedOnceBegun(t, environment)
  t.equal(trunk(), at.base)
  const results = service.events().filter(({ event_type }) => event_type === 'task_run_completed')
  t.match(results, [{ payload: { landed: false, preservation_ref: `origin/${BRANCH}`, failure_class: 'cancelled' } }])
})
