/** A repository for `intendant agent`, agents made of shell words, and readers of what it reports. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { runAgent } from '../../../engine/agent/agent.ts'
import { validatePayload } from '../../../machines/events/index.ts'
import { BINARY } from '../../binary.ts'
import { hired } from '../hired.ts'
import { executionRequest } from '../stand-in.ts'

/** The arguments for Node.js, and the same as the command of a runner. */
export const ARGUMENTS = [BINARY, 'agent']
export const COMMAND = [process.execPath, ...ARGUMENTS].join(' ')
/** The committer, because the git settings name none. */
export const WHO = ['-c', 'user.name=a', '-c', 'user.email=a@b']

/** Runs git in that folder's own repository, and never in the one that the tests run in. */
export const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, GIT_CEILING_DIRECTORIES: dirname(folder) },
  }).trim()

export interface Place {
  readonly repository: string
  readonly folder: string
  readonly base: string
  readonly environment: Record<string, string | undefined>
}

/** What nothing here is about, and git would do after most of its work. */
const SETTINGS = '[maintenance]\n\tauto = false\n[receive]\n\tautogc = false\n[core]\n\tfsync = none\n'
const ORIGINALS = mkdtempSync(join(tmpdir(), 'places-'))
process.once('exit', () => rmSync(ORIGINALS, { recursive: true }))

/** A repository to be copied for each test, which is cheaper than to make one: a clone with one commit, or a bare one without. */
function original(name: 'shop' | 'remote.git'): string {
  const folder = join(ORIGINALS, name)
  if (existsSync(folder)) return folder
  const bare = name === 'shop' ? [] : ['--bare']
  git(ORIGINALS, 'init', '--quiet', '--template=', '--initial-branch=main', ...bare, folder)
  mkdirSync(join(folder, git(folder, 'rev-parse', '--git-dir'), 'hooks'))
  if (name !== 'shop') return folder
  writeFileSync(join(folder, 'README'), 'shop\n')
  git(folder, 'add', '--all')
  git(folder, ...WHO, 'commit', '--quiet', '-m', 'begin')
  return folder
}

/** A repository with one commit, isolated from the git settings of whoever runs the tests. */
export function place(t: Test): Place {
  const folder = t.testdir()
  const repository = join(folder, 'shop')
  mkdirSync(join(folder, 'tmp'))
  writeFileSync(join(folder, '.gitconfig'), SETTINGS)
  const environment = {
    PATH: process.env.PATH,
    HOME: folder,
    TMPDIR: join(folder, 'tmp'),
    TRANSCRIPTS: join(folder, 'transcripts'),
    REPOSITORY: repository,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CEILING_DIRECTORIES: folder,
  }
  cpSync(original('shop'), repository, { recursive: true })
  return {
    repository,
    folder,
    base: readFileSync(join(repository, '.git/refs/heads/main'), 'utf8').trim(),
    environment,
  }
}

export const task = (more: Record<string, any> = {}, engine: Record<string, any> = {}) =>
  executionRequest('runreq_1', {
    engine: {
      entry_event: 'execution_requested',
      throttle: 'full',
      access: 'full',
      payload: { item_id: 'wi_1', objective: 'Say hello\nto everyone', ...more },
      ...engine,
    },
  })

export interface Done {
  readonly code: number | null
  readonly lines: readonly Record<string, any>[]
  readonly stderr: string
}

/** Longer than any run takes that does not hang, milliseconds. */
const RUN_MS = 120_000

/**
 * Does the run in this process, which saves the start of another: nothing may kill it, and it sees a worktree or a lock
 * of an earlier run of this kind as that of a process that lives.
 */
export async function run({ environment }: Place, request: object, more: Record<string, string>): Promise<Done> {
  const its: NodeJS.ProcessEnv = { ...environment, ...more }
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const [out, err] = [text(stdout), text(stderr)]
  const { TMPDIR } = process.env
  process.env.TMPDIR = its.TMPDIR
  try {
    const readInput = (): string => JSON.stringify(request)
    const code = await runAgent({ environment: its, readInput, stdout, stderr, outlive() {} })
    stdout.end()
    stderr.end()
    return { code, lines: linesOf(await out), stderr: await err }
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
}

/** The same in a process of its own, as a runner starts it: for runs that are killed, or change what Node.js does. */
export function runAsProcess({ environment }: Place, request: object, more: Record<string, string>): Done {
  const { status, stdout, stderr } = spawnSync(process.execPath, ARGUMENTS, {
    encoding: 'utf8',
    input: JSON.stringify(request),
    env: { ...environment, ...more },
    timeout: RUN_MS,
    killSignal: 'SIGKILL',
  })
  return { code: status, lines: linesOf(stdout), stderr }
}

const linesOf = (stdout: string): Done['lines'] =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** A started run, and what it has printed so far. */
export function begin({ environment }: Place, request: object, more: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, ARGUMENTS, { env: { ...environment, ...more }, stdio: 'pipe' })
  const printed = { out: '', err: '' }
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    printed.out += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    printed.err += text
  })
  child.stdin!.end(JSON.stringify(request))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { child, printed, ended }
}

/** For `--eval`: starts COMMAND as the bundled runner does, through a shell in a process group of its own. */
const RUNNER = `
import { spawn } from 'node:child_process'
const child = spawn('/bin/sh', ['-c', process.env.COMMAND], { detached: true })
process.stdin.pipe(child.stdin)
child.stdout.resume()
child.stderr.resume()
`

/** A runner that starts the command, reads its output and does nothing else; it is killed when the test ends. */
export function startedUnder(t: Test, { environment }: Place, request: object, more: Record<string, string>) {
  const runner = spawn(process.execPath, ['--input-type=module', '--eval', RUNNER], {
    env: { ...environment, ...more, COMMAND },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  runner.stdin.end(JSON.stringify(request))
  t.teardown(() => runner.kill('SIGKILL'))
  return runner
}

/** Installs a `git` that runs these shell words before one kind of operation; returns the PATH that has it. */
export function gitThat({ folder }: Place, what: string, does: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const shim = `#!/bin/sh\ncase "$*" in *' ${what} '*) ${does};; esac\nPATH='${process.env.PATH}' exec git "$@"\n`
  writeFileSync(join(bin, 'git'), shim, { mode: 0o755 })
  return `${bin}:${process.env.PATH}`
}

/** For `gitThat`: ends the command, and not the push, once the remote has taken or refused what goes to trunk. */
export const KILLED_PUSH = (isTaken: boolean): string => {
  const push = isTaken ? `PATH='${process.env.PATH}' git "$@"; ` : ''
  return `case "$*" in *:refs/heads/main) ${push}kill -9 $PPID; exit 1;; esac`
}

/** The payloads of these events, each validated against the catalogue. */
export function said(t: Test, { lines }: Done, type: string): Record<string, any>[] {
  const payloads = lines.filter((line) => line.event_type === type).map(({ payload }) => payload)
  for (const payload of payloads) t.same(validatePayload(type, payload), [], type)
  return payloads
}

/** Creates the bare repository that is `origin`. */
export function remoteOf({ repository, folder }: Place): string {
  const remote = join(folder, 'remote.git')
  cpSync(original('remote.git'), remote, { recursive: true })
  git(repository, 'remote', 'add', 'origin', remote)
  return remote
}

export function assertTidy(t: Test, { repository, folder }: Place): void {
  t.equal(git(repository, 'worktree', 'list').split('\n').length, 1, 'no worktree is left')
  t.equal(git(repository, 'status', '--porcelain'), '', 'the checkout is unchanged')
  t.equal(execFileSync('find', [join(folder, 'tmp'), '-mindepth', '1'], { encoding: 'utf8' }), '')
}

export const BRANCH = 'intendant/runreq_1-1'

/** Shell words by which somebody else commits to trunk of the remote. */
export function elsewhere({ folder }: Place, remote: string, change: string): string {
  const other = join(folder, 'other')
  const all = [
    `rm -rf ${other}`,
    `git clone --quiet ${remote} ${other}`,
    `cd ${other}`,
    change,
    'git add --all',
    `git ${WHO.join(' ')} commit --quiet -m other`,
    'git push --quiet',
  ]
  return `(${all.join(' && ')})`
}

/** A place whose remote has trunk, and the settings to land there. */
export function landing(t: Test) {
  const at = place(t)
  const remote = remoteOf(at)
  git(at.repository, 'push', '--quiet', 'origin', 'main')
  const lands = { PUSH: 'origin', LAND: 'main' }
  return { at, remote, lands, trunk: () => git(remote, 'rev-parse', 'main') }
}

/**
 * A task under the bundled runner, with an agent that says `begun` on standard error and is then told to stop. Resolves
 * to the stand-in of the service once the runner has ended.
 */
export async function stoppedOnceBegun(t: Test, environment: Place['environment']) {
  // A stop is heard of by the answer to a heartbeat.
  const { service, runner } = await hired(t, COMMAND, { environment, stopGraceMs: 10_000, heartbeatMs: 1_000 })
  service.offer(task())
  await service.until((post) => JSON.stringify(post.body).includes('begun'))
  service.answers.set('runreq_1', { cancel_requested: true })
  await runner.finished
  return service
}
