/** A request lands once, however its attempts ended and whatever was heard of them: trunk itself names what has landed. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  assertTidy,
  elsewhere,
  git,
  gitThat,
  KILLED_PUSH,
  landing,
  type Place,
  run,
  runAsProcess,
  said,
  task,
  WHO,
} from './place.ts'

const next = { ...task(), attempt: 2 }
const COMMIT = `git add --all; git ${WHO.join(' ')} commit --quiet -m mine`

/** A clone of the remote, as on another machine. */
function otherClone({ folder }: Place, remote: string, ...options: string[]): string {
  git(folder, 'clone', '--quiet', ...options, `file://${remote}`, 'clone')
  return join(folder, 'clone')
}

t.test(
  'the next attempt of a request that has landed unheard does nothing, and says as what it has landed',
  async (t) => {
    const deeds = {
      'leaves its changes': 'echo mine > y',
      'leaves a lock': 'echo mine > y; touch "$(git rev-parse --git-dir)/index.lock"',
      'commits them': `echo mine > y; ${COMMIT}; echo more > z; ${COMMIT}`,
      'commits on a branch of its own': `git checkout -q -b own; echo mine > y; ${COMMIT}`,
    }
    for (const [deed, AGENT] of Object.entries(deeds)) {
      const { at, remote, lands, trunk } = landing(t)
      // As if the runner had been killed with the report in its hands.
      t.match(said(t, await run(at, task(), { ...lands, AGENT }), 'task_run_completed'), [{ landed: true }])
      const made = trunk()
      t.equal(git(remote, 'branch', '--list', 'intendant/*'), '', 'landed work needs no branch')
      t.match(git(remote, 'log', '-1', '--format=%s|%b', 'main'), /^Say hello\|Intendant-Request: runreq_1/)
      for (const REPOSITORY of [at.repository, otherClone(at, remote)]) {
        const again = await run(at, next, { ...lands, AGENT, REPOSITORY })
        t.equal(again.code, 0)
        t.match(
          said(t, again, 'task_run_completed'),
          [
            {
              verdict: 'complete',
              success: true,
              landed: true,
              preservation_ref: made,
              summary: /has landed it on main$/,
            },
          ],
          deed,
        )
        t.same(said(t, again, 'agent_session_started'), [], 'no agent is asked')
        t.equal(trunk(), made)
      }
      assertTidy(t, at)
    }
  },
)

t.test('so does that of one that was killed during its push, and removes the branch that is on trunk', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  runAsProcess(at, task(), { ...lands, AGENT: 'echo mine > y', PATH: gitThat(at, 'push', KILLED_PUSH(true)) })
  const made = trunk()
  const again = await run(at, next, { ...lands, AGENT: 'echo again > z' })
  t.equal(again.code, 0)
  t.match(said(t, again, 'task_run_completed'), [{ landed: true, preservation_ref: made }])
  t.equal(git(remote, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
})

t.test('what has landed is found beyond the end of a shallow clone, or the run does not begin', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  await run(at, task(), { ...lands, AGENT: 'echo mine > y' })
  const made = trunk()
  execFileSync('/bin/sh', ['-c', elsewhere(at, remote, 'echo o > o')])
  const shallow = { ...lands, REPOSITORY: otherClone(at, remote, '--depth', '1'), AGENT: 'echo again > z' }
  const PATH = gitThat(at, '--unshallow', 'echo no network >&2; exit 1')
  t.match((await run(at, next, { ...shallow, PATH })).lines, [{ failure: { class: 'dispatch', code: 'fetch_failed' } }])
  t.match(said(t, await run(at, next, shallow), 'task_run_completed'), [{ landed: true, preservation_ref: made }])
})

t.test('an earlier attempt that lands while the next one works is what has landed, and nothing is lost', async (t) => {
  const { at, remote, lands } = landing(t)
  const late = `echo mine > y; git add --all; git ${WHO.join(' ')} commit -qm y -m 'Intendant-Request: runreq_1'; echo o > o`
  const again = await run(at, next, { ...lands, AGENT: `echo again > z; ${elsewhere(at, remote, late)}` })
  const ref = 'origin/intendant/runreq_1-2'
  t.match(said(t, again, 'task_run_completed'), [
    { landed: true, preservation_ref: git(remote, 'rev-parse', 'main~1'), summary: new RegExp(`meanwhile.*${ref}`) },
  ])
  t.notMatch(git(remote, 'ls-tree', '--name-only', 'main'), 'z')
  t.equal(git(remote, 'show', 'intendant/runreq_1-2:z'), 'again')
  assertTidy(t, at)
})

t.test('work of an earlier attempt that is not on trunk does not count as landed', async (t) => {
  const { at, lands, trunk } = landing(t)
  await run(at, task(), { ...lands, AGENT: 'echo mine > y', GATE: 'false' })
  const again = await run(at, next, { ...lands, AGENT: 'echo again > z' })
  t.match(said(t, again, 'task_run_completed'), [{ landed: true, preservation_ref: trunk() }])
  t.equal(git(at.repository, 'show', 'origin/main:z'), 'again')
})

t.test('the commit that names a request is refused by a trunk like any other, and trunk stays as it is', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  writeFileSync(join(remote, 'hooks', 'update'), '#!/bin/sh\ntest "$1" != refs/heads/main\n', { mode: 0o755 })
  const barred = await run(at, task(), { ...lands, AGENT: `echo mine > y; ${COMMIT}` })
  t.match(said(t, barred, 'task_run_completed'), [{ land_blocked: 'git_failed', preservation_ref: /runreq_1-1$/ }])
  t.equal(trunk(), at.base)
  assertTidy(t, at)
})
