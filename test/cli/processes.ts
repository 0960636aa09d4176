/**
 * Runs the built binary as processes: a service with a home of its own, and command lines against it. A command as a
 * process takes half a second of CPU, nearly all of it its start, so that most of them run in the test's process.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import type { Test } from 'tap'
import { BINARY } from '../binary.ts'
import { NOWHERE } from '../nowhere.ts'
import { cli } from './in-process.ts'

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Served {
  readonly url: string
  readonly home: string
  readonly child: ChildProcess
  readonly env: NodeJS.ProcessEnv
  /** Standard error so far. */
  log(): string
  /** Runs a command line against this service, in this process. */
  cli(...argv: string[]): Promise<Ended>
  /** The same in a process of its own: what its exit code is, and what it writes there. */
  asProcess(...argv: string[]): Promise<Ended>
  /** Starts a command line that keeps running. */
  start(...argv: string[]): Running
  /** Stops the service with the signal, and resolves with its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export interface Running {
  readonly child: ChildProcess
  out(): string
  err(): string
  /** Resolves when standard output satisfies `matches`. */
  until(matches: (out: string) => boolean): Promise<void>
  readonly ended: Promise<number | null>
}

/** The environment of a process unless a test says otherwise. */
export const ENV: NodeJS.ProcessEnv = { PATH: process.env.PATH, HOME: NOWHERE, NO_COLOR: '1' }

/** Starts a command line that is killed at the end of the test. */
export function start(test: Test, env: NodeJS.ProcessEnv, ...argv: string[]): Running {
  const child = spawn(process.execPath, [BINARY, ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  const waiting = new Set<() => void>()
  child.stdout.on('data', (chunk) => {
    out += chunk
    for (const look of waiting) look()
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  test.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    child,
    out: () => out,
    err: () => err,
    ended,
    until: (matches) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!matches(out)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        void ended.then((code) =>
          reject(new Error(`ended with ${code} before it said what was waited for.\n${out}\n${err}`)),
        )
      }),
  }
}

/** Runs a command line that needs no service. */
export function command(...argv: string[]): Promise<Ended> {
  return runCommand(argv, ENV)
}

/** Runs a command line with the given environment, and with `input` on its standard input. */
export function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv, input?: string): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [BINARY, ...argv], { env, timeout: 30_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err })
    })
    if (input !== undefined) child.stdin!.end(input)
  })
}

/** Starts `intendant serve` on the home and a free port (or the given one), and waits until it listens. */
export async function serve(test: Test, home: string, ...argv: string[]): Promise<Served> {
  const port = argv.includes('--port') ? [] : ['--port', '0']
  const running = start(test, ENV, 'serve', '--home', home, ...port, ...argv)
  await running.until((out) => out.includes('\n'))
  const { listening } = JSON.parse(running.out().split('\n')[0]!)
  const env = { ...ENV, ENGINE_HOME: home, ENGINE_URL: listening }
  return {
    url: listening,
    home,
    child: running.child,
    env,
    log: running.err,
    cli: (...args) => cli(env as Record<string, string>, ...args),
    asProcess: (...args) => runCommand(args, env),
    start: (...args) => start(test, env, ...args),
    end(signal) {
      running.child.kill(signal)
      return running.ended
    },
  }
}
