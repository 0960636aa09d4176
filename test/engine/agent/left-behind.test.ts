/** What a killed `intendant agent` leaves in the clone is kept and cleared away by the next run there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { statusOf } from '../../../engine/process-status.ts'
import { lives } from '../../children-of.ts'
import { until } from '../../until.ts'
import {
  assertTidy,
  BRANCH,
  begin,
  type Done,
  git,
  gitThat,
  KILLED_PUSH,
  landing,
  type Place,
  place,
  run,
  runAsProcess,
  said,
  task,
} from './place.ts'

if (process.platform !== 'linux') {
  t.comment('only Linux says whether a process is at work in a folder')
  process.exit(0)
}

/** Changes something, and stays. */
const AT_WORK = 'echo mine > y; echo $$ > "$HOME/pid"; echo begun >&2; exec sleep 60'
const next = { ...task(), attempt: 2 }
const IDLE = { AGENT: 'cat > asked && rm asked' }

const agentOf = ({ folder }: Place) => Number(readFileSync(join(folder, 'pid'), 'utf8'))
const worktreesOf = ({ repository }: Place) => git(repository, 'worktree', 'list').split('\n').length - 1
const branchesOf = (repository: string) =>
  git(repository, 'branch', '--format=%(refname:short)', '--list', 'intendant/*')
const worktreeOf = ({ repository }: Place) => git(repository, 'worktree', 'list').split('\n')[1]!.split(' ')[0]!
const lockOf = ({ repository }: Place) => join(repository, '.git/worktrees/work/locked')

/** A run whose process is killed while its agent works, and the agent with it. */
async function killed(t: Test, at: Place, environment: Record<string, string> = {}) {
  const one = begin(at, task(), { AGENT: AT_WORK, ...environment })
  await until(
    async () => one.printed.err,
    (text) => text.includes('begun'),
  )
  t.teardown(() => {
    try {
      process.kill(agentOf(at), 'SIGKILL')
    } catch {}
  })
  const lines = one.printed.out.trimEnd().split('\n')
  const [started] = said(t, { lines: lines.map((line) => JSON.parse(line)) } as unknown as Done, 'task_run_started')
  t.match(started, { branch: BRANCH, worktree: /\/intendant-[^/]+\/work$/ }, 'its work can be found')
  return async () => {
    one.child.kill('SIGKILL')
    await new Promise((gone) => (one.child.signalCode === null ? one.child.once('exit', gone) : gone(undefined)))
    await until(
      async () => lives(agentOf(at)),
      (isThere) => !isThere,
    )
  }
}

function atWorkIn(t: Test, cwd: string) {
  const person = spawn('sleep', ['60'], { cwd, stdio: 'ignore' })
  t.teardown(() => person.kill('SIGKILL'))
  return person
}

t.test('the work of a killed run is kept on its branch, and its worktree removed, but not while in use', async (t) => {
  const at = place(t)
  const kill = await killed(t, at, { AGENT: `mkdir in; ${AT_WORK}` })
  t.equal((await run(at, next, IDLE)).code, 0)
  t.equal(worktreesOf(at), 1, 'the process lives')
  await kill()
  for (const within of ['.', 'in']) {
    const person = atWorkIn(t, join(worktreeOf(at), within))
    t.equal((await run(at, { ...next, attempt: 3 }, IDLE)).code, 0)
    t.equal(worktreesOf(at), 1, 'somebody is at work')
    person.kill('SIGKILL')
    await once(person, 'exit')
  }
  const { code, stderr } = await run(at, { ...next, attempt: 4 }, IDLE)
  t.equal(code, 0)
  t.match(stderr, `a run was killed: its work is in ${BRANCH}`)
  t.equal(branchesOf(at.repository), BRANCH)
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'mine')
  t.match(git(at.repository, 'log', '-1', '--format=%B', BRANCH), /^Intendant-Request: runreq_1$/m)
  assertTidy(t, at)
})

t.test('it is pushed like that of other runs, and a task can continue from it at once', async (t) => {
  const { at, remote, lands } = landing(t)
  await (await killed(t, at, lands))()
  const AGENT = 'test "$(cat y)" = mine && echo more > z'
  const goesOn = await run(at, { ...task({ base_ref: `origin/${BRANCH}` }), attempt: 2 }, { ...lands, AGENT })
  t.match(said(t, goesOn, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  t.equal(git(remote, 'ls-tree', '--name-only', 'main'), 'README\ny\nz')
  t.equal(branchesOf(at.repository), '', 'it is on the remote')
  assertTidy(t, at)
})

t.test('nothing is kept of a run that was killed before its agent began, or of what a gate left', async (t) => {
  const early = place(t)
  const PATH = gitThat(early, 'checkout', 'kill -9 $PPID; exit 1')
  t.equal(runAsProcess(early, task(), { ...IDLE, PATH }).code, null)
  t.equal((await run(early, next, IDLE)).code, 0)
  t.equal(branchesOf(early.repository), '')
  assertTidy(t, early)

  // With its folder alone, or with a worktree that nobody has marked as its own.
  const GIT = `PATH='${process.env.PATH}' git "$@"; kill -9 $PPID; exit 1`
  for (const does of ['kill -9 $PPID; exit 1', `case "$*" in *--no-checkout*) ${GIT};; esac`]) {
    const barely = place(t)
    const PATH = gitThat(barely, 'worktree', does)
    t.equal(runAsProcess(barely, task(), { ...IDLE, PATH }).code, null)
    t.equal(readdirSync(join(barely.folder, 'tmp')).length, 1, 'it has left a folder')
    t.equal((await run(barely, next, IDLE)).code, 0)
    t.equal(branchesOf(barely.repository), '')
    assertTidy(t, barely)
  }

  // In the moment between its folder and the link that names it.
  const empty = place(t)
  const [old, fresh] = ['intendant-Old123', 'intendant-New123'].map((name) => join(empty.folder, 'tmp', name))
  for (const folder of [old!, fresh!]) mkdirSync(folder)
  // It is looked at first.
  const log = join(empty.folder, 'tmp', 'intendant-0.log')
  writeFileSync(log, 'served')
  const HOURS_AGO = Date.now() / 1_000 - 2 * 3_600
  for (const path of [old!, log]) utimesSync(path, HOURS_AGO, HOURS_AGO)
  t.equal((await run(empty, next, IDLE)).code, 0)
  t.same(
    [old!, fresh!, log].map((path) => existsSync(path)),
    [false, true, true],
  )

  // Of a container that has another one's folder and host name, and its own processes.
  const shared = place(t)
  const folder = join(shared.folder, 'tmp', 'intendant-Far123')
  mkdirSync(folder)
  const begins = join(folder, 'begins')
  symlinkSync(`${hostname()}:${2 ** 22}: ${hostname()}:other pid:[1]`, begins)
  t.equal((await run(shared, next, IDLE)).code, 0)
  t.ok(existsSync(folder), 'nothing is known of its process')

  const judged = place(t)
  const GATE = 'echo junk > z; kill -9 $PPID'
  t.equal(runAsProcess(judged, task(), { AGENT: 'echo mine > y', GATE }).code, null)
  t.equal((await run(judged, next, IDLE)).code, 0)
  t.equal(git(judged.repository, 'ls-tree', '--name-only', BRANCH), 'README\ny')
  assertTidy(t, judged)
})

t.test('a worktree that was left to people stays, and so does one that people have moved', async (t) => {
  const failed = place(t)
  runAsProcess(failed, task(), { AGENT: 'echo mine > y; rm .git' })
  await run(failed, next, IDLE)
  t.equal(worktreesOf(failed), 1)

  const moved = place(t)
  await (await killed(t, moved))()
  const mine = join(moved.folder, 'mine')
  const [name] = readdirSync(join(moved.folder, 'tmp'))
  git(moved.repository, 'worktree', 'move', '--force', '--force', join(moved.folder, 'tmp', name!, 'work'), mine)
  await run(moved, next, IDLE)
  t.ok(existsSync(join(mine, 'y')))

  const unkept = place(t)
  await (await killed(t, unkept, { AGENT: `git init -q in; echo mine > in/y; ${AT_WORK}` }))()
  const { stderr } = runAsProcess(unkept, next, IDLE)
  const [, path] = /^the work is in (\/.*)$/m.exec(stderr) ?? []
  t.equal(readFileSync(join(path ?? unkept.folder, 'in/y'), 'utf8'), 'mine\n', 'nor what git cannot keep')
  await run(unkept, { ...next, attempt: 3 }, IDLE)
  t.ok(existsSync(path ?? ''))

  const broken = place(t)
  await (await killed(t, broken, { AGENT: `rm .git; git init -q; ${AT_WORK}` }))()
  const told = /^a run was killed: the worktree's .git was removed; the work is in \//m
  t.match(runAsProcess(broken, next, IDLE).stderr, told)
  t.notMatch((await run(broken, { ...next, attempt: 3 }, IDLE)).stderr, told, 'it is tried once')
  t.equal(worktreesOf(broken), 1)
})

t.test('only a process that surely is gone has left its worktree, whoever has its id by now', async (t) => {
  const at = place(t)
  await (await killed(t, at))()
  const [mark, host, namespace, , startedAt, ...unsaved] = readFileSync(lockOf(at), 'utf8').split(' ')
  const ran = async (...words: unknown[]) => {
    writeFileSync(lockOf(at), words.join(' '))
    t.equal((await run(at, next, IDLE)).code, 0)
    return worktreesOf(at)
  }
  t.equal(await ran(mark, 'elsewhere', namespace, 1, startedAt, ...unsaved), 1)
  t.equal(await ran(mark, host, 'pid:[1]', 1, startedAt, ...unsaved), 1)
  t.equal(await ran(mark, hostname(), namespace, 1, startedAt, ...unsaved), 1, 'of another machine of that name')
  t.equal(await ran('by a person'), 1)
  if (process.getuid!() === 0) {
    chownSync(lockOf(at), 1, 1)
    t.equal(await ran(mark, host, namespace, 1, startedAt, ...unsaved), 1, 'of another user')
    chownSync(lockOf(at), 0, 0)
  }
  t.equal(await ran(mark, host, namespace, process.pid, startedAt, ...unsaved), 0)
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'mine')
})

t.test('a process that has ended is gone, even if whoever started it has not heard of that', async (t) => {
  const at = place(t)
  await (await killed(t, at))()
  // It ends once the shell that started it has become something that does not wait for it.
  const brief = `sh -c 'until grep -q sleep /proc/$PPID/comm; do :; done'`
  const deaf = spawn('sh', ['-c', `${brief} & echo $!; exec sleep 60`], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => deaf.kill('SIGKILL'))
  const ended = Number(String((await once(deaf.stdout, 'data'))[0]))
  const status = await until(
    async () => statusOf(ended),
    (now) => now?.state === 'Z',
  )
  const [mark, host, namespace, , , ...unsaved] = readFileSync(lockOf(at), 'utf8').split(' ')
  writeFileSync(lockOf(at), [mark, host, namespace, ended, status?.startedAt, ...unsaved].join(' '))
  t.equal((await run(at, next, IDLE)).code, 0)
  t.equal(worktreesOf(at), 0)
})

t.test('of a worktree whose folder is gone nothing is left in the clone', async (t) => {
  const at = place(t)
  await (await killed(t, at))()
  const all = join(at.folder, 'tmp')
  for (const name of readdirSync(all)) rmSync(join(all, name), { recursive: true })
  t.equal((await run(at, next, IDLE)).code, 0)
  t.equal(worktreesOf(at), 0)
})

t.test('a run that was killed during its push is said to have landed if its work is on trunk', async (t) => {
  for (const isTaken of [true, false]) {
    const { at, remote, lands, trunk } = landing(t)
    const PATH = gitThat(at, 'push', KILLED_PUSH(isTaken))
    t.equal(runAsProcess(at, task(), { ...lands, AGENT: 'echo mine > y', PATH }).code, null)
    const made = git(remote, 'rev-parse', BRANCH)
    t.equal(trunk(), isTaken ? made : at.base)
    const other = { ...task(), request_id: 'runreq_2' }
    const { stderr } = await run(at, other, { ...lands, ...IDLE })
    t.match(stderr, `while it landed: its work is ${isTaken ? 'on main' : `in origin/${BRANCH}`} (${made})`)
    t.equal(branchesOf(at.repository), '')
    assertTidy(t, at)
  }
})
