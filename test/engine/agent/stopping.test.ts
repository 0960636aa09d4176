/** A stop of `intendant agent`: nothing new is started, finished work is kept, and landed work is reported. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../../until.ts'
import { assertTidy, BRANCH, begin, git, landing, place, run, stoppedOnceBegun, task } from './place.ts'

/** A remote that takes that long to accept a push to trunk. */
function slowRemote(t: Test, seconds: number) {
  const all = landing(t)
  const pushing = join(all.at.folder, 'pushing')
  const hook = `#!/bin/sh\ntest "$1" != refs/heads/main || { touch '${pushing}'; sleep ${seconds}; }\n`
  writeFileSync(join(all.remote, 'hooks', 'update'), hook, { mode: 0o755 })
  return { ...all, isPushing: async () => existsSync(pushing) }
}

t.test('a stop during the first gate keeps the agent from being launched', async (t) => {
  const at = place(t)
  await run(at, task(), { AGENT: 'echo x > y' })
  const asked = join(at.folder, 'asked')
  const again = { ...task({ base_ref: BRANCH }), attempt: 2 }
  const one = begin(at, again, { AGENT: `touch ${at.folder}/launched`, GATE: `touch ${asked}; sleep 2` })
  await until(async () => existsSync(asked), Boolean)
  one.child.kill()
  t.equal(await one.ended, 1)
  t.notOk(existsSync(join(at.folder, 'launched')))
  t.equal(one.printed.out, '')
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*').trim(), BRANCH)
  assertTidy(t, at)
})

t.test('an agent that ignores a stop is killed, and its work is kept', async (t) => {
  const at = place(t)
  const AGENT = 'trap "" TERM; echo begun > y; echo begun >&2; while :; do sleep 1; done'
  const environment = { ...at.environment, AGENT }
  await stoppedOnceBegun(t, environment)
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'begun')
  assertTidy(t, at)
})

t.test('an agent that handles a stop gets time to finish, even if its shell ends at once', async (t) => {
  const at = place(t)
  const orderly = join(at.folder, 'orderly')
  const lines = [
    '#!/bin/sh',
    'trap "sleep 3; echo ended > z; exit 0" TERM',
    'echo begun >&2',
    'while :; do sleep 0.1; done',
  ]
  writeFileSync(orderly, lines.join('\n'), { mode: 0o755 })
  // A shell that does not exec its last command.
  const environment = { ...at.environment, AGENT: `${orderly}; exit $?` }
  await stoppedOnceBegun(t, environment)
  t.equal(git(at.repository, 'show', `${BRANCH}:z`), 'ended')
  assertTidy(t, at)
})

t.test('a push to trunk that completes after a stop is reported as landed', async (t) => {
  const { at, lands, isPushing } = slowRemote(t, 2)
  const one = begin(at, task(), { ...lands, AGENT: 'echo z > y' })
  await until(isPushing, Boolean)
  one.child.kill()
  await one.ended
  t.match(one.printed.out, /"landed":true/)
  assertTidy(t, at)
})

t.test(
  'a push to trunk that does not complete after a stop is abandoned, with a message that it may have landed',
  async (t) => {
    const { at, remote, lands, trunk, isPushing } = slowRemote(t, 12)
    const one = begin(at, task(), { ...lands, AGENT: 'echo z > y' })
    await until(isPushing, Boolean)
    one.child.kill()
    // The usual grace of a runner for a command that it stops.
    const end = await Promise.race([one.ended, pause(10_000, 'is late', { ref: false })])
    t.equal(end, 1)
    t.match(one.printed.err, /stopped during the push to main, which may have succeeded: [0-9a-f]{40}/)
    t.notMatch(one.printed.out, /"landed":true/)
    await pause(4_000)
    t.equal(trunk(), at.base)
    t.equal(git(remote, 'show', `${BRANCH}:y`), 'z')
    assertTidy(t, at)
  },
)
