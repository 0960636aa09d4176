import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../until.ts'
import {
  assertTidy,
  BRANCH,
  type Done,
  elsewhere,
  git,
  landing,
  type Place,
  place,
  remoteOf,
  run,
  said,
  script,
  task,
  WHO,
} from './agent-place.ts'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

t.test(
  'what the agent changed is on a branch, complete when it passes the gate, and for somebody to land',
  async (t) => {
    const at = place(t)
    const done = run(at, task(), { AGENT: 'cat > asked; echo "I said hello"', GATE: 'test -f asked && test -f README' })
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
        summary: 'I said hello',
        verdict: 'complete',
        preservation_ref: BRANCH,
        land_blocked: 'checkout_not_ready',
        workspace_base: { commit: at.base, trunk: at.base },
      },
    ])
    t.match(git(at.repository, 'show', `${BRANCH}:asked`), /^Say hello\nto everyone\n\n[\s\S]*"question"/)
    t.match(git(at.repository, 'log', '-1', '--format=%s|%b', BRANCH), /^Say hello\|Intendant-Request: runreq_1/)
    assertTidy(t, at)
  },
)

t.test('work that does not pass the gate is a defect, is kept, and says what the gate said', async (t) => {
  const at = place(t)
  const done = run(at, task({ campaign: 'tidy', campaign_cycle: 3 }), {
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

t.test('an agent that fails or is not there: nothing that it did is lost', async (t) => {
  const at = place(t)
  const failed = run(at, task(), { AGENT: 'echo half > half; echo out of credit; exit 9', GATE: 'true' })
  t.equal(failed.code, 1)
  t.match(said(t, failed, 'agent_session_ended'), [{ status: 'agent_failed', exit_code: 9 }])
  t.match(said(t, failed, 'task_run_completed'), [
    { verdict: 'runner_error', detail: /exit code 9: out of credit/, preservation_ref: BRANCH },
  ])
  t.equal(git(at.repository, 'show', `${BRANCH}:half`), 'half')
  const absent = run(at, { ...task(), attempt: 2 }, { AGENT: 'no-such-agent' })
  t.equal(absent.code, 1)
  t.match(said(t, absent, 'agent_session_ended'), [{ status: 'unavailable', error: /no-such-agent/ }])
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*').trim(), BRANCH, 'nothing was changed, nothing is kept')
  assertTidy(t, at)
})

t.test('a dry run changes nothing that stays', async (t) => {
  const at = place(t)
  const done = run(at, task({}, { throttle: 'dry_run' }), { AGENT: 'echo x > y; echo would do', GATE: 'exit 1' })
  t.match(said(t, done, 'agent_session_started'), [{ access: 'read_only' }])
  const [completed] = said(t, done, 'task_run_completed')
  t.match(completed, { verdict: 'complete', summary: 'would do' })
  t.notOk('preservation_ref' in completed!)
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
})

t.test(
  'it goes on from the base that the task names, follows the prompt of a brief, and reads what the agent cost',
  async (t) => {
    const at = place(t)
    git(at.repository, 'branch', 'older')
    git(at.repository, ...WHO, 'commit', '--quiet', '--allow-empty', '-m', 'next')
    const prompts = join(at.folder, 'prompts')
    mkdirSync(prompts)
    writeFileSync(join(prompts, 'execution.md'), '# Do it\n')
    const result = '{"type":"result","result":"Done.","total_cost_usd":0.25}'
    const done = run(at, task({ base_ref: 'older' }), {
      AGENT: `cat > prompt; echo '{"type":"system"}'; echo '${result}'`,
      INTENDANT_PROMPTS_DIR: prompts,
    })
    t.match(said(t, done, 'task_run_completed'), [{ summary: 'Done.', workspace_base: { commit: at.base } }])
    t.match(said(t, done, 'agent_session_ended'), [{ cost: { USD: 0.25 } }])
    t.equal(git(at.repository, 'show', `${BRANCH}:prompt`), '# Do it')
    assertTidy(t, at)
  },
)

t.test('a run that follows a brief has its task from there, and begins at the revision that it is for', async (t) => {
  const at = place(t)
  git(at.repository, ...WHO, 'commit', '--quiet', '--allow-empty', '-m', 'next')
  const brief = join(at.folder, 'brief.json')
  writeFileSync(brief, JSON.stringify({ snapshot: { mission: { objective: 'Move the sessions' } } }))
  const prompts = join(at.folder, 'prompts')
  mkdirSync(prompts)
  writeFileSync(join(prompts, 'execution.md'), '# Do it\n')
  const follows = { INTENDANT_BRIEF_FILE: brief, INTENDANT_PROMPTS_DIR: prompts }
  const request = { ...task({ objective: undefined }), repo: { revision: at.base } }
  const done = run(at, request, { ...follows, AGENT: 'cat > prompt' })
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', workspace_base: { commit: at.base } }])
  t.equal(git(at.repository, 'show', `${BRANCH}:prompt`), '# Do it')
  t.equal(git(at.repository, 'log', '-1', '--format=%s', BRANCH), 'Move the sessions')
  const unknown = run(at, { ...request, attempt: 2, repo: { revision: 'abc123' } }, { ...follows, AGENT: 'true' })
  t.match(unknown.lines, [{ failure: { code: 'unknown_base', message: /abc123/ } }])
  const branch = run(at, { ...task(), attempt: 3, repo: { branch: 'elsewhere' } }, { AGENT: 'true' })
  t.match(branch.lines, [{ failure: { code: 'unknown_base' } }])
  assertTidy(t, at)
})

t.test('a branch is pushed where a remote is named, and stays here when that fails', async (t) => {
  const at = place(t)
  const remote = remoteOf(at)
  const pushed = run(at, task(), { AGENT: 'echo x > y', PUSH: 'origin' })
  t.match(said(t, pushed, 'task_run_completed'), [{ preservation_ref: `origin/${BRANCH}` }])
  t.equal(git(remote, 'show', `${BRANCH}:y`), 'x')
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*'), '')
  const stays = run(at, task(), { AGENT: 'echo z > y', PUSH: 'nowhere' })
  t.match(said(t, stays, 'task_run_completed'), [{ verdict: 'complete', preservation_ref: BRANCH }])
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'z')
  assertTidy(t, at)
})

/** A `git` that notes two fetches at a time, and does so much more at each. */
function jealousGit({ folder }: Place, seconds = 0.2, more = ':'): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const notes = `mkdir '${bin}/alone' 2>/dev/null || touch '${bin}/together'; sleep ${seconds}; rmdir '${bin}/alone'; ${more}`
  const shim = `#!/bin/sh\ncase "$*" in *' fetch '*) ${notes};; esac\nPATH='${process.env.PATH}' exec git "$@"\n`
  writeFileSync(join(bin, 'git'), shim, { mode: 0o755 })
  return bin
}

const lockOf = ({ repository }: Place): string => join(repository, '.git/intendant.lock')
const locksOf = ({ repository }: Place): string[] =>
  readdirSync(join(repository, '.git')).filter((name) => name.startsWith('intendant.lock'))
const deadRun = (): string => `${hostname()}:${spawnSync('true').pid}`

/** Runs of one clone at the same time, each with more of an environment; resolves to their exit codes. */
function together(
  at: Place,
  bin: string,
  environments: readonly Record<string, string>[],
  AGENT = 'cat > asked',
): Promise<unknown[]> {
  const shared = { ...at.environment, PATH: `${bin}:${process.env.PATH}`, PUSH: 'origin', AGENT }
  const runs = environments.map((more, i) => {
    const env = { ...shared, ...more }
    const child = spawn(process.execPath, [script], { env, stdio: ['pipe', 'ignore', 'inherit'] })
    child.stdin.end(JSON.stringify({ ...task(), attempt: i + 1 }))
    return new Promise((resolve) => child.on('exit', resolve))
  })
  return Promise.all(runs)
}

t.test('runs that share a clone fetch one at a time, also behind one that was killed at it', async (t) => {
  const at = place(t)
  const remote = remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const bin = jealousGit(at)
  symlinkSync(deadRun(), lockOf(at))
  // Killed when it was about to take that one's place.
  symlinkSync(deadRun(), `${lockOf(at)}.next`)
  t.same(await together(at, bin, [{}, {}, {}, {}, {}, {}]), [0, 0, 0, 0, 0, 0])
  t.notOk(existsSync(join(bin, 'together')))
  t.same(locksOf(at), [])
  t.equal(git(remote, 'branch', '--list', 'intendant/*').split('\n').length, 6)
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
})

/**
 * For `--import`: who sees the lock of one that was killed goes on when all have seen it, and LATE only when somebody else has
 * taken its place.
 */
const WATCHFUL = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { SEEN, LATE } = process.env
const read = fs.readlinkSync
const wait = (isSo) => {
  for (let n = 0; n < 200 && !isSo(); n++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
}
let hasSeen = false
fs.readlinkSync = (path) => {
  const holder = read(path)
  if (hasSeen || !path.endsWith('intendant.lock')) return holder
  hasSeen = true
  fs.writeFileSync(SEEN + '/' + process.pid, '')
  wait(() => fs.readdirSync(SEEN).length === 2)
  const isTaken = () => {
    try {
      return read(path) !== holder
    } catch {
      return false
    }
  }
  if (LATE) wait(isTaken)
  return holder
}
syncBuiltinESMExports()
`

t.test('of two that see the lock of one that was killed, the second leaves the first its turn', async (t) => {
  const at = place(t)
  remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const bin = jealousGit(at, 1)
  symlinkSync(deadRun(), lockOf(at))
  const seen = join(at.folder, 'seen')
  mkdirSync(seen)
  const watchful = join(at.folder, 'watchful.mjs')
  writeFileSync(watchful, WATCHFUL)
  const watches = { NODE_OPTIONS: `--import=file://${watchful}`, SEEN: seen }
  t.same(await together(at, bin, [watches, { ...watches, LATE: 'yes' }]), [0, 0])
  t.equal(readdirSync(seen).length, 2)
  t.notOk(existsSync(join(bin, 'together')))
  t.same(locksOf(at), [])
})

t.test('who has had its turn for too long leaves the lock of who has taken its place', async (t) => {
  const at = place(t)
  remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const bin = jealousGit(at, 0, `ln -sfn 'elsewhere:1' '${lockOf(at)}'`)
  const begun = join(at.folder, 'begun')
  const runs = together(at, bin, [{}], `cat > asked; touch '${begun}'`)
  const holder = async () => lstatSync(lockOf(at), { throwIfNoEntry: false }) && readlinkSync(lockOf(at))
  await until(holder, (one) => one === 'elsewhere:1')
  // Behind the fetch it waits for the turn in which it is given a worktree.
  await pause(1_000)
  t.equal(await holder(), 'elsewhere:1')
  t.notOk(existsSync(begun))
  rmSync(lockOf(at))
  t.same(await runs, [0])
  t.ok(existsSync(begun))
  t.same(locksOf(at), [])
})

t.test('work that passed is landed where that is asked for', async (t) => {
  const at = place(t)
  const remote = remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const lands = { PUSH: 'origin', LAND: 'main' }
  const bad = run(at, task(), { ...lands, AGENT: 'echo bad > y', GATE: 'false' })
  t.match(said(t, bad, 'task_run_completed'), [{ verdict: 'defect', landed: false }])
  t.equal(git(remote, 'rev-parse', 'main'), at.base)
  const landed = run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: 'echo x > y', GATE: 'true' })
  const trunk = git(remote, 'rev-parse', 'main')
  t.match(said(t, landed, 'task_run_completed'), [{ success: true, landed: true, preservation_ref: trunk }])
  t.equal(git(remote, 'show', 'main:y'), 'x')
  t.equal(git(remote, 'branch', '--list', 'intendant/*').trim(), BRANCH, 'what has landed needs no branch')
  assertTidy(t, at)
})

t.test('where trunk has moved on it is merged in, the gate is asked again, and the work lands', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const AGENT = `echo z > y && ${elsewhere(at, remote, 'echo o > o')}`
  const done = run(at, task(), { ...lands, AGENT, GATE: `cat y; ls >> ${at.folder}/seen` })
  const [arrival] = git(remote, 'log', '--format=%H', '-1', 'main^2').split('\n')
  t.match(said(t, done, 'task_run_completed'), [
    {
      success: true,
      landed: true,
      preservation_ref: trunk(),
      trunk_arrivals: [{ commit: arrival, subject: 'other' }],
      workspace_base: { commit: at.base, trunk: at.base },
    },
  ])
  t.equal(git(remote, 'show', 'main:y'), 'z')
  t.equal(git(remote, 'show', 'main:o'), 'o')
  t.equal(readFileSync(join(at.folder, 'seen'), 'utf8'), 'README\ny\nREADME\no\ny\n', 'the gate saw both')
  t.equal(git(remote, 'branch', '--list', 'intendant/*'), '')
  const red = run(
    at,
    { ...task(), attempt: 2 },
    {
      ...lands,
      AGENT: `echo 2 > y && ${elsewhere(at, remote, 'echo x > bad')}`,
      GATE: 'test ! -f bad',
    },
  )
  t.match(said(t, red, 'task_run_completed'), [
    {
      success: false,
      landed: false,
      verdict: 'complete',
      land_blocked: 'trunk_moved_gates_failed',
      preservation_ref: 'origin/intendant/runreq_1-2',
    },
  ])
  t.equal(git(remote, 'show', 'main:y'), 'z')
  t.equal(git(remote, 'show', 'intendant/runreq_1-2:y'), '2')
  assertTidy(t, at)
})

t.test('trunk that moves on again and again, or cannot be pushed to, does not hold the run for ever', async (t) => {
  const { at, remote, lands } = landing(t)
  const GATE = elsewhere(at, remote, 'date +%N >> o')
  const late = run(at, task(), { ...lands, AGENT: 'echo z > y', GATE })
  t.match(said(t, late, 'task_run_completed'), [
    { landed: false, land_blocked: 'trunk_moved_repeatedly', trunk_arrivals: [{ subject: 'other' }] },
  ])
  writeFileSync(join(remote, 'hooks', 'update'), '#!/bin/sh\ntest "$1" != refs/heads/main\n', { mode: 0o755 })
  const barred = run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: 'echo z > y' })
  t.match(said(t, barred, 'task_run_completed'), [{ land_blocked: 'git_failed', preservation_ref: /runreq_1-2$/ }])
  assertTidy(t, at)
})

t.test('what conflicts with trunk is kept, and whoever goes on from it is told what to resolve', async (t) => {
  const { at, remote, lands } = landing(t)
  const AGENT = `echo mine > README && ${elsewhere(at, remote, 'echo theirs > README')}`
  const blocked = run(at, task(), { ...lands, AGENT, GATE: 'true' })
  const base_ref = `origin/${BRANCH}`
  t.match(said(t, blocked, 'task_run_completed'), [
    { verdict: 'complete', landed: false, land_blocked: 'trunk_moved_conflict', preservation_ref: base_ref },
  ])
  t.equal(git(remote, 'show', `${BRANCH}:README`), 'mine')
  const left = run(at, { ...task({ base_ref }), attempt: 2 }, { ...lands, AGENT: 'cat > asked' })
  t.match(said(t, left, 'task_run_completed'), [
    { verdict: 'defect', diagnosis: 'conflicts are left in README', preservation_ref: 'origin/intendant/runreq_1-2' },
  ])
  t.match(git(remote, 'show', 'intendant/runreq_1-2:asked'), /main has moved on[\s\S]*\n- README\n[\s\S]*Resolve them/)
  const solved = run(at, { ...task({ base_ref }), attempt: 3 }, { ...lands, AGENT: 'echo both > README' })
  t.match(said(t, solved, 'task_run_completed'), [{ success: true, landed: true }])
  t.equal(git(remote, 'show', 'main:README'), 'both')
  t.equal(git(remote, 'merge-base', BRANCH, 'main'), git(remote, 'rev-parse', BRANCH), 'on trunk with all it was')
  assertTidy(t, at)
})

t.test('what a run goes on from lands also where nothing was left to do', async (t) => {
  const { at, remote, lands } = landing(t)
  const kept = run(at, task(), { PUSH: 'origin', AGENT: 'echo z > y' })
  t.match(said(t, kept, 'task_run_completed'), [{ land_blocked: 'checkout_not_ready' }])
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const idle = { AGENT: 'echo nothing to do' }
  const local = run(at, { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 2 }, idle)
  t.match(said(t, local, 'task_run_completed'), [{ success: false, preservation_ref: 'intendant/runreq_1-2' }])
  const done = run(at, { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 3 }, { ...lands, ...idle })
  t.match(said(t, done, 'task_run_completed'), [{ success: true, landed: true, summary: 'nothing to do' }])
  t.equal(git(remote, 'show', 'main:y'), 'z')
  t.equal(git(remote, 'show', 'main:o'), 'o')
  assertTidy(t, at)
})

t.test('whoever goes on from work that did not pass is told what its gate says', async (t) => {
  const at = place(t)
  const GATE = 'echo left > left; test ! -f bad || { echo 1 test failed; exit 1; }'
  const failed = run(at, task(), { AGENT: 'echo x > bad', GATE })
  t.match(said(t, failed, 'task_run_completed'), [{ verdict: 'defect', diagnosis: '1 test failed' }])
  const again = { ...task({ base_ref: BRANCH }), attempt: 2 }
  const mended = run(at, again, { AGENT: 'cat > asked; rm bad', GATE })
  t.match(said(t, mended, 'task_run_completed'), [{ verdict: 'complete' }])
  t.match(
    git(at.repository, 'show', 'intendant/runreq_1-2:asked'),
    /begun before[\s\S]*As it stands the gate does not pass: echo left[\s\S]*\n1 test failed$/,
  )
  t.equal(git(at.repository, 'ls-tree', '--name-only', 'intendant/runreq_1-2'), 'README\nasked')
  assertTidy(t, at)
})

t.test('an orphan lands nothing: its run may be another’s by now', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const env = { ...at.environment, ...lands }
  const AGENT = 'echo w > w; kill -9 $(ps -o ppid= -p $PPID)'
  // The runner dies, and what it ran runs on.
  spawnSync('/bin/sh', ['-c', `${process.execPath} ${script}; :`], {
    input: JSON.stringify(task()),
    env: { ...env, AGENT },
  })
  t.equal(trunk(), at.base)
  t.equal(git(remote, 'show', `${BRANCH}:w`), 'w', 'what was done is kept')
  const child = spawn(process.execPath, [script], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...env, AGENT: 'sleep 1; echo w > w' },
  })
  child.stdin.end(JSON.stringify({ ...task(), attempt: 2 }))
  child.stdout.once('data', () => child.stdout.destroy())
  child.stderr.destroy()
  await new Promise((ended) => child.on('exit', ended))
  t.equal(trunk(), at.base)
  t.equal(git(remote, 'show', 'intendant/runreq_1-2:w'), 'w')
  assertTidy(t, at)
})

t.test('the gate sees what is to land, also where the agent has gone back from it', async (t) => {
  const { at, remote, lands } = landing(t)
  const AGENT = `echo w > w; git add w; git ${WHO.join(' ')} commit -qm w; git checkout -q --detach ${at.base}`
  const denied = run(at, task(), { ...lands, AGENT, GATE: 'test ! -e w' })
  t.match(said(t, denied, 'task_run_completed'), [{ verdict: 'defect', landed: false }])
  t.equal(git(remote, 'rev-parse', 'main'), at.base)
  const passed = run(at, { ...task(), attempt: 2 }, { ...lands, AGENT, GATE: 'test -e w' })
  t.match(said(t, passed, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'show', 'main:w'), 'w')
  assertTidy(t, at)
})

t.test('work that the remote has taken has landed, also where its word for that was lost', async (t) => {
  const { at, remote, lands } = landing(t)
  // Whatever is pushed to trunk is there, and the push fails.
  writeFileSync(
    join(remote, 'hooks', 'update'),
    '#!/bin/sh\ntest "$1" != refs/heads/main && exit 0\nunset GIT_QUARANTINE_PATH\ngit update-ref "$1" "$3"\nexit 1\n',
    { mode: 0o755 },
  )
  const done = run(at, task(), { ...lands, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ success: true, landed: true }])
  t.equal(git(remote, 'show', 'main:y'), 'z')
})

t.test('a branch of somebody’s is not merged with a trunk that has gone another way', async (t) => {
  const { at, remote, lands } = landing(t)
  const release = elsewhere(at, remote, 'echo r > r && git checkout --quiet -b release').replace(
    'push',
    'push origin release',
  )
  execFileSync('/bin/sh', ['-c', release])
  const ahead = run(at, { ...task({ base_ref: 'origin/release' }), attempt: 3 }, { ...lands, AGENT: 'echo z > y' })
  t.match(
    said(t, ahead, 'task_run_completed'),
    [{ landed: false, land_blocked: 'checkout_not_ready' }],
    'nor lands with it',
  )
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const done = run(at, task({ base_ref: 'origin/release' }), { ...lands, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: false, land_blocked: 'checkout_not_ready' }])
  const idle = run(at, { ...task({ base_ref: 'origin/release' }), attempt: 2 }, { ...lands, AGENT: 'echo looked' })
  t.match(said(t, idle, 'task_run_completed'), [{ success: true, landed: false }])
  t.notOk(git(remote, 'ls-tree', '--name-only', 'main').includes('r\n'))
})

t.test('an agent that ends with a question needs a decision, and what it did is kept', async (t) => {
  const at = place(t)
  const question = { question: 'Net or gross?', options: ['Net', 'Gross'] }
  const answer = `I stop here.\n\`\`\`json\n${JSON.stringify(question)}\n\`\`\``
  const asks = run(at, task(), { AGENT: `echo half > half; printf '%s\\n' '${answer}'`, GATE: 'false' })
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
  const speaks = run(at, { ...task(), attempt: 2 }, { AGENT: `echo '${JSON.stringify(question)} was answered.'` })
  t.match(said(t, speaks, 'task_run_completed'), [{ verdict: 'complete' }])
  assertTidy(t, at)
})

t.test(
  'work that is no item’s fails its run where it does not come off, as nobody else would hear of it',
  async (t) => {
    const { at, remote, lands } = landing(t)
    let attempt = 0
    const failure = (environment: Record<string, string>) => {
      attempt += 1
      const done = run(at, { ...task({ item_id: undefined }), attempt }, environment)
      t.equal(said(t, done, 'task_run_completed').length, 1)
      const result = done.lines.find(({ schema_version }) => schema_version === 'intendant.run_result.v1')
      t.equal(done.code, result === undefined ? 0 : 1)
      return result?.failure
    }
    t.match(failure({ ...lands, AGENT: 'echo x > y', GATE: 'echo 1 failed; false' }), {
      class: 'semantic',
      code: 'defect',
      message: /1 failed\nwhat was done is in origin\/intendant\/runreq_1-1$/,
    })
    t.match(failure({ ...lands, AGENT: `echo '{"question": "Net or gross?"}'` }), {
      code: 'blocked_on_decision',
      message: 'Net or gross?',
    })
    const conflicts = `echo mine > README; ${elsewhere(at, remote, 'echo theirs > README')}`
    t.match(failure({ ...lands, AGENT: conflicts }), { code: 'trunk_moved_conflict' })
    t.equal(failure({ ...lands, AGENT: 'echo x > y' }), undefined)
    t.equal(failure({ PUSH: 'origin', AGENT: 'echo x > y2' }), undefined, 'nobody has asked to land it')
    const request = task({ item_id: undefined })
    const environment = { ...at.environment, AGENT: 'true', GATE: 'false' }
    const { service, runner } = await hired(t, `exec ${process.execPath} ${script}`, { environment })
    service.offer({ ...request, attempt: 1 })
    await runner.finished
    t.match(service.said('failed')[0]!.body, { class: 'semantic', code: 'defect' })
  },
)

t.test('nothing is lost where the agent goes its own ways in git', async (t) => {
  const at = place(t)
  const who = WHO.join(' ')
  const detached = run(at, task(), { AGENT: 'git checkout --quiet --detach; echo w > w' })
  t.match(said(t, detached, 'task_run_completed'), [{ preservation_ref: BRANCH }])
  t.equal(git(at.repository, 'show', `${BRANCH}:w`), 'w')
  const second = 'intendant/runreq_1-2'
  const back = `echo w > w; git add w; git ${who} commit -qm w; git checkout -q --detach ${at.base}`
  t.match(said(t, run(at, { ...task(), attempt: 2 }, { AGENT: back }), 'task_run_completed'), [
    { preservation_ref: second },
  ])
  t.equal(git(at.repository, 'show', `${second}:w`), 'w')
  const both = `${back}; echo v > v`
  t.match(said(t, run(at, { ...task(), attempt: 3 }, { AGENT: both }), 'task_run_completed'), [{ verdict: 'complete' }])
  t.equal(git(at.repository, 'show', 'intendant/runreq_1-3:v'), 'v')
  t.equal(git(at.repository, 'show', 'intendant/runreq_1-3-left:w'), 'w')
  assertTidy(t, at)
  const within = run(
    at,
    { ...task(), attempt: 4 },
    { AGENT: `git init -q sub; git -C sub ${who} commit -qm s --allow-empty` },
  )
  const [, left] = /what was done is in (.*)/.exec(within.stderr)!
  t.ok(existsSync(join(left!, 'sub')), 'a repository within the worktree stays where it is')
})

t.test('what the agent leaves running in the background holds up nothing', async (t) => {
  const at = place(t)
  const from = performance.now()
  const done = run(at, task(), { AGENT: 'sleep 30 & echo w > w' })
  t.equal(done.code, 0)
  t.ok(performance.now() - from < 20_000)
  assertTidy(t, at)
})

t.test('who changes nothing passes the gate, too, and then there is nothing to land', async (t) => {
  const at = place(t)
  const passed = run(at, task(), { AGENT: 'echo all is well', GATE: 'true' })
  t.match(said(t, passed, 'task_run_completed'), [{ success: true, verdict: 'complete', summary: 'all is well' }])
  const denied = run(at, { ...task(), attempt: 2 }, { AGENT: 'echo may I?', GATE: 'test -f answer' })
  t.match(said(t, denied, 'task_run_completed'), [{ success: false, verdict: 'defect' }])
  assertTidy(t, at)
})

t.test('what it cannot do fails the run before anything is done', async (t) => {
  const at = place(t)
  const failure = (more: object, environment: Record<string, string> = {}) =>
    run(at, { ...task(), ...more }, { AGENT: 'true', ...environment }).lines[0]?.failure
  t.match(failure(task({ objective: ' ' })), { code: 'no_objective' })
  t.match(failure(task({ base_ref: '--upload-pack=x' })), { code: 'unknown_base' })
  git(at.repository, 'branch', BRANCH)
  t.match(failure({}), { code: 'no_worktree' })
  assertTidy(t, at)
  t.match(run(at, task(), {}).lines, [{ failure: { class: 'dispatch', code: 'not_configured' } }])
  const greeting = run(at, executionRequest('runreq_1'), { AGENT: 'true' })
  t.match([greeting.code, greeting.lines], [1, [{ failure: { code: 'unsupported_entry_event' } }]])
})

/** The next step of something is asked for. */
const step = (entry_event: string, payload: object) =>
  executionRequest('runreq_1', { engine: { entry_event, throttle: 'full', access: 'read_only', payload } })

const formation = step('campaign_advance_requested', {
  campaign: 'pay',
  prompt: 'Decide.',
  gates: [
    { name: 'campaign_done_1', command: 'cat README', required: true },
    { name: 'campaign_done_2', command: 'cat README', required: true, artifacts: ['dist/invoice.js', 'README'] },
    { name: 'campaign_done_3', command: 'echo 2 tests failed; exit 4', required: false },
  ],
})

/** The Run Result; nothing but a session is told beside it. */
function concluded(t: Test, done: Done): Record<string, any> {
  const result = done.lines.at(-1)!
  t.equal(result.schema_version, 'intendant.run_result.v1')
  t.strictSame(
    done.lines.slice(0, -1).map(({ event_type }) => event_type),
    ['agent_session_started', 'agent_session_ended'],
  )
  return result
}

t.test('the next step of a campaign: its gates on trunk, and the decision that the agent makes of them', async (t) => {
  const at = place(t)
  const decision = { decision: 'advance', reason: 'No {invoice} is sent.', objective: 'Send the invoice' }
  const AGENT = `cat > ../../../asked; touch junk; echo 'I {looked} at it:'; echo '${JSON.stringify(decision)} is it.'`
  const done = run(at, formation, { AGENT })
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
      output: 'shop\ndist/invoice.js is not there',
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
  t.equal(readFileSync(join(at.folder, 'asked'), 'utf8'), result.prompt, 'what the agent was shown is what is told')
  t.equal(git(at.repository, 'branch', '--list'), '* main', 'a step leaves no branch')
  assertTidy(t, at)
})

t.test(
  'the next step of an initiative: the answer as the service asks for it, or in the form of a coding agent',
  async (t) => {
    const at = place(t)
    const decision = { decision: 'wait', reason: 'Nothing is to be done.' }
    const answer = JSON.stringify({ decision, agent_provider: 'me' })
    const asked = step('initiative_advance_requested', { initiative: 'invoices', prompt: 'Steer.' })
    const plain = concluded(t, run(at, asked, { AGENT: `echo '${answer}'` }))
    t.strictSame([plain.decision, plain.gate_results, plain.prompt], [decision, [], 'Steer.'])
    const wrapped = JSON.stringify({ result: `It is:\n${answer}`, total_cost_usd: 0.5 })
    const done = run(at, asked, { AGENT: `printf '%s' '${wrapped}'` })
    t.strictSame(concluded(t, done).decision, decision)
    t.match(said(t, done, 'agent_session_ended'), [{ cost: { USD: 0.5 } }])
  },
)

t.test(
  'a decision is found whatever braces stand around it, and a question only where the answer ends with it',
  async (t) => {
    const at = place(t)
    const decision = { decision: 'advance', reason: 'The {name} in "{x" is not filled.' }
    const AGENT = `cat <<'END'\nI looked { at it.\n${JSON.stringify({ decision })}\nThe template {name} is next }.\nEND`
    t.strictSame(concluded(t, run(at, formation, { AGENT })).decision, decision)
    const asks = `echo '{"question":"Net or gross?"} is answered in {x}'`
    t.match(said(t, run(at, task(), { AGENT: asks }), 'task_run_completed'), [{ verdict: 'complete' }])
  },
)

t.test('an agent that decides nothing is told as it is; one that fails or is not there fails the run', async (t) => {
  const at = place(t)
  const vague = run(at, formation, { AGENT: 'echo "{I} do not know"' })
  t.equal(vague.code, 0)
  t.match(concluded(t, vague), { decision: undefined, errors: [/do not know/], gate_results: [{}, {}, {}] })
  const failed = run(at, formation, { AGENT: `echo out of credit; echo '{"decision":"done"}' >&2; exit 9` })
  t.equal(failed.code, 1)
  t.match(concluded(t, failed), { failure: { class: 'execution', code: 'agent_failed', message: /9: out of credit/ } })
  const absent = run(at, formation, { AGENT: 'no-such-agent' })
  t.equal(absent.code, 1)
  t.match(concluded(t, absent), { failure: { code: 'provider_unavailable', message: /no-such-agent/ } })
  assertTidy(t, at)
})

t.test('a task whose agent is not there says so in its result, as a step does, and fails so', async (t) => {
  const at = place(t)
  const absent = run(at, task(), { AGENT: 'no-such-agent' })
  t.equal(absent.code, 1)
  const failed = { failure_class: 'execution', failure_code: 'provider_unavailable', detail: /no-such-agent/ }
  t.match(said(t, absent, 'task_run_completed'), [{ verdict: 'runner_error', ...failed }])
  t.match(absent.lines.at(-1), { failure: { class: 'execution', code: 'provider_unavailable' } })
  const broken = run(at, task(), { AGENT: 'exit 9' })
  t.match(said(t, broken, 'task_run_completed'), [{ verdict: 'runner_error', failure_code: undefined }])
})

t.test('the bundled runner posts what it says, and a stop ends the agent and keeps its work', async (t) => {
  const at = place(t)
  const environment = { ...at.environment, AGENT: 'echo begun > y; echo begun >&2; sleep 60' }
  const { service, runner } = await hired(t, `exec ${process.execPath} ${script}`, { environment, stopGraceMs: 10_000 })
  service.offer(task())
  await service.until((post) => JSON.stringify(post.body).includes('begun'))
  service.answers.set('runreq_1', { cancel_requested: true })
  await runner.finished
  const types = service.events().map(({ event_type }) => event_type)
  t.match(service.said('failed')[0]!.body, { class: 'cancelled' })
  t.notOk(types.includes('task_run_completed'), 'a task that was stopped has no result')
  t.ok(types.includes('agent_session_started') && types.includes('agent_session_ended'), types.join())
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'begun')
  assertTidy(t, at)
})

t.test('an agent that ends well although it was stopped lands nothing that the gate has not seen', async (t) => {
  const { at, lands, trunk } = landing(t)
  const AGENT = 'echo begun > y; echo begun >&2; trap "exit 0" TERM; sleep 60 & wait'
  const environment = { ...at.environment, ...lands, AGENT, GATE: 'true' }
  const { service, runner } = await hired(t, `exec ${process.execPath} ${script}`, { environment, stopGraceMs: 10_000 })
  service.offer(task())
  await service.until((post) => JSON.stringify(post.body).includes('begun'))
  service.answers.set('runreq_1', { cancel_requested: true })
  await runner.finished
  t.equal(trunk(), at.base)
  t.notOk(service.events().some(({ event_type }) => event_type === 'task_run_completed'))
})
