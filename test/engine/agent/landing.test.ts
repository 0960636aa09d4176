/**
 * How work of `intendant agent` gets to trunk, including one that moves, is renamed or rewritten: removed work is not
 * put back, and a missing branch is not created.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lives } from '../../children-of.ts'
import { until } from '../../until.ts'
import {
  ARGUMENTS,
  assertTidy,
  BRANCH,
  COMMAND,
  elsewhere,
  git,
  gitThat,
  landing,
  place,
  remoteOf,
  run,
  said,
  startedUnder,
  task,
  WHO,
} from './place.ts'

t.test('work that passes the gate lands when LAND names trunk', async (t) => {
  const at = place(t)
  const remote = remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const lands = { PUSH: 'origin', LAND: 'main' }
  const bad = await run(at, task(), { ...lands, AGENT: 'echo bad > y', GATE: 'false' })
  t.match(said(t, bad, 'task_run_completed'), [{ verdict: 'defect', landed: false }])
  t.equal(git(remote, 'rev-parse', 'main'), at.base)
  const landed = await run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: 'echo x > y', GATE: 'true' })
  const trunk = git(remote, 'rev-parse', 'main')
  t.match(said(t, landed, 'task_run_completed'), [{ success: true, landed: true, preservation_ref: trunk }])
  t.equal(git(remote, 'show', 'main:y'), 'x')
  t.equal(git(remote, 'branch', '--list', 'intendant/*').trim(), BRANCH, 'landed work needs no branch')
  assertTidy(t, at)
})

t.test('if trunk has moved it is merged in, the gate runs again, and the work lands only if it passes', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const AGENT = `echo z > y && ${elsewhere(at, remote, 'echo o > o')}`
  const done = await run(at, task(), { ...lands, AGENT, GATE: `cat y; ls >> ${at.folder}/seen` })
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
  const red = await run(
    at,
    { ...task(), request_id: 'runreq_2' },
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
      preservation_ref: 'origin/intendant/runreq_2-1',
    },
  ])
  t.equal(git(remote, 'show', 'main:y'), 'z')
  t.equal(git(remote, 'show', 'intendant/runreq_2-1:y'), '2')
  assertTidy(t, at)
})

t.test('a trunk that keeps moving or refuses pushes ends the run as not landed', async (t) => {
  const { at, remote, lands } = landing(t)
  const GATE = elsewhere(at, remote, 'date +%N >> o')
  const late = await run(at, task(), { ...lands, AGENT: 'echo z > y', GATE })
  t.match(said(t, late, 'task_run_completed'), [
    { landed: false, land_blocked: 'trunk_moved_repeatedly', trunk_arrivals: [{ subject: 'other' }] },
  ])
  writeFileSync(join(remote, 'hooks', 'update'), '#!/bin/sh\ntest "$1" != refs/heads/main\n', { mode: 0o755 })
  const barred = await run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: 'echo z > y' })
  t.match(said(t, barred, 'task_run_completed'), [{ land_blocked: 'git_failed', preservation_ref: /runreq_1-2$/ }])
  assertTidy(t, at)
})

t.test('work lands if trunk has moved on just when its run read where it stands', async (t) => {
  const { at, remote, lands } = landing(t)
  const moves = `(${elsewhere(at, remote, 'echo o > o')}; git -C '${at.repository}' fetch --quiet origin) >/dev/null 2>&1`
  const second = `mkdir '${at.folder}/1' 2>/dev/null || { mkdir '${at.folder}/2' 2>/dev/null && ${moves}; }`
  const PATH = gitThat(at, '--end-of-options', `case "$*" in *' origin/main^{commit}') ${second};; esac`)
  const done = await run(at, task(), { ...lands, PATH, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: true, workspace_base: { commit: at.base, trunk: at.base } }])
  t.equal(git(remote, 'show', 'main:o'), 'o')
  assertTidy(t, at)
})

t.test('a fetch that meets a push of another run in the same clone is tried again', async (t) => {
  const { at, lands } = landing(t)
  const held = join(at.repository, '.git/refs/remotes/origin/main.lock')
  const meets = `test -e '${at.folder}/met' || { touch '${at.folder}/met' '${held}'; (sleep 1; rm '${held}') >/dev/null 2>&1 & }`
  const PATH = gitThat(at, 'fetch', meets)
  execFileSync('/bin/sh', ['-c', elsewhere(at, join(at.folder, 'remote.git'), 'echo o > o')])
  const done = await run(at, task(), { ...lands, PATH, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: true }])
  t.ok(existsSync(join(at.folder, 'met')))
  assertTidy(t, at)
})

t.test('work that conflicts with trunk is kept, and the next agent is told which files to resolve', async (t) => {
  const { at, remote, lands } = landing(t)
  const AGENT = `echo mine > README && ${elsewhere(at, remote, 'echo theirs > README')}`
  const blocked = await run(at, task(), { ...lands, AGENT, GATE: 'true' })
  const base_ref = `origin/${BRANCH}`
  t.match(said(t, blocked, 'task_run_completed'), [
    { verdict: 'complete', landed: false, land_blocked: 'trunk_moved_conflict', preservation_ref: base_ref },
  ])
  t.equal(git(remote, 'show', `${BRANCH}:README`), 'mine')
  const left = await run(at, { ...task({ base_ref }), attempt: 2 }, { ...lands, AGENT: 'cat > asked' })
  t.match(said(t, left, 'task_run_completed'), [
    { verdict: 'defect', diagnosis: 'conflicts are left in README', preservation_ref: 'origin/intendant/runreq_1-2' },
  ])
  t.match(git(remote, 'show', 'intendant/runreq_1-2:asked'), /main has changed[\s\S]*\n- README\n[\s\S]*Resolve them/)
  const solved = await run(at, { ...task({ base_ref }), attempt: 3 }, { ...lands, AGENT: 'echo both > README' })
  t.match(said(t, solved, 'task_run_completed'), [{ success: true, landed: true }])
  t.equal(git(remote, 'show', 'main:README'), 'both')
  t.equal(git(remote, 'merge-base', BRANCH, 'main'), git(remote, 'rev-parse', BRANCH), 'landed with its history')
  assertTidy(t, at)
})

t.test('a merge of trunk that fails without a conflict is an error of git', async (t) => {
  const { at, remote, lands } = landing(t)
  const PATH = gitThat(at, 'merge', "echo 'error: unable to write file o' >&2; exit 128")
  const AGENT = `echo z > y && ${elsewhere(at, remote, 'echo o > o')}`
  const failed = await run(at, task(), { ...lands, PATH, AGENT })
  t.match(said(t, failed, 'task_run_completed'), [
    { land_blocked: 'git_failed', summary: /\(error: unable to write file o\)$/, preservation_ref: `origin/${BRANCH}` },
  ])
  assertTidy(t, at)
})

t.test('resumed work lands even if the agent had nothing left to do', async (t) => {
  const { at, remote, lands } = landing(t)
  const kept = await run(at, task(), { PUSH: 'origin', AGENT: 'echo z > y' })
  t.match(said(t, kept, 'task_run_completed'), [{ land_blocked: 'checkout_not_ready' }])
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const idle = { AGENT: 'echo nothing to do' }
  const local = await run(at, { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 2 }, idle)
  t.match(said(t, local, 'task_run_completed'), [{ success: false, preservation_ref: 'intendant/runreq_1-2' }])
  const done = await run(at, { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 3 }, { ...lands, ...idle })
  t.match(said(t, done, 'task_run_completed'), [{ success: true, landed: true, summary: 'nothing to do' }])
  t.equal(git(remote, 'show', 'main:y'), 'z')
  t.equal(git(remote, 'show', 'main:o'), 'o')
  assertTidy(t, at)
})

t.test("an agent that resumes work that failed the gate is shown the gate's output", async (t) => {
  const at = place(t)
  const GATE = 'echo left > left; test ! -f bad || { echo 1 test failed; exit 1; }'
  const failed = await run(at, task(), { AGENT: 'echo x > bad', GATE })
  t.match(said(t, failed, 'task_run_completed'), [{ verdict: 'defect', diagnosis: '1 test failed' }])
  const again = { ...task({ base_ref: BRANCH }), attempt: 2 }
  const mended = await run(at, again, { AGENT: 'cat > asked; rm bad', GATE })
  t.match(said(t, mended, 'task_run_completed'), [{ verdict: 'complete' }])
  t.match(
    git(at.repository, 'show', 'intendant/runreq_1-2:asked'),
    /begun earlier[\s\S]*In its current state, the gate does not pass: echo left[\s\S]*\n1 test failed$/,
  )
  t.equal(git(at.repository, 'ls-tree', '--name-only', 'intendant/runreq_1-2'), 'README\nasked')
  assertTidy(t, at)
})

t.test('an orphaned agent lands nothing, because its run may belong to another runner by now', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const env = { ...at.environment, ...lands }
  const AGENT = 'echo w > w; kill -9 $(ps -o ppid= -p $PPID)'
  // The runner dies, but the agent continues.
  spawnSync('/bin/sh', ['-c', `${COMMAND}; :`], {
    input: JSON.stringify(task()),
    env: { ...env, AGENT },
  })
  t.equal(trunk(), at.base)
  t.equal(git(remote, 'show', `${BRANCH}:w`), 'w', 'its work is kept')
  const child = spawn(process.execPath, ARGUMENTS, {
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

t.test(
  'an agent whose runner is killed during its gate lands nothing, even if the shell between them lives on',
  async (t) => {
    const { at, remote, lands, trunk } = landing(t)
    const [asked, go] = [join(at.folder, 'asked'), join(at.folder, 'go')]
    const GATE = `echo $PPID > '${go}.pid'; mv '${go}.pid' '${asked}'; until test -e '${go}'; do sleep 0.1; done`
    const runner = startedUnder(t, at, task(), { ...lands, AGENT: 'echo w > w', GATE })
    await until(async () => existsSync(asked), Boolean)
    runner.kill('SIGKILL')
    await new Promise((ended) => runner.on('exit', ended))
    writeFileSync(go, '')
    const agent = Number(readFileSync(asked, 'utf8'))
    await until(
      async () => lives(agent),
      (isThere) => !isThere,
    )
    t.equal(trunk(), at.base)
    t.equal(git(remote, 'show', `${BRANCH}:w`), 'w', 'its work is kept')
    assertTidy(t, at)
  },
)

t.test('the gate checks the commit that would land, even if the agent has checked out another one', async (t) => {
  const { at, remote, lands } = landing(t)
  const AGENT = `echo w > w; git add w; git ${WHO.join(' ')} commit -qm w; git checkout -q --detach ${at.base}`
  const denied = await run(at, task(), { ...lands, AGENT, GATE: 'test ! -e w' })
  t.match(said(t, denied, 'task_run_completed'), [{ verdict: 'defect', landed: false }])
  t.equal(git(remote, 'rev-parse', 'main'), at.base)
  const passed = await run(at, { ...task(), attempt: 2 }, { ...lands, AGENT, GATE: 'test -e w' })
  t.match(said(t, passed, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'show', 'main:w'), 'w')
  assertTidy(t, at)
})

t.test('work counts as landed if the remote took it but the push reported a failure', async (t) => {
  const { at, remote, lands } = landing(t)
  // The remote takes the push to trunk, and reports a failure.
  writeFileSync(
    join(remote, 'hooks', 'update'),
    '#!/bin/sh\ntest "$1" != refs/heads/main && exit 0\nunset GIT_QUARANTINE_PATH\ngit update-ref "$1" "$3"\nexit 1\n',
    { mode: 0o755 },
  )
  const done = await run(at, task(), { ...lands, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ success: true, landed: true }])
  t.equal(git(remote, 'show', 'main:y'), 'z')
})

t.test('work based on another branch than trunk does not land', async (t) => {
  const { at, remote, lands } = landing(t)
  const release = elsewhere(at, remote, 'echo r > r && git checkout --quiet -b release').replace(
    'push',
    'push origin release',
  )
  execFileSync('/bin/sh', ['-c', release])
  const ahead = await run(
    at,
    { ...task({ base_ref: 'origin/release' }), attempt: 3 },
    { ...lands, AGENT: 'echo z > y' },
  )
  t.match(
    said(t, ahead, 'task_run_completed'),
    [{ landed: false, land_blocked: 'checkout_not_ready' }],
    'nor does that branch',
  )
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const done = await run(at, task({ base_ref: 'origin/release' }), { ...lands, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: false, land_blocked: 'checkout_not_ready' }])
  const idle = await run(
    at,
    { ...task({ base_ref: 'origin/release' }), attempt: 2 },
    { ...lands, AGENT: 'echo looked' },
  )
  t.match(said(t, idle, 'task_run_completed'), [{ success: true, landed: false }])
  t.notOk(git(remote, 'ls-tree', '--name-only', 'main').includes('r\n'))
})

for (const [how, more] of [
  ['after which trunk moved on', `echo clean > clean; git add clean; git ${WHO.join(' ')} commit -qm rewritten; `],
  ['which returns trunk to its base', ''],
])
  t.test(`commits removed from trunk by a force push, ${how}, are not put back by landing`, async (t) => {
    const { at, remote, lands, trunk } = landing(t)
    execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo s3cret > secret')])
    const rewrite = `(cd ${at.folder}/other; git reset -q --hard HEAD~1; ${more}git push -q --force origin main)`
    const done = await run(at, task(), { ...lands, AGENT: `${rewrite}; echo x > y; echo done` })
    t.match(said(t, done, 'task_run_completed'), [
      {
        verdict: 'complete',
        success: false,
        landed: false,
        land_blocked: 'checkout_not_ready',
        summary: /^done \(main was rewritten/,
        preservation_ref: `origin/${BRANCH}`,
      },
    ])
    t.notMatch(git(remote, 'ls-tree', '--name-only', 'main'), 'secret')
    t.notMatch(git(remote, 'ls-tree', '--name-only', 'main'), 'y')
    t.equal(git(remote, 'show', `${BRANCH}:y`), 'x')
    if (more === '') t.equal(trunk(), at.base)
    assertTidy(t, at)
  })

t.test('a trunk that is renamed during a run is not created again', async (t) => {
  const { at, remote, lands } = landing(t)
  const rename = `git -C ${remote} branch -m main trunk`
  const during = await run(at, task(), { ...lands, AGENT: `${rename}; echo x > y` })
  t.match(said(t, during, 'task_run_completed'), [
    { land_blocked: 'checkout_not_ready', summary: /main is gone from origin/, preservation_ref: `origin/${BRANCH}` },
  ])
  const before = await run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: 'echo x > y' })
  t.match(before.lines, [{ failure: { code: 'unknown_base', message: 'origin has no branch main' } }])
  const base = { ...task({ base_ref: 'origin/trunk' }), attempt: 3 }
  const named = await run(at, base, { ...lands, AGENT: 'echo x > y' })
  t.match(said(t, named, 'task_run_completed'), [{ land_blocked: 'checkout_not_ready' }])
  t.equal(git(remote, 'branch', '--list', 'main'), '')
  t.equal(git(remote, 'rev-parse', 'trunk'), at.base)
  assertTidy(t, at)
})

t.test('a trunk that is renamed during the push is not created again', async (t) => {
  const { at, remote, lands } = landing(t)
  const PATH = gitThat(at, 'push', `case "$*" in *:refs/heads/main) git -C ${remote} branch -m main trunk;; esac`)
  const done = await run(at, task(), { ...lands, PATH, AGENT: 'echo x > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: false, land_blocked: 'checkout_not_ready' }])
  t.equal(git(remote, 'branch', '--list', 'main'), '')
  assertTidy(t, at)
})
