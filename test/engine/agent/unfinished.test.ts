/** Work that an agent leaves unfinished, throws away or cannot commit does not land, and is kept for the next one. */
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertTidy, BRANCH, elsewhere, git, landing, type Place, run, said, task, WHO } from './place.ts'

const who = WHO.join(' ')
const commits = `git add --all; git ${who} commit -qm mine`

/** A trunk with a further change, and the settings to land there. */
function landingWith(t: Test, change: (at: Place) => void) {
  const all = landing(t)
  const { at } = all
  change(at)
  git(at.repository, 'add', '--all')
  git(at.repository, ...WHO, 'commit', '--quiet', '-m', 'more')
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  return { ...all, at: { ...at, base: git(at.repository, 'rev-parse', 'HEAD') } }
}

const again = (attempt: number, from = attempt - 1) => ({
  ...task({ base_ref: `origin/intendant/runreq_1-${from}` }),
  attempt,
})

t.test(
  'a conflict in a binary file that the agent leaves alone does not land, however often it is resumed',
  async (t) => {
    const { at, remote, lands } = landingWith(t, ({ repository }) => writeFileSync(join(repository, 'logo'), 'a\0old'))
    const AGENT = `printf 'a\\0mine' > logo; ${elsewhere(at, remote, "printf 'a\\0theirs' > logo")}`
    t.match(said(t, await run(at, task(), { ...lands, AGENT }), 'task_run_completed'), [
      { land_blocked: 'trunk_moved_conflict' },
    ])
    for (const attempt of [2, 3]) {
      const idle = await run(at, again(attempt), { ...lands, AGENT: 'cat > asked' })
      t.match(said(t, idle, 'task_run_completed'), [
        {
          verdict: 'defect',
          diagnosis: 'conflicts are left in logo',
          preservation_ref: `origin/intendant/runreq_1-${attempt}`,
        },
      ])
      t.match(
        git(remote, 'show', `intendant/runreq_1-${attempt}:asked`),
        /\n- logo\n[\s\S]*If a file is already right, run `git add` on it/,
      )
    }
    t.equal(git(remote, 'show', 'main:logo'), 'a\0theirs')
    const meant = await run(at, again(4), { ...lands, AGENT: 'git add logo' })
    t.match(said(t, meant, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
    t.equal(git(remote, 'show', 'main:logo'), 'a\0mine')
    assertTidy(t, at)
  },
)

t.test('a conflict is detected whatever the name of its file', async (t) => {
  const [name, other] = [' notes', 'bücher\n']
  const { at, remote, lands } = landingWith(t, ({ repository }) => {
    for (const file of [name, other]) writeFileSync(join(repository, file), 'a\n')
  })
  for (const [i, file] of [name, other].entries()) {
    const first = { ...task(), attempt: 2 * i + 1 }
    const AGENT = `echo mine > '${file}'; ${elsewhere(at, remote, `echo theirs > '${file}'`)}`
    t.match(said(t, await run(at, first, { ...lands, AGENT }), 'task_run_completed'), [
      { land_blocked: 'trunk_moved_conflict' },
    ])
    const idle = await run(at, again(2 * i + 2), { ...lands, AGENT: 'true' })
    t.match(said(t, idle, 'task_run_completed'), [{ verdict: 'defect', diagnosis: `conflicts are left in ${file}` }])
    t.equal(git(remote, 'show', `main:${file}`), 'theirs')
  }
  assertTidy(t, at)
})

t.test('a file that trunk deleted does not reappear when the agent leaves the conflict alone', async (t) => {
  const { at, remote, lands } = landingWith(t, ({ repository }) => writeFileSync(join(repository, 'f'), '1\n'))
  const AGENT = `echo 2 >> f; ${elsewhere(at, remote, 'rm f')}`
  t.match(said(t, await run(at, task(), { ...lands, AGENT }), 'task_run_completed'), [
    { land_blocked: 'trunk_moved_conflict' },
  ])
  const idle = await run(at, again(2), { ...lands, AGENT: 'true' })
  t.match(said(t, idle, 'task_run_completed'), [{ verdict: 'defect', diagnosis: 'conflicts are left in f' }])
  t.equal(git(remote, 'ls-tree', '--name-only', 'main'), 'README')
  const gone = await run(at, again(3, 1), { ...lands, AGENT: 'rm f; echo why > notes' })
  t.match(said(t, gone, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'ls-tree', '--name-only', 'main'), 'README\nnotes')
  assertTidy(t, at)
})

t.test('conflicts from the agent’s own merge do not land, committed or not', async (t) => {
  const { at, remote, lands } = landing(t)
  const merges = [
    `echo mine > README; ${commits}`,
    elsewhere(at, remote, 'date +%N > README'),
    'git fetch -q',
    `git ${who} merge -q origin/main || true`,
  ].join('; ')
  const left = await run(at, task(), { ...lands, AGENT: merges })
  t.match(said(t, left, 'task_run_completed'), [{ verdict: 'defect', diagnosis: 'conflicts are left in README' }])
  const committed = await run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: `${merges}; ${commits}` })
  t.match(said(t, committed, 'task_run_completed'), [{ verdict: 'defect', diagnosis: 'conflicts are left in README' }])
  const idle = await run(at, again(3), { ...lands, AGENT: 'cat > asked' })
  t.match(said(t, idle, 'task_run_completed'), [{ verdict: 'defect', diagnosis: 'conflicts are left in README' }])
  t.match(git(remote, 'show', 'intendant/runreq_1-3:asked'), /conflicts are left in README/)
  t.notMatch(git(remote, 'show', 'main:README'), /<<<</)
  const solved = await run(at, again(4), { ...lands, AGENT: 'echo both > README' })
  t.match(said(t, solved, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  assertTidy(t, at)
})

t.test('an unfinished rebase is a defect that names where its other commits are', async (t) => {
  const { at, lands, trunk } = landing(t)
  const two = `echo 1 > one; ${commits}; echo 2 > two; ${commits}`
  const stops = `GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git ${who} rebase -q -i ${at.base} --no-ff`
  const done = await run(at, task(), { ...lands, AGENT: `${two}; ${stops}; true` })
  const diagnosis = /left a rebase unfinished \(commits that are not in it: intendant\/runreq_1-1-left in /
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'defect', diagnosis, preservation_ref: `origin/${BRANCH}` }])
  t.equal(git(at.repository, 'show', `${BRANCH}-left:two`), '2')
  t.equal(trunk(), at.base)
  assertTidy(t, at)
})

t.test('resumed work that the agent resets away is a defect, and is kept', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  await run(at, task(), { ...lands, AGENT: 'echo z > y', GATE: 'false' })
  const AGENT = 'git reset -q --hard origin/main'
  const thrown = await run(at, again(2), { ...lands, AGENT })
  t.match(said(t, thrown, 'task_run_completed'), [
    {
      verdict: 'defect',
      success: false,
      diagnosis: `origin/${BRANCH} is no longer part of it`,
      preservation_ref: 'origin/intendant/runreq_1-2',
    },
  ])
  t.equal(git(remote, 'show', 'intendant/runreq_1-2:y'), 'z')
  const other = await run(at, again(3), { ...lands, AGENT: `${AGENT}; echo other > o` })
  t.match(said(t, other, 'task_run_completed'), [{ verdict: 'defect', landed: false }])
  t.equal(trunk(), at.base)
  const looks = await run(at, again(4, 2), { ...lands, AGENT: 'git checkout -q --detach origin/main' })
  t.match(said(t, looks, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'show', 'main:y'), 'z')
  assertTidy(t, at)
})

t.test('a run whose branch has nothing beyond trunk is complete with nothing to land', async (t) => {
  const { at, remote, lands, trunk } = landingWith(t, ({ repository }) => writeFileSync(join(repository, 'f'), '1\n'))
  const nothing = async (attempt: number, AGENT: string) => {
    const done = await run(at, { ...task(), attempt }, { ...lands, AGENT })
    const [completed] = said(t, done, 'task_run_completed')
    t.match(completed, { verdict: 'complete', success: true, landed: false })
    t.notOk('preservation_ref' in completed!)
  }
  await nothing(1, 'git reset -q --hard HEAD~1')
  t.equal(trunk(), at.base)
  await nothing(2, `${elsewhere(at, remote, 'echo o > o')}; git pull -q origin main`)
  t.equal(git(remote, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
})

t.test('an embedded repository that is not a declared submodule does not land', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const AGENT = `git init -q sub; git -C sub ${who} commit -qm s --allow-empty`
  const done = await run(at, task(), { ...lands, AGENT })
  t.match(said(t, done, 'task_run_completed'), [
    { verdict: 'defect', diagnosis: /^the commit holds only the names of sub;/ },
  ])
  t.equal(trunk(), at.base)
  const [, left] = /the work stays in (.*)$/.exec(said(t, done, 'task_run_completed')[0]!.diagnosis)!
  t.ok(existsSync(join(left!, 'sub', '.git')))
  t.match(said(t, await run(at, again(2), { ...lands, AGENT: 'true' }), 'task_run_completed'), [{ verdict: 'defect' }])
  execFileSync('git', ['-C', at.repository, 'worktree', 'remove', '--force', '--force', left!])
  const module = `git -c protocol.file.allow=always submodule --quiet add ${remote} module`
  const declared = await run(at, { ...task(), attempt: 3 }, { ...lands, AGENT: module })
  t.match(said(t, declared, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
})
