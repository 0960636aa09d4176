/** Runs of `intendant agent` that share a clone fetch one at a time, even if some of them are killed. */
import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { until } from '../../until.ts'
import { ARGUMENTS, assertTidy, git, type Place, place, remoteOf, task } from './place.ts'

/** A `git` that records concurrent fetches, and runs further shell words after each. */
function jealousGit({ folder }: Place, seconds = 0.2, more = ':'): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const notes = `mkdir '${bin}/alone' 2>/dev/null || touch '${bin}/together'; sleep ${seconds}; rmdir '${bin}/alone'; ${more}`
  const shim = `#!/bin/sh\ncase "$*" in *' fetch '*) ${notes};; esac\nPATH='${process.env.PATH}' exec git "$@"\n`
  writeFileSync(join(bin, 'git'), shim, { mode: 0o755 })
  return bin
}

const lockOf = ({ repository }: Place): string => join(repository, '.git/intendant.lock')
const locksOf = ({ repository }: Place): string[] =>
  readdirSync(join(repository, '.git')).filter((name) => name.startsWith('intendant.lock'))
const deadRun = (): string => `${hostname()}:${spawnSync('true').pid}`

/** Runs in one clone at the same time, each with additional environment; resolves to their exit codes. */
function together(
  at: Place,
  bin: string,
  environments: readonly Record<string, string>[],
  AGENT = 'cat > asked',
): Promise<unknown[]> {
  const shared = { ...at.environment, PATH: `${bin}:${process.env.PATH}`, PUSH: 'origin', AGENT }
  const runs = environments.map((more, i) => {
    const env = { ...shared, ...more }
    const child = spawn(process.execPath, ARGUMENTS, { env, stdio: ['pipe', 'ignore', 'inherit'] })
    child.stdin.end(JSON.stringify({ ...task(), attempt: i + 1 }))
    return new Promise((resolve) => child.on('exit', resolve))
  })
  return Promise.all(runs)
}

t.test('runs that share a clone fetch one at a time, even past the lock of one that was killed', async (t) => {
  const at = place(t)
  const remote = remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const bin = jealousGit(at)
  symlinkSync(deadRun(), lockOf(at))
  // Killed when it was about to replace that lock.
  symlinkSync(deadRun(), `${lockOf(at)}.next`)
  t.same(await together(at, bin, [{}, {}, {}, {}, {}, {}]), [0, 0, 0, 0, 0, 0])
  t.notOk(existsSync(join(bin, 'together')))
  t.same(locksOf(at), [])
  t.equal(git(remote, 'branch', '--list', 'intendant/*').split('\n').length, 6)
  t.equal(git(at.repository, 'branch', '--list', 'intendant/*'), '')
  assertTidy(t, at)
})

/**
 * For `--import`: a process that reads a dead lock waits until both have read it, and with LATE until the other one has
 * replaced it. It takes every ticket for one that nobody renews, so that the two do not wait for each other before.
 */
const WATCHFUL = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { SEEN, LATE } = process.env
const read = fs.readlinkSync
const stat = fs.lstatSync
fs.lstatSync = (path, ...more) => {
  const found = stat(path, ...more)
  return found && /\\.lock\\.\\d+$/.test(path) ? Object.assign(found, { mtimeMs: 0 }) : found
}
const wait = (isSo) => {
  for (let n = 0; n < 200 && !isSo(); n++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
}
let hasSeen = false
fs.readlinkSync = (path) => {
  const holder = read(path)
  if (hasSeen || !path.endsWith('intendant.lock')) return holder
  hasSeen = true
  fs.writeFileSync(SEEN + '/' + process.pid, '')
  wait(() => fs.readdirSync(SEEN).length === 2)
  const isTaken = () => {
    try {
      return read(path) !== holder
    } catch {
      return false
    }
  }
  if (LATE) wait(isTaken)
  return holder
}
syncBuiltinESMExports()
`

t.test('of two runs that find the lock of a killed one, only the first replaces it', async (t) => {
  const at = place(t)
  remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const bin = jealousGit(at, 1)
  symlinkSync(deadRun(), lockOf(at))
  const seen = join(at.folder, 'seen')
  mkdirSync(seen)
  const watchful = join(at.folder, 'watchful.mjs')
  writeFileSync(watchful, WATCHFUL)
  const watches = { NODE_OPTIONS: `--import=file://${watchful}`, SEEN: seen }
  t.same(await together(at, bin, [watches, { ...watches, LATE: 'yes' }]), [0, 0])
  t.equal(readdirSync(seen).length, 2)
  t.notOk(existsSync(join(bin, 'together')))
  t.same(locksOf(at), [])
})

t.test('a run that has held its lock too long does not remove the lock of its successor', async (t) => {
  const at = place(t)
  remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const bin = jealousGit(at, 0, `ln -sfn 'elsewhere:1' '${lockOf(at)}'`)
  const begun = join(at.folder, 'begun')
  const runs = together(at, bin, [{}], `cat > asked; touch '${begun}'`)
  const holder = async () => lstatSync(lockOf(at), { throwIfNoEntry: false }) && readlinkSync(lockOf(at))
  await until(holder, (one) => one === 'elsewhere:1')
  // After the fetch it waits for the lock again, to create its worktree.
  await pause(1_000)
  t.equal(await holder(), 'elsewhere:1')
  t.notOk(existsSync(begun))
  rmSync(lockOf(at))
  t.same(await runs, [0])
  t.ok(existsSync(begun))
  t.same(locksOf(at), [])
})
