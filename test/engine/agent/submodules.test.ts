/**
 * Submodules under `intendant agent`: a commit that names a submodule's commit lands only if others can find that one.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertTidy, BRANCH, elsewhere, git, landing, run, said, task, WHO } from './place.ts'

const who = WHO.join(' ')
/** The remotes are folders. */
const FILES = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'protocol.file.allow', GIT_CONFIG_VALUE_0: 'always' }

/** A trunk with a submodule that has a remote of its own. */
function landingWithLibrary(t: Test, name = 'vendor') {
  const all = landing(t)
  const { repository, folder } = all.at
  const [library, remoteLibrary] = [join(folder, 'library'), join(folder, 'library.git')]
  git(folder, 'init', '--quiet', '--initial-branch=main', library)
  writeFileSync(join(library, 'l'), 'l\n')
  git(library, 'add', '--all')
  git(library, ...WHO, 'commit', '--quiet', '-m', 'library')
  git(folder, 'clone', '--quiet', '--bare', library, remoteLibrary)
  git(repository, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', remoteLibrary, name)
  git(repository, ...WHO, 'commit', '--quiet', '-m', 'submodule')
  git(repository, 'push', '--quiet', 'origin', 'main')
  const base = git(repository, 'rev-parse', 'HEAD')
  return { ...all, at: { ...all.at, base }, remoteLibrary, lands: { ...all.lands, ...FILES } }
}

const UPDATE = 'git submodule --quiet update --init'
const COMMIT = `echo fixed >> l; git ${who} commit -qam fixed`

for (const [what, more] of [
  ['alone', ''],
  ['beside others', 'echo use > use; '],
])
  t.test(
    `changes in a submodule that were not committed there (${what}) stay in the worktree and do not land`,
    async (t) => {
      const { at, lands, trunk } = landingWithLibrary(t)
      const AGENT = `${UPDATE}; echo fixed >> vendor/l; ${more}echo fixed it`
      const done = await run(at, task(), { ...lands, AGENT, GATE: 'grep -q fixed vendor/l' })
      const [completed] = said(t, done, 'task_run_completed')
      t.match(completed, { verdict: 'defect', landed: false, diagnosis: /changes in vendor are not committed there/ })
      const [, left] = /the work stays in (.*)$/.exec(completed!.diagnosis)!
      t.equal(readFileSync(join(left!, 'vendor', 'l'), 'utf8'), 'l\nfixed\n')
      t.equal(trunk(), at.base)
    },
  )

t.test('a submodule commit that was not pushed does not land, and is kept in the worktree', async (t) => {
  const { at, remote, remoteLibrary, lands, trunk } = landingWithLibrary(t)
  const done = await run(at, task(), {
    ...lands,
    AGENT: `${UPDATE}; cd vendor; ${COMMIT}`,
    GATE: 'grep -q fixed vendor/l',
  })
  const [completed] = said(t, done, 'task_run_completed')
  t.match(completed, {
    verdict: 'defect',
    summary: /not pushed/,
    diagnosis: /^no remote of vendor has [0-9a-f]{40}; /,
    preservation_ref: `origin/${BRANCH}`,
  })
  const [, left] = /the work stays in (.*)$/.exec(completed!.diagnosis)!
  t.equal(git(join(left!, 'vendor'), 'log', '-1', '--format=%s'), 'fixed')
  t.equal(trunk(), at.base)
  // On another machine that commit would not exist at all.
  const again = { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 2 }
  const resumed = await run(at, again, { ...lands, AGENT: `cat > ${at.folder}/asked` })
  t.match(said(t, resumed, 'task_run_completed'), [{ verdict: 'defect', summary: /not pushed/ }])
  t.match(
    readFileSync(join(at.folder, 'asked'), 'utf8'),
    /In its current state, a submodule is at a commit that was not pushed/,
  )
  t.equal(trunk(), at.base)
  git(join(left!, 'vendor'), 'push', '--quiet', remoteLibrary, 'HEAD:main')
  const pushed = await run(at, { ...again, attempt: 3 }, { ...lands, AGENT: 'true' })
  t.match(said(t, pushed, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.match(git(remote, 'ls-tree', 'main', 'vendor'), git(remoteLibrary, 'rev-parse', 'main'))
})

t.test('work with an earlier commit that names an unpushed submodule commit does not land', async (t) => {
  const { at, lands, trunk } = landingWithLibrary(t)
  const back = `git ${who} commit -qam bump; git -C vendor checkout -q --detach HEAD~1; git ${who} commit -qam back; echo w > w`
  const done = await run(at, task(), {
    ...lands,
    AGENT: `${UPDATE}; (cd vendor; git checkout -qb mine; ${COMMIT}); ${back}`,
  })
  const [completed] = said(t, done, 'task_run_completed')
  t.match(completed, { verdict: 'defect', success: false, diagnosis: /not be found on any remote/ })
  const [, left] = /the work stays in (.*)$/.exec(completed!.diagnosis)!
  t.ok(existsSync(join(left!, 'vendor', '.git')))
  t.equal(trunk(), at.base)
})

t.test(
  'nor does what a gate has added to work that was merged with trunk, and it is kept in the worktree',
  async (t) => {
    const { at, remote, lands, trunk } = landingWithLibrary(t)
    const AGENT = `echo z > y; ${elsewhere(at, remote, 'echo o > o')}`
    const GATE = `test ! -f o || { ${UPDATE}; (cd vendor; ${COMMIT}); git ${who} commit -qam bump; }`
    const [completed] = said(t, await run(at, task(), { ...lands, AGENT, GATE }), 'task_run_completed')
    t.match(completed, { verdict: 'defect', success: false, landed: false, summary: /not pushed/ })
    const [, left] = /the work stays in (.*)$/.exec(completed!.diagnosis)!
    t.equal(git(join(left!, 'vendor'), 'log', '-1', '--format=%s'), 'fixed')
    t.equal(git(remote, 'log', '-1', '--format=%s', trunk()), 'other')
  },
)

t.test('a submodule moved to a pushed commit, or newly added, lands and leaves nothing behind', async (t) => {
  const { at, remote, remoteLibrary, lands } = landingWithLibrary(t, 'vendor lib')
  const bump = `${UPDATE}; cd 'vendor lib'; ${COMMIT}; git push -q origin HEAD:main`
  t.match(said(t, await run(at, task(), { ...lands, AGENT: bump }), 'task_run_completed'), [{ landed: true }])
  t.match(git(remote, 'ls-tree', 'main', 'vendor lib'), git(remoteLibrary, 'rev-parse', 'main'))
  assertTidy(t, at)
  const AGENT = `git submodule --quiet add ${remoteLibrary} bücher`
  const added = await run(at, { ...task(), request_id: 'runreq_2' }, { ...lands, AGENT })
  t.match(said(t, added, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.match(git(remote, 'ls-tree', '-z', 'main', 'bücher'), /^160000 commit/)
  assertTidy(t, at)
})

t.test('a clone in the worktree that is no submodule does not land, and is kept there', async (t) => {
  const { at, remoteLibrary, lands, trunk } = landingWithLibrary(t)
  const done = await run(at, task(), { ...lands, AGENT: `git clone -q ${remoteLibrary} dep; echo x > dep/x` })
  const [completed] = said(t, done, 'task_run_completed')
  t.match(completed, { verdict: 'defect', diagnosis: /dep/ })
  const clean = await run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: `git clone -q ${remoteLibrary} dep` })
  const [{ diagnosis }] = said(t, clean, 'task_run_completed') as [Record<string, any>]
  t.match(diagnosis, /^the commit holds only the names of dep;/)
  for (const told of [completed!.diagnosis, diagnosis]) {
    const [, left] = /the work stays in (.*)$/.exec(told)!
    t.ok(existsSync(join(left!, 'dep', 'l')))
  }
  t.equal(trunk(), at.base)
})
