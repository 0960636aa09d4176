/** Nothing of a run goes on when its runner or its command was killed: orphans end within seconds. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lives } from '../../children-of.ts'
import { until } from '../../until.ts'
import { assertTidy, BRANCH, git, type Place, place, runAsProcess, startedUnder, task } from './place.ts'

if (process.platform !== 'linux') {
  t.comment('only Linux says which processes belong to a run')
  process.exit(0)
}

/** Shell words that note the process in a file of that name, for `pidOf`. */
const noted = ({ folder }: Place, name: string) =>
  `echo $$ > '${folder}/${name}.new'; mv '${folder}/${name}.new' '${folder}/${name}'`

async function pidOf({ folder }: Place, name: string): Promise<number> {
  const file = join(folder, name)
  await until(async () => existsSync(file), Boolean)
  return Number(readFileSync(file, 'utf8'))
}

const isOver = (pid: number) =>
  until(
    async () => lives(pid),
    (isThere) => !isThere,
  )

/** An agent that changes something and hangs, deaf to signals, and so does what it has started in a session of its own. */
const hangs = (at: Place) =>
  `echo mine > y; trap '' TERM HUP; setsid sh -c "trap '' TERM; ${noted(at, 'far').replaceAll('$$', '\\$\\$')}; while :; do sleep 1; done" & ${noted(at, 'agent')}; while :; do sleep 1; done`

/** A run under a runner that does nothing; resolves once its agent hangs. */
async function hung(t: Test) {
  const at = place(t)
  const runner = startedUnder(t, at, task(), { AGENT: hangs(at) })
  const [agent, far] = [await pidOf(at, 'agent'), await pidOf(at, 'far')]
  t.teardown(() => {
    for (const pid of [agent, far])
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
  })
  const command = Number(
    / PPid:\s(\d+)/.exec(` ${readFileSync(`/proc/${agent}/status`, 'utf8').replaceAll('\n', ' ')}`)![1],
  )
  return { at, runner, agent, far, command }
}

async function killed(runner: ChildProcess): Promise<void> {
  runner.kill('SIGKILL')
  await new Promise((gone) => (runner.signalCode === null ? runner.once('exit', gone) : gone(undefined)))
}

t.test('an agent that hangs ends when its runner was killed, and its work is kept', async (t) => {
  const { at, runner, agent, far, command } = await hung(t)
  await killed(runner)
  await Promise.all([agent, far, command].map(isOver))
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'mine')
  assertTidy(t, at)
})

t.test('it ends when its command was killed, too, and the next run keeps its work', async (t) => {
  const { at, runner, agent, far, command } = await hung(t)
  await killed(runner)
  process.kill(command, 'SIGKILL')
  await Promise.all([agent, far].map(isOver))
  t.equal(runAsProcess(at, { ...task(), attempt: 2 }, { AGENT: 'true' }).code, 0)
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'mine')
  assertTidy(t, at)
})

t.test(
  'a command that was not killed leaves no guard, and what an agent has left is for the runner to end',
  async (t) => {
    const at = place(t)
    const done = runAsProcess(at, task(), {
      AGENT: `sh -c '${noted(at, 'left')}; exec sleep 60' >&- 2>&- & until test -e '${at.folder}/left'; do :; done; echo x > y`,
    })
    t.equal(done.code, 0)
    const left = await pidOf(at, 'left')
    const mark = `INTENDANT_WORKTREE=${at.folder}`
    const guards = () =>
      readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && pid !== String(left) && textOf(pid).includes(mark))
    await until(
      async () => guards().length,
      (count) => count === 0,
    )
    t.ok(lives(left))
    process.kill(left, 'SIGKILL')
  },
)

function textOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
