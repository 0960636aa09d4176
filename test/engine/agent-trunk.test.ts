/** A trunk that is renamed or rewritten under `docs/agent.mjs`: nothing is put back on it, and none is made anew. */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { assertTidy, BRANCH, elsewhere, git, gitThat, landing, run, said, task, WHO } from './agent-place.ts'

for (const [how, more] of [
  ['and has moved on since', `echo clean > clean; git add clean; git ${WHO.join(' ')} commit -qm rewritten; `],
  ['and is where it was before', ''],
])
  t.test(`what was taken out of trunk, ${how}, is not put back on it`, async (t) => {
    const { at, remote, lands, trunk } = landing(t)
    execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo s3cret > secret')])
    const rewrite = `(cd ${at.folder}/other; git reset -q --hard HEAD~1; ${more}git push -q --force origin main)`
    const done = run(at, task(), { ...lands, AGENT: `${rewrite}; echo x > y; echo done` })
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

t.test('a trunk that is renamed is not made anew', async (t) => {
  const { at, remote, lands } = landing(t)
  const rename = `git -C ${remote} branch -m main trunk`
  const during = run(at, task(), { ...lands, AGENT: `${rename}; echo x > y` })
  t.match(said(t, during, 'task_run_completed'), [
    { land_blocked: 'checkout_not_ready', summary: /main is gone from origin/, preservation_ref: `origin/${BRANCH}` },
  ])
  const before = run(at, { ...task(), attempt: 2 }, { ...lands, AGENT: 'echo x > y' })
  t.match(before.lines, [{ failure: { code: 'unknown_base', message: 'origin has no branch main' } }])
  const base = { ...task({ base_ref: 'origin/trunk' }), attempt: 3 }
  const named = run(at, base, { ...lands, AGENT: 'echo x > y' })
  t.match(said(t, named, 'task_run_completed'), [{ land_blocked: 'checkout_not_ready' }])
  t.equal(git(remote, 'branch', '--list', 'main'), '')
  t.equal(git(remote, 'rev-parse', 'trunk'), at.base)
  assertTidy(t, at)
})

t.test('nor is one that is renamed while it is pushed to', async (t) => {
  const { at, remote, lands } = landing(t)
  const PATH = gitThat(at, 'push', `case "$*" in *:refs/heads/main) git -C ${remote} branch -m main trunk;; esac`)
  const done = run(at, task(), { ...lands, PATH, AGENT: 'echo x > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: false, land_blocked: 'checkout_not_ready' }])
  t.equal(git(remote, 'branch', '--list', 'main'), '')
  assertTidy(t, at)
})
