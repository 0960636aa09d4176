/** Git in a bad state under `intendant agent`: work is kept if git can keep it, and otherwise reported in one line. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  assertTidy,
  BRANCH,
  type Done,
  elsewhere,
  git,
  gitThat,
  landing,
  place,
  remoteOf,
  run,
  runAsProcess,
  said,
  task,
  WHO,
} from './place.ts'

const who = WHO.join(' ')
/** Locks on the worktree and its branch, as left by a git that was killed. */
const LOCKS = `touch "$(git rev-parse --git-dir)/index.lock" "$(git rev-parse --git-dir)/HEAD.lock"
touch "$(git rev-parse --git-common-dir)/refs/heads/$(git branch --show-current).lock"`

/** Standard error has only messages for people: no stack trace and nothing of a crashed program. */
function isPlain(test: Test, { stderr }: Done): void {
  test.notMatch(stderr, /^\s+at |node:internal|Error:/m)
}

/** The single result of a task that failed because of git, consistent with its run's failure. */
function givenUp(test: Test, done: Done): Record<string, any> {
  isPlain(test, done)
  test.equal(done.code, 1)
  const [completed, ...more] = said(test, done, 'task_run_completed')
  test.same(more, [])
  test.match(completed, { success: false, landed: false, verdict: 'runner_error', failure_code: 'git_failed' })
  test.notMatch(completed!.detail, '\n')
  const { class: failure_class, code: failure_code, message: detail } = done.lines.at(-1)!.failure
  test.match(completed, { failure_class, failure_code, detail, summary: detail })
  return completed!
}

t.test('stale git locks are removed, and the work is on its branch and lands', async (t) => {
  const { at, remote, lands } = landing(t)
  const done = await run(at, task(), { ...lands, AGENT: `echo x > y\n${LOCKS}`, GATE: LOCKS })
  isPlain(t, done)
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'show', 'main:y'), 'x')
  assertTidy(t, at)
  const failed = await run(at, { ...task(), attempt: 2 }, { AGENT: `echo x > z\n${LOCKS}\necho no credit; exit 9` })
  isPlain(t, failed)
  const ref = 'intendant/runreq_1-2'
  t.match(said(t, failed, 'task_run_completed'), [
    { verdict: 'runner_error', detail: /no credit/, preservation_ref: ref },
  ])
  t.equal(git(at.repository, 'show', `${ref}:z`), 'x')
  assertTidy(t, at)
})

t.test('a lock that the agent’s own background git still holds is waited for', async (t) => {
  const at = place(t)
  const lock = '"$(git rev-parse --git-dir)/index.lock"'
  const AGENT = `echo x > y; touch ${lock}; { sleep 0.5; rm ${lock} && touch ${at.folder}/let-go; } > /dev/null 2>&1 &`
  t.match(said(t, await run(at, task(), { AGENT }), 'task_run_completed'), [
    { verdict: 'complete', preservation_ref: BRANCH },
  ])
  t.ok(existsSync(join(at.folder, 'let-go')))
  assertTidy(t, at)
})

for (const [what, AGENT] of [
  ['removes the .git of its worktree', 'echo x > y; rm .git'],
  [
    'replaces the .git of its worktree by a repository',
    `echo x > y; rm .git; git init -q; git ${who} commit -qm s --allow-empty`,
  ],
  ['removes the git folder of its worktree', 'echo x > y; rm -r "$(git rev-parse --git-dir)"'],
  ['leaves an index that cannot be read', 'echo x > y; echo no index > "$(git rev-parse --git-dir)/index"'],
] as const)
  t.test(`if the agent ${what}, the run fails with the path of the worktree, which is kept`, async (t) => {
    const at = place(t)
    // A git that searches for a repository above the worktree would find this one, and must leave it alone.
    git(at.folder, 'init', '--quiet', join(at.folder, 'tmp'))
    const { detail, worktree, failure_class, ...rest } = givenUp(t, await run(at, task(), { AGENT, GATE: 'true' }))
    t.equal(failure_class, 'execution')
    t.match(detail, `; the work is in ${worktree}`)
    t.equal(readFileSync(join(worktree, 'y'), 'utf8'), 'x\n')
    t.notOk('preservation_ref' in rest)
    t.equal(git(at.repository, 'rev-parse', BRANCH), at.base)
    t.equal(git(join(at.folder, 'tmp'), 'status', '--porcelain', '--untracked-files=no'), '')
  })

t.test('files that git cannot commit stay in the worktree, and everything else is on the branch', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const done = await run(at, task(), { ...lands, AGENT: 'echo x > y; git init -q sub; echo in > sub/s', GATE: 'true' })
  isPlain(t, done)
  const [completed] = said(t, done, 'task_run_completed')
  t.match(completed, {
    verdict: 'defect',
    preservation_ref: `origin/${BRANCH}`,
    diagnosis: /sub\/' does not have a commit/,
  })
  const [, left] = /; the work stays in (.*)$/.exec(completed!.diagnosis)!
  t.equal(readFileSync(join(left!, 'sub', 's'), 'utf8'), 'in\n')
  t.equal(git(remote, 'show', `${BRANCH}:y`), 'x')
  t.equal(trunk(), at.base)
  const all = givenUp(t, await run(at, { ...task(), attempt: 2 }, { AGENT: 'git init -q sub; echo in > sub/s' }))
  t.equal(readFileSync(join(all.worktree, 'sub', 's'), 'utf8'), 'in\n')
})

t.test('a worktree that the agent or a gate has removed fails the run, and committed work is kept', async (t) => {
  const at = place(t)
  const AGENT = `echo w > w; git add w; git ${who} commit -qm w; rm -rf "$PWD"`
  const gone = givenUp(t, await run(at, task(), { AGENT }))
  t.match(gone, { preservation_ref: BRANCH, detail: `; ${gone.worktree} is gone` })
  t.equal(git(at.repository, 'show', `${BRANCH}:w`), 'w', 'its commits are kept')
  assertTidy(t, at)
  const gated = givenUp(t, await run(at, { ...task(), attempt: 2 }, { AGENT: 'echo x > y', GATE: 'rm .git' }))
  t.match(gated, { preservation_ref: 'intendant/runreq_1-2', detail: /; the work is in intendant\/runreq_1-2$/ })
  t.equal(git(at.repository, 'show', 'intendant/runreq_1-2:y'), 'x')
  const again = { ...task({ base_ref: 'intendant/runreq_1-2' }), attempt: 3 }
  const before = givenUp(t, await run(at, again, { AGENT: `touch ${at.folder}/launched`, GATE: 'rm .git' }))
  t.equal(before.failure_class, 'dispatch', 'the run did not start')
  t.notOk(existsSync(join(at.folder, 'launched')))
})

t.test('work is kept although the agent renames its branch, starts another history or amends the base', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const tries = [
    'git branch -m mine; echo x > y',
    `git checkout -q --orphan mine2; echo x > y; git add y; git ${who} commit -qm mine`,
    `echo x > y; git add y; git ${who} commit -q --amend -m mine`,
  ]
  for (const [i, AGENT] of tries.entries()) {
    const done = await run(at, { ...task(), attempt: i + 1 }, { PUSH: 'origin', AGENT })
    isPlain(t, done)
    t.match(said(t, done, 'task_run_completed'), [
      { verdict: 'complete', preservation_ref: `origin/intendant/runreq_1-${i + 1}` },
    ])
    t.equal(git(remote, 'show', `intendant/runreq_1-${i + 1}:y`), 'x')
  }
  const amended = await run(at, { ...task(), attempt: 4 }, { ...lands, AGENT: tries[2]! })
  isPlain(t, amended)
  t.match(said(t, amended, 'task_run_completed'), [
    { verdict: 'complete', land_blocked: 'git_failed', summary: /unrelated histories\)$/ },
  ])
  t.equal(trunk(), at.base)
  assertTidy(t, at)
})

t.test("an agent's stash that was not popped is on the branch, and does not land", async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const stash = `git ${who} stash --quiet --include-untracked`
  const all = await run(at, task(), { ...lands, AGENT: `echo x > y; echo z > README; ${stash}` })
  const diagnosis = 'the agent left a stash unfinished'
  t.match(said(t, all, 'task_run_completed'), [{ verdict: 'defect', diagnosis, preservation_ref: `origin/${BRANCH}` }])
  t.equal(git(remote, 'show', `${BRANCH}:y`), 'x')
  t.equal(git(remote, 'show', `${BRANCH}:README`), 'z')
  t.equal(trunk(), at.base)
  const aside = await run(
    at,
    { ...task(), attempt: 2 },
    { ...lands, AGENT: `echo x > y; ${stash}; echo v > v; echo done` },
  )
  const stashed = git(at.repository, 'rev-parse', 'stash@{0}')
  const summary = `done (stashed, and not in it: ${stashed} in ${at.repository})`
  t.match(said(t, aside, 'task_run_completed'), [{ verdict: 'complete', landed: true, summary }])
  const back = await run(
    at,
    { ...task(), request_id: 'runreq_2' },
    { ...lands, AGENT: `echo x > y; ${stash}; git stash pop -q; echo done` },
  )
  t.match(said(t, back, 'task_run_completed'), [{ verdict: 'complete', landed: true, summary: 'done' }])
  assertTidy(t, at)
})

t.test('missing or unusable folders, bases and remotes fail the run in one line before anything is done', async (t) => {
  const at = place(t)
  writeFileSync(join(at.folder, 'file'), '')
  mkdirSync(join(at.folder, 'empty'))
  const failure = async (environment: Record<string, string>, more: Record<string, unknown> = {}) => {
    const done = await run(at, task(more), { AGENT: 'true', ...environment })
    isPlain(t, done)
    t.match([done.code, done.lines.length], [1, 1])
    t.match(done.lines[0], { failure: { class: 'dispatch', message: /^.+$/ } })
    return done.lines[0]!.failure
  }
  t.match(await failure({ REPOSITORY: '' }), { code: 'not_configured' })
  t.match(await failure({ AGENT: '' }), { code: 'not_configured' })
  for (const name of ['nowhere', 'empty', 'file'])
    t.match(await failure({ REPOSITORY: join(at.folder, name) }), { code: 'no_repository', message: name })
  t.match(await failure({}, { base_ref: 'no..such' }), { code: 'unknown_base', message: 'no..such' })
  t.match(await failure({ PUSH: 'nowhere', LAND: 'main' }), { code: 'fetch_failed', message: 'nowhere' })
  remoteOf(at)
  t.match(await failure({ PUSH: 'origin', LAND: 'main' }), {
    code: 'unknown_base',
    message: 'origin has no branch main',
  })
  t.match(await failure({ TRANSCRIPTS: join(at.folder, 'file') }), { code: 'no_folder', message: /file/ })
  t.match(await failure({ TMPDIR: join(at.folder, 'nowhere') }), { code: 'no_folder', message: /nowhere/ })
  assertTidy(t, at)
})

t.test('a git that is missing or fails early fails the run in one line before anything is done', async (t) => {
  const at = place(t)
  const failure = async (environment: Record<string, string>) => {
    const done = await run(at, task(), { AGENT: 'true', ...environment })
    isPlain(t, done)
    t.match([done.code, done.lines], [1, [{ failure: { class: 'dispatch', code: 'git_failed' } }]])
    return done.lines[0]?.failure
  }
  const nothing = join(at.folder, 'nothing')
  mkdirSync(nothing)
  t.match(await failure({ PATH: nothing }), { message: /^git cannot be run: .*ENOENT/ })
  git(at.repository, 'config', 'commit.gpgsign', 'perhaps')
  t.match(await failure({}), { message: /commit\.gpgsign/ })
  assertTidy(t, at)
})

/** For `--import`: a user without an entry in passwd, as in a container with a numeric user. */
const NAMELESS = `
import os from 'node:os'
import { syncBuiltinESMExports } from 'node:module'
os.userInfo = () => { throw new Error('uv_os_get_passwd returned ENOENT (no such file or directory)') }
syncBuiltinESMExports()
`

t.test('a git that is killed is reported with its signal', async (t) => {
  const { at, lands } = landing(t)
  const killed = async (what: string, attempt: number) => {
    const environment = { ...lands, PATH: gitThat(at, what, 'kill -BUS $$'), AGENT: 'echo x > y' }
    return said(t, await run(at, { ...task(), attempt }, environment), 'task_run_completed')[0]
  }
  t.match(await killed('push', 1), { verdict: 'complete', summary: /git push failed: it was killed by SIGBUS/ })
  t.match(await killed('commit', 2), {
    verdict: 'runner_error',
    summary: /^git commit was killed by SIGBUS; the work is in /,
  })
})

t.test('a user without a name gets a folder for transcripts', (t) => {
  const at = place(t)
  const nameless = join(at.folder, 'nameless.mjs')
  writeFileSync(nameless, NAMELESS)
  const done = runAsProcess(at, task(), { AGENT: 'true', TRANSCRIPTS: '', NODE_OPTIONS: `--import=file://${nameless}` })
  isPlain(t, done)
  const [started] = said(t, done, 'agent_session_started')
  t.match(started?.source_log_path, `/intendant-transcripts-${process.getuid!()}/`)
  t.end()
})

const HOOK = '#!/bin/sh\necho this hook fails >&2; exit 1\n'
const HOOKS = ['pre-commit', 'commit-msg', 'prepare-commit-msg', 'post-checkout', 'pre-merge-commit', 'post-commit']

t.test('hooks and merge settings of the clone do not affect the command’s own commits', async (t) => {
  const { at, remote, lands } = landing(t)
  git(at.repository, 'config', 'merge.ff', 'only')
  for (const name of HOOKS) writeFileSync(join(at.repository, '.git/hooks', name), HOOK, { mode: 0o755 })
  const done = await run(at, task(), { ...lands, AGENT: `echo x > y; ${elsewhere(at, remote, 'echo o > o')}` })
  isPlain(t, done)
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'ls-tree', '--name-only', 'main'), 'README\no\ny')
  assertTidy(t, at)
  const hooked = await run(
    at,
    { ...task(), attempt: 2 },
    { AGENT: `echo x > z; git add z; git ${who} commit -qm z; true` },
  )
  t.match(hooked.stderr, /this hook fails/, 'the agent’s own commits run them')
  // Unlike the others, pre-push runs: Git LFS uploads its objects in it.
  writeFileSync(join(at.repository, '.git/hooks/pre-push'), HOOK, { mode: 0o755 })
  const barred = await run(at, { ...task(), request_id: 'runreq_2' }, { ...lands, AGENT: 'echo x > v' })
  t.match(said(t, barred, 'task_run_completed'), [{ land_blocked: 'git_failed', summary: /this hook fails/ }])
})

t.test('if commits must be signed and cannot be, the agent is not launched', async (t) => {
  const at = place(t)
  const signer = join(at.folder, 'signer')
  writeFileSync(signer, '#!/bin/sh\necho no secret key >&2; exit 2\n', { mode: 0o755 })
  git(at.repository, 'config', 'commit.gpgsign', 'yes')
  git(at.repository, 'config', 'gpg.program', signer)
  const AGENT = `touch ${at.folder}/launched; echo x > y`
  const done = await run(at, task(), { AGENT })
  isPlain(t, done)
  t.match(done.lines, [
    { failure: { class: 'dispatch', code: 'no_signature', message: /commit\.gpgsign.*gpg failed to sign/ } },
  ])
  t.notOk(existsSync(join(at.folder, 'launched')))
  const looks = await run(at, task({}, { throttle: 'dry_run' }), { AGENT })
  t.match(said(t, looks, 'task_run_completed'), [{ verdict: 'complete' }], 'a dry run commits and signs nothing')
  writeFileSync(signer, '#!/bin/sh\ncat > /dev/null; printf "\\n[GNUPG:] SIG_CREATED \\n" >&2; echo signed\n')
  t.match(said(t, await run(at, task(), { AGENT }), 'task_run_completed'), [{ preservation_ref: BRANCH }])
  t.match(git(at.repository, 'cat-file', 'commit', BRANCH), /^gpgsig signed$/m)
  assertTidy(t, at)
})

t.test("git's message about a failed worktree is reported", async (t) => {
  const at = place(t)
  git(at.repository, 'config', 'filter.broken.smudge', 'false')
  git(at.repository, 'config', 'filter.broken.clean', 'cat')
  git(at.repository, 'config', 'filter.broken.required', 'true')
  writeFileSync(join(at.repository, '.gitattributes'), 'big filter=broken\n')
  writeFileSync(join(at.repository, 'big'), 'big\n')
  git(at.repository, 'add', '--all')
  git(at.repository, ...WHO, 'commit', '--quiet', '-m', 'big')
  const done = await run(at, task(), { AGENT: 'true' })
  t.match(done.lines, [
    { failure: { class: 'dispatch', code: 'no_worktree', message: /big: smudge filter broken failed/ } },
  ])
  assertTidy(t, at)
})

/** For `--import`: a folder without write permission, in which no link can be made. */
const NO_LINKS = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
fs.symlinkSync = (target, path) => fs.linkSync(target, path + '/nowhere')
syncBuiltinESMExports()
`

t.test('a run whose lock cannot be created in the clone proceeds without it', (t) => {
  const at = place(t)
  const noLinks = join(at.folder, 'no-links.mjs')
  writeFileSync(noLinks, NO_LINKS)
  const done = runAsProcess(at, task(), { AGENT: 'echo x > y', NODE_OPTIONS: `--import=file://${noLinks}` })
  isPlain(t, done)
  t.match(done.stderr, /^ENOENT: /)
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', preservation_ref: BRANCH }])
  assertTidy(t, at)
  t.end()
})
