/**
 * Connections of `intendant agent` that break or hang, to the remote, its runner or its disk: none holds it for ever.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { until } from '../../until.ts'
import {
  ARGUMENTS,
  assertTidy,
  BRANCH,
  begin,
  git,
  gitThat,
  landing,
  type Place,
  place,
  run,
  runAsProcess,
  said,
  task,
} from './place.ts'

/** Environment that loads a module with `--import` before the command. */
function preload({ folder }: Place, text: string): Record<string, string> {
  const path = join(folder, 'preload.mjs')
  writeFileSync(path, text)
  return { NODE_OPTIONS: `--import=file://${path}` }
}

/** Writes fail as on a full disk. */
const FULL = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const open = fs.createWriteStream
fs.createWriteStream = (path, options) => open('/dev/full', options)
syncBuiltinESMExports()
`
/** More output than a pipe holds. */
const PRINTS = 'for i in $(seq 200); do head -c 1000 /dev/zero | tr "\\0" x; echo; sleep 0.01; done'

t.test('a transcript that cannot be written does not block the agent', (t) => {
  const at = place(t)
  const done = runAsProcess(at, task(), { ...preload(at, FULL), AGENT: `${PRINTS}; echo x > y` })
  t.match(done.stderr, /no transcript: ENOSPC/)
  t.match(said(t, done, 'task_run_completed'), [{ verdict: 'complete', preservation_ref: BRANCH }])
  assertTidy(t, at)
  t.end()
})

t.test('a runner that is gone does not block the agent', async (t) => {
  const at = place(t)
  const env = { ...at.environment, AGENT: `echo begun >&2; sleep 1; { ${PRINTS}; } >&2; echo x > y` }
  const child = spawn(process.execPath, ARGUMENTS, { env, stdio: 'pipe' })
  child.stdin.end(JSON.stringify(task()))
  child.stderr.on('data', (chunk: Buffer) => {
    if (chunk.includes('begun')) for (const one of [child.stdout, child.stderr]) one.destroy()
  })
  const ended = new Promise((end) => child.on('exit', end))
  t.not(await Promise.race([ended, pause(30_000, 'hangs', { ref: false })]), 'hangs')
  child.kill('SIGKILL')
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'x')
  assertTidy(t, at)
})

t.test('a run whose trunk cannot be fetched does not start', async (t) => {
  const { at, remote, lands } = landing(t)
  renameSync(remote, `${remote}.away`)
  const done = await run(at, task(), { ...lands, AGENT: `touch ${at.folder}/launched` })
  t.equal(done.code, 1)
  t.match(done.lines, [{ failure: { class: 'dispatch', code: 'fetch_failed', message: /^git fetch failed: .+$/ } }])
  t.notOk(existsSync(join(at.folder, 'launched')))
  assertTidy(t, at)
})

t.test('work whose branch the remote refuses is kept in the clone, and reported as such', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const hook = '#!/bin/sh\ncase "$1" in refs/heads/intendant/*) echo no branches here >&2; exit 1;; esac\n'
  writeFileSync(join(remote, 'hooks', 'update'), hook, { mode: 0o755 })
  const done = await run(at, task(), { ...lands, AGENT: 'echo x > y; echo done' })
  t.match(said(t, done, 'task_run_completed'), [
    { verdict: 'complete', land_blocked: 'git_failed', preservation_ref: BRANCH, summary: /^done .*no branches here/ },
  ])
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'x')
  t.equal(trunk(), at.base)
  assertTidy(t, at)
})

/** A git that hangs in that operation once a file exists, and records its process id. */
function hanging(t: Test, at: Place, what: string) {
  const [hang, pid] = [join(at.folder, 'hang'), join(at.folder, 'pid')]
  const PATH = gitThat(at, what, `test -e '${hang}' && { echo $$ > '${pid}'; exec sleep 777; }`)
  const isHanging = async () => existsSync(pid)
  t.teardown(() => {
    try {
      process.kill(Number(readFileSync(pid, 'utf8')), 'SIGKILL')
    } catch {} // It has ended already, as it should.
  })
  return { hang, PATH, isHanging, pid }
}

/** No process with the id in that file is left. */
function assertEnded(t: Test, pid: string): void {
  t.throws(() => process.kill(Number(readFileSync(pid, 'utf8')), 0), { code: 'ESRCH' })
}

/** The usual grace of a runner for a command that it stops. */
const endOf = (one: ReturnType<typeof begin>) =>
  Promise.race([one.ended, pause(10_000, 'is late', { ref: false })]).finally(() => one.child.kill('SIGKILL'))

for (const what of ['fetch', 'checkout'])
  t.test(`a stop before the start of the run ends a hanging ${what}`, async (t) => {
    const { at, lands } = landing(t)
    const { hang, PATH, isHanging, pid } = hanging(t, at, what)
    writeFileSync(hang, '')
    const one = begin(at, task(), { ...lands, PATH, AGENT: `touch ${at.folder}/launched` })
    await until(isHanging, Boolean)
    one.child.kill()
    t.equal(await endOf(one), 1)
    t.notOk(existsSync(join(at.folder, 'launched')))
    assertEnded(t, pid)
    assertTidy(t, at)
  })

t.test('a stop ends a fetch that hangs before landing, and the work is kept', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const { hang, PATH, isHanging, pid } = hanging(t, at, 'fetch')
  const one = begin(at, task(), { ...lands, PATH, AGENT: `touch ${hang}; echo x > y` })
  await until(isHanging, Boolean)
  one.child.kill()
  t.equal(await endOf(one), 1)
  t.notMatch(one.printed.out, '"landed":true')
  t.match(one.printed.out, `"preservation_ref":"origin/${BRANCH}"`)
  assertEnded(t, pid)
  t.equal(git(remote, 'show', `${BRANCH}:y`), 'x')
  t.equal(trunk(), at.base)
  assertTidy(t, at)
})

t.test('a push that hangs after a stop is ended in time, and the work stays in the clone', async (t) => {
  const { at, lands } = landing(t)
  const { hang, PATH, isHanging, pid } = hanging(t, at, 'push')
  writeFileSync(hang, '')
  const AGENT = `trap "" TERM; echo x > y; touch ${at.folder}/begun; while :; do sleep 1; done`
  const one = begin(at, task(), { ...lands, PATH, AGENT })
  await until(async () => existsSync(join(at.folder, 'begun')), Boolean)
  one.child.kill()
  t.equal(await endOf(one), 1)
  t.ok(await isHanging())
  assertEnded(t, pid)
  t.equal(git(at.repository, 'show', `${BRANCH}:y`), 'x')
  assertTidy(t, at)
})

/** Turns minutes into tenths of a second. */
const HASTY = `
const later = globalThis.setTimeout
globalThis.setTimeout = (act, ms, ...more) => later(act, ms >= 60_000 ? ms / 600 : ms, ...more)
`

t.test('a hanging fetch is ended after its time limit', async (t) => {
  const { at, lands } = landing(t)
  const { hang, PATH, pid } = hanging(t, at, 'fetch')
  writeFileSync(hang, '')
  const done = runAsProcess(at, task(), { ...lands, PATH, ...preload(at, HASTY), AGENT: 'true' })
  t.match(done.lines, [{ failure: { code: 'fetch_failed', message: 'git fetch did not end in 480 s' } }])
  assertEnded(t, pid)
  assertTidy(t, at)
})

/** Limits every synchronous call to half a second. */
const HASTIER = `
import processes from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
const spawnSync = processes.spawnSync
processes.spawnSync = (name, args, options) => spawnSync(name, args, { ...options, ...(options.timeout && { timeout: 500 }) })
syncBuiltinESMExports()
`

t.test('a hanging local git command is ended after its time limit', async (t) => {
  const { at, lands } = landing(t)
  const { hang, PATH, pid } = hanging(t, at, 'worktree add')
  writeFileSync(hang, '')
  const done = runAsProcess(at, task(), { ...lands, PATH, ...preload(at, HASTIER), AGENT: 'true' })
  t.match(done.lines, [{ failure: { code: 'no_worktree', message: /: git worktree did not end in 10 min$/ } }])
  assertEnded(t, pid)
  assertTidy(t, at)
})
