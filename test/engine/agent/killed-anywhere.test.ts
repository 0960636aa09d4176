/**
 * `intendant agent` may be killed before or after any git command of a landing: the next attempt lands the work once,
 * and nothing is left over. A few of those moments, chosen by a seed; `POINTS=all` tries each (some minutes).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { locksIn } from '../../locks-in.ts'
import { Random } from '../../random.ts'
import { assertTidy, BRANCH, elsewhere, git, landing, type Place, run, runAsProcess, said, task } from './place.ts'

if (process.platform !== 'linux') {
  t.comment('only Linux says that a process is gone whose id another has by now')
  process.exit(0)
}

const CHOSEN = 2
/** It stays until somebody else lands, who finds that its holder is gone. */
const TRUNK_LOCK = 'intendant-main.lock'
const WHEN = ['before', 'after'] as const
type When = (typeof WHEN)[number]
const isAll = process.env.POINTS === 'all'
const seed = Date.now() % 1_000_000
const REAL = `PATH='${process.env.PATH}'`
if (isAll) t.setTimeout(30 * 60_000)

/** A git that ends whoever started it at that call of theirs; git's own calls of git do not count. Returns its PATH. */
function gitThatKills({ folder }: Place, call: number, when: When): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const lines = [
    '#!/bin/sh',
    `case "$(cat /proc/$PPID/comm)" in git|sh) ${REAL} exec git "$@";; esac`,
    `echo "$*" >> ${folder}/calls`,
    `if [ "$(wc -l < ${folder}/calls)" -eq ${call} ]; then`,
    ...(when === 'after' ? [`  ${REAL} git "$@"`] : []),
    '  kill -9 $PPID',
    '  exit 1',
    'fi',
    `${REAL} exec git "$@"`,
  ]
  writeFileSync(join(bin, 'git'), lines.join('\n'), { mode: 0o755 })
  return `${bin}:${process.env.PATH}`
}

/** A landing place whose trunk moves on while the agent works for the first time, and the run's settings. */
function busyPlace(t: Test) {
  const { at, remote, lands } = landing(t)
  const moves = `touch ${at.folder}/moved; ${REAL}; ${elsewhere(at, remote, 'echo theirs > z')} >&2`
  const AGENT = `cat > /dev/null; echo mine > y; test -e ${at.folder}/moved || { ${moves}; }`
  return { at, remote, settings: { ...lands, AGENT, GATE: 'echo junk > gated' } }
}

/** The git commands of such a run that nothing disturbs. */
async function callsOf(t: Test): Promise<string[]> {
  const { at, settings } = busyPlace(t)
  const PATH = gitThatKills(at, 0, 'before')
  t.equal((await run(at, task(), { ...settings, PATH })).code, 0)
  assertTidy(t, at)
  return readFileSync(join(at.folder, 'calls'), 'utf8').trimEnd().split('\n')
}

async function assertLandsAfter(t: Test, call: number, when: When): Promise<void> {
  const { at, remote, settings } = busyPlace(t)
  t.equal(runAsProcess(at, task(), { ...settings, PATH: gitThatKills(at, call, when) }).code, null, 'it is killed')
  const second = await run(at, { ...task(), attempt: 2 }, settings)
  t.match(said(t, second, 'task_run_completed'), [{ verdict: 'complete', landed: true }])
  const added = git(remote, 'log', '--format=%s', '--diff-filter=A', 'main', '--', 'y')
  t.equal(added.split('\n').filter(Boolean).length, 1, 'its work is on trunk once')
  t.equal(git(remote, 'show', 'main:z'), 'theirs', 'beside that of others')
  assertTidy(t, at)
  const locks = locksIn(at.repository).filter((name) => name !== TRUNK_LOCK)
  t.strictSame(locks, [], 'no lock is left')
  const branches = git(remote, 'branch', '--format=%(refname:short)').split('\n')
  const others = branches.filter((name) => name !== 'main' && name !== BRANCH)
  t.strictSame(others, [], 'nobody claims trunk')
}

let calls: string[] = []

t.test('a run calls git many times', async (t) => {
  calls = await callsOf(t)
  t.match(calls.join('\n'), /worktree add.* commit .* merge .* push .*:refs\/heads\/main\n.*worktree remove/s)
})

t.test(`killed at one of them, it is followed by one that lands its work (seed ${seed})`, async (t) => {
  const random = new Random(seed)
  const all = calls.flatMap((_, index) => WHEN.map((when) => ({ call: index + 1, when })))
  for (const { call, when } of isAll ? all : Array.from({ length: CHOSEN }, () => random.pick(all))) {
    const [what] = calls[call - 1]!.replace(/-[Cc] \S+ /g, '').split(' ')
    await t.test(`${when} call ${call}, git ${what}`, async (t) => {
      await assertLandsAfter(t, call, when)
    })
  }
})
