/** A clone of a single branch, or of only the newest commit, works as REPOSITORY like any other. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BRANCH, elsewhere, git, landing, type Place, run, said, task } from './place.ts'

/** The same place with another clone. */
function cloned(at: Place, remote: string, ...how: string[]): Place {
  const repository = mkdtempSync(join(at.folder, 'clone-'))
  git(at.folder, 'clone', '--quiet', ...how, `file://${remote}`, repository)
  return { ...at, repository, environment: { ...at.environment, REPOSITORY: repository } }
}

for (const how of ['--single-branch', '--depth=1'])
  t.test(`preserved work is resumed and lands in a clone made with ${how}`, async (t) => {
    const { at, remote, lands } = landing(t)
    const begun = await run(cloned(at, remote, how), task(), { ...lands, AGENT: 'echo z > y', GATE: 'false' })
    t.match(said(t, begun, 'task_run_completed'), [{ verdict: 'defect', preservation_ref: `origin/${BRANCH}` }])
    // Another machine, on which trunk has moved past the commit that the work was based on.
    execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
    const other = cloned(at, remote, how)
    const resumed = { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 2 }
    const done = await run(other, resumed, { ...lands, AGENT: 'echo w > w', GATE: 'cat y o w' })
    t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', landed: true }], done.stderr)
    t.equal(git(remote, 'ls-tree', '--name-only', 'main'), 'README\no\nw\ny')
  })

t.test('trunk is fetched even if the clone tracks only another branch', async (t) => {
  const { at, remote, lands } = landing(t)
  git(remote, 'branch', 'develop', 'main')
  const place = cloned(at, remote, '--single-branch', '--branch=develop')
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const done = await run(place, task(), { ...lands, AGENT: 'cat o > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: true }], done.stderr)
})

t.test(
  'a revision, tag or commit missing from a shallow clone is fetched, and an unknown base is refused',
  async (t) => {
    const { at, remote, lands } = landing(t)
    for (const n of [1, 2, 3]) execFileSync('/bin/sh', ['-c', elsewhere(at, remote, `echo ${n} > f${n}`)])
    git(remote, 'tag', 'v1', 'main~1')
    git(remote, 'branch', 'side', 'main~1')
    const old = git(remote, 'rev-parse', 'main~2')
    const bases: [request: Record<string, any>, revision: string][] = [
      [{ ...task(), repo: { revision: old } }, 'main~2'],
      [{ ...task(), repo: { revision: old.slice(0, 12) } }, 'main~2'],
      [task({ base_ref: 'v1' }), 'v1'],
      [task({ base_ref: 'origin/main~2' }), 'main~2'],
    ]
    for (const [request, revision] of bases) {
      const other = cloned(at, remote, '--depth=1')
      const done = await run(other, request, { ...lands, AGENT: 'true' })
      const commit = git(remote, 'rev-parse', revision)
      t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', workspace_base: { commit } }], done.stderr)
    }
    const other = cloned(at, remote, '--depth=1')
    for (const base_ref of ['nowhere', '+refs/heads/side:refs/heads/made', '--all'])
      t.match((await run(other, task({ base_ref }), { ...lands, AGENT: 'true' })).lines, [
        { failure: { code: 'unknown_base' } },
      ])
    t.equal(git(other.repository, 'branch', '--list'), '* main')
  },
)

t.test('a REPOSITORY that is no git repository is reported as that', async (t) => {
  const { at, lands } = landing(t)
  const none = { ...at, environment: { ...at.environment, REPOSITORY: join(at.folder, 'tmp') } }
  const message = /tmp is not a git repository/
  t.match((await run(none, task(), { ...lands, AGENT: 'true' })).lines, [
    { failure: { code: 'no_repository', message } },
  ])
})
