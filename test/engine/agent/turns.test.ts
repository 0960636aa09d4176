/** Runs of `intendant agent` that land at the same time: each gets its turn, in one clone or in several. */
import { execFileSync } from 'node:child_process'
import { existsSync, lutimesSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../../until.ts'
import {
  assertTidy,
  begin,
  type Done,
  elsewhere,
  git,
  landing,
  type Place,
  run,
  runAsProcess,
  said,
  task,
  WHO,
} from './place.ts'

const CLAIM = 'intendant/landing/main'

/** The outcome of a run that was begun. */
async function ofRun(t: Test, { printed, ended }: ReturnType<typeof begin>): Promise<Record<string, any> | undefined> {
  const code = await ended
  const lines = printed.out.split('\n').filter((line) => line !== '')
  const done: Done = { code, lines: lines.map((line) => JSON.parse(line)), stderr: printed.err }
  return said(t, done, 'task_run_completed')[0]
}

/** A second clone of the remote, as of a runner on another machine. */
function anotherClone(at: Place, remote: string): Place {
  const repository = join(at.folder, 'second')
  git(at.folder, 'clone', '--quiet', remote, repository)
  return { ...at, repository, environment: { ...at.environment, REPOSITORY: repository } }
}

const taskOf = (n: number) => ({ ...task(), request_id: `runreq_${n}` })

t.test('runs that share a clone land one after the other, each after one more gate', async (t) => {
  const { at, remote, lands } = landing(t)
  const gates = join(at.folder, 'gates')
  const GATE = `echo >> '${gates}'; sleep 0.5`
  const numbers = [1, 2, 3, 4, 5, 6]
  const runs = numbers.map((n) => begin(at, taskOf(n), { ...lands, GATE, AGENT: `echo ${n} > y${n}` }))
  for (const one of await Promise.all(runs.map((one) => ofRun(t, one)))) t.match(one, { success: true, landed: true })
  for (const n of numbers) t.equal(git(remote, 'show', `main:y${n}`), String(n))
  t.ok(readFileSync(gates, 'utf8').length <= 2 * numbers.length, 'no gate was in vain')
  t.notOk(existsSync(join(at.repository, '.git/intendant-main.lock')))
  assertTidy(t, at)
})

t.test(
  'runs that share a clone land in the order in which they were done, and say how long they have waited',
  async (t) => {
    const { at, remote, lands } = landing(t)
    const lock = join(at.repository, '.git/intendant-main.lock')
    symlinkSync(`${hostname()}:${process.pid}`, lock)
    const runs: ReturnType<typeof begin>[] = []
    for (const n of [3, 1, 4, 2]) {
      const one = begin(at, taskOf(n), { ...lands, AGENT: `echo ${n} > y${n}` })
      const first = runs.length === 0 ? '1 run lands first' : `${runs.length + 1} runs land first`
      await until(
        async () => one.printed.err,
        (text) => text.includes(first),
      )
      runs.push(one)
    }
    rmSync(lock)
    for (const one of runs) {
      t.match(await ofRun(t, one), { landed: true })
      const [, seconds] = /^waited (\d+\.\d) s for its turn to land$/m.exec(one.printed.err) ?? []
      const results = one.printed.out.split('\n').filter((line) => line.includes('run_result'))
      t.equal(results.length, 1)
      t.equal((JSON.parse(results[0]!).landing_waited_ms / 1_000).toFixed(1), seconds)
    }
    // Each has merged what was on trunk before it.
    const newestFirst = ['main^1', 'main^2^1', 'main^2^2^1', 'main^2^2^2']
    const landed = newestFirst.map((one) => git(remote, 'show', '--name-only', '--format=', one))
    t.strictSame(landed, ['y2', 'y4', 'y1', 'y3'])
    assertTidy(t, at)
  },
)

t.test(
  'a run whose turn does not come in the time that it may take ends with its work complete and kept',
  async (t) => {
    const { at, remote, lands, trunk } = landing(t)
    const lock = join(at.repository, '.git/intendant-main.lock')
    symlinkSync(`${hostname()}:${process.pid}`, lock)
    // Ten of them are for the landing.
    const waits = begin(at, { ...task(), timeout_seconds: 15 }, { ...lands, AGENT: 'echo z > y' })
    t.match(await ofRun(t, waits), {
      verdict: 'complete',
      landed: false,
      land_blocked: 'checkout_not_ready',
      summary: /its turn to land did not come in the 15 s that the run may take/,
      preservation_ref: 'origin/intendant/runreq_1-1',
    })
    t.match(waits.printed.err, /^waited \d\.\d s for its turn/m)
    t.equal(trunk(), at.base)
    t.equal(git(remote, 'show', 'intendant/runreq_1-1:y'), 'z')
    rmSync(lock)
    assertTidy(t, at)
  },
)

t.test('a run does not wait for another that has had its turn for too long', async (t) => {
  const { at, lands } = landing(t)
  const lock = join(at.repository, '.git/intendant-main.lock')
  symlinkSync(`${hostname()}:${process.pid}`, lock)
  const later = new Date(Date.now() + 60_000)
  lutimesSync(lock, later, later)
  const waits = begin(at, task(), { ...lands, AGENT: 'echo z > y' })
  await until(
    async () => waits.printed.err,
    (text) => text.includes("landing on main, once it is this run's turn"),
  )
  await pause(500)
  t.notMatch(waits.printed.out, /task_run_completed/)
  const before = new Date(Date.now() - 11 * 60_000)
  lutimesSync(lock, before, before)
  t.match(await ofRun(t, waits), { landed: true })
  assertTidy(t, at)
})

t.test('a run that waits for its turn ends with a stop, and its work is kept', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  symlinkSync(`${hostname()}:${process.pid}`, join(at.repository, '.git/intendant-main.lock'))
  const waits = begin(at, task(), { ...lands, AGENT: 'echo z > y' })
  await until(
    async () => waits.printed.err,
    (text) => text.includes('once it is'),
  )
  const since = Date.now()
  waits.child.kill('SIGTERM')
  t.match(await ofRun(t, waits), { landed: false, failure_class: 'cancelled', preservation_ref: /runreq_1-1$/ })
  t.ok(Date.now() - since < 4_000)
  t.equal(trunk(), at.base)
  t.equal(git(remote, 'show', 'intendant/runreq_1-1:y'), 'z')
})

t.test('a run that has lost to another clone claims the next landing, for which all others wait', async (t) => {
  const { at, remote, lands } = landing(t)
  const second = anotherClone(at, remote)
  const [gates, go] = [join(at.folder, 'gates'), join(at.folder, 'go')]
  mkdirSync(gates)
  // Somebody else lands during its first two gates; during the third it has the claim, and the other run wants to land.
  const GATE = `n=$(ls '${gates}' | wc -l); touch "${gates}/$n"
    test $n -ge 2 || ${elsewhere(at, remote, 'date +%N >> o')}
    git -C '${remote}' rev-parse --quiet --verify refs/heads/${CLAIM} && { until test -e '${go}'; do sleep 0.1; done; }; :`
  const slow = begin(at, taskOf(1), { ...lands, GATE, AGENT: 'echo slow > slow' })
  await until(async () => git(remote, 'branch', '--list', CLAIM), Boolean)
  const fast = begin(second, taskOf(2), { ...lands, AGENT: 'echo fast > fast' })
  await until(
    async () => fast.printed.err,
    (text) => text.includes('main is claimed by a run in another clone'),
  )
  await pause(500)
  t.throws(() => git(remote, 'show', 'main:fast'))
  writeFileSync(go, '')
  t.match(await ofRun(t, slow), { landed: true })
  t.match(await ofRun(t, fast), { landed: true })
  t.equal(git(remote, 'log', '--first-parent', '--format=%s', '-1', 'main'), 'Merge main')
  t.equal(git(remote, 'show', 'main:slow'), 'slow')
  t.equal(git(remote, 'show', 'main:fast'), 'fast')
  t.equal(git(remote, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
  t.equal(git(second.repository, 'worktree', 'list').split('\n').length, 1)
})

t.test('a claim that was left is taken away: one of this clone at once, others after their time', async (t) => {
  const { at, remote, lands } = landing(t)
  const gates = join(at.folder, 'gates')
  mkdirSync(gates)
  // Killed with its runner during the gate that it has claimed trunk for.
  const GATE = `n=$(ls '${gates}' | wc -l); touch "${gates}/$n"; test $n -ge 2 || ${elsewhere(at, remote, 'date +%N >> o')}
    test $n -lt 2 || kill -9 $PPID`
  runAsProcess(at, taskOf(1), { ...lands, GATE, AGENT: 'echo z > y' })
  const left = git(remote, 'rev-parse', CLAIM)
  const next = await run(at, taskOf(2), { ...lands, AGENT: 'echo 2 > y2' })
  t.match(said(t, next, 'task_run_completed'), [{ landed: true }])
  t.equal(git(remote, 'branch', '--list', CLAIM), '')
  const text = git(at.repository, 'show', '--no-patch', '--format=%B', left)
  t.match(text, /^Intendant-Turn: 6\d{5}$/m, 'others would wait for ten minutes and some seconds')
  const short = text.replace(/Turn: \d+/, 'Turn: 4000').replace(/Clone: .*/, 'Clone: of another machine')
  const tree = git(at.repository, 'rev-parse', `${left}^{tree}`)
  const claim = git(at.repository, ...WHO, 'commit-tree', '-m', short, tree)
  git(at.repository, 'push', '--quiet', 'origin', `${claim}:refs/heads/${CLAIM}`)
  const last = await run(at, taskOf(3), { ...lands, AGENT: 'echo 3 > y3' })
  t.match(said(t, last, 'task_run_completed'), [{ landed: true }])
  t.equal(git(remote, 'branch', '--list', CLAIM), '')
})

t.test('a remote that refuses claims is landed on without', async (t) => {
  const { at, remote, lands } = landing(t)
  writeFileSync(join(remote, 'hooks/update'), `#!/bin/sh\ntest "$1" != refs/heads/${CLAIM}\n`, { mode: 0o755 })
  const seen = join(at.folder, 'seen')
  const GATE = `echo >> '${seen}'; test $(wc -l < '${seen}') -gt 2 || ${elsewhere(at, remote, 'date +%N >> o')}`
  const done = await run(at, task(), { ...lands, GATE, AGENT: 'echo z > y' })
  t.match(said(t, done, 'task_run_completed'), [{ landed: true }])
  execFileSync('git', ['-C', remote, 'fsck', '--strict'], { stdio: 'ignore' })
  assertTidy(t, at)
})
