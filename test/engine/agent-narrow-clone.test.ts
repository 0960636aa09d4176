/** A clone that has one branch of its remote, or no more than its newest commit, serves as REPOSITORY like any other. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BRANCH, elsewhere, git, landing, type Place, run, said, task } from './agent-place.ts'

/** The same place, with another clone. */
function cloned(at: Place, remote: string, ...how: string[]): Place {
  const repository = mkdtempSync(join(at.folder, 'clone-'))
  git(at.folder, 'clone', '--quiet', ...how, `file://${remote}`, repository)
  return { ...at, repository, environment: { ...at.environment, REPOSITORY: repository } }
}

for (const how of ['--single-branch', '--depth=1'])
  t.test(`preserved work is gone on from, and lands, in a clone made with ${how}`, async (t) => {
    const { at, remote, lands } = landing(t)
    const begun = run(cloned(at, remote, how), task(), { ...lands, AGENT: 'echo z > y', GATE: 'false' })
    t.match(said(t, begun, 'task_run_completed'), [{ verdict: 'defect', preservation_ref: `origin/${BRANCH}` }])
    // Another machine, for which trunk begins behind what the work began at.
    execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
    const other = cloned(at, remote, how)
    const resumed = { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 2 }
    const done = run(other, resumed, { ...lands, AGENT: 'echo w > w', GATE: 'cat y o w' })
    t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', landed: true }], done.stderr)
    t.equal(git(remote, 'ls-tree', '--name-only', 'main'), 'README\no\nw\ny')
  })

t.test('trunk is fetched where the clone is one of another branch alone', async (t) => {
  const { at, remote, lands } = landing(t)
  git(remote, 'branch', 'develop', 'main')
  const place = cloned(at, remote, '--single-branch', '--branch=develop')
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const done = run(place, task(), { ...lands, AGENT: 'cat o > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: true }], done.stderr)
})

t.test('a path that is no repository is called that', async (t) => {
  const { at, lands } = landing(t)
  const none = { ...at, environment: { ...at.environment, REPOSITORY: join(at.folder, 'tmp') } }
  const message = /tmp is no git repository/
  t.match(run(none, task(), { ...lands, AGENT: 'true' }).lines, [{ failure: { code: 'no_repository', message } }])
})
