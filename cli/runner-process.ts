/** The bundled runner as a process: its options, its log on standard error, its signals and its exit code. */
import { statSync } from 'node:fs'
import { createClient } from '../engine/client.ts'
import { ServiceRefused } from '../engine/errors.ts'
import type { Proxies } from '../engine/proxy.ts'
import type { RunEnd } from '../engine/run-options.ts'
import { type Runner, startRunner } from '../engine/runner.ts'
import { CliFailure, EXIT } from './exit.ts'
import { jsonText, safe } from './print.ts'
import { runnerTokenFile } from './runner-token.ts'
import { VERSION } from './version.ts'
import { type Cli, type GlobalOptions, proxiesIn, serviceUrl, tokenFrom, tokenSource, type World } from './world.ts'

interface RunnerProcessOptions extends GlobalOptions {
  readonly id?: string
  readonly exec?: string
  readonly dir?: string
  readonly capacity?: number
  readonly once?: boolean
  readonly drain: number
  readonly stopGrace: number
}

export async function runRunner(cli: Cli, _: readonly any[], options: RunnerProcessOptions): Promise<number> {
  const { id, exec } = options
  if (id === undefined || exec === undefined) {
    throw new CliFailure('a runner needs --id ID and --exec COMMAND (or a subcommand: see intendant runner --help).')
  }
  const { world, home, globals } = cli
  const tokenFile = globals.tokenFile ?? runnerTokenFile(home, id)
  const isNamed = globals.tokenFile !== undefined
  const from = tokenFrom(tokenFile, isNamed, world.env)
  const runner = startRunnerProcess(world, id, exec, {
    ...options,
    url: serviceUrl(globals, world.env, home),
    token: tokenSource(tokenFile, isNamed, world.env),
    tokenMayChange: from !== 'ENGINE_TOKEN',
    proxies: proxiesIn(world.env),
  })
  world.onStopSignal((count) => {
    if (count === 1) runner.drain()
    else if (count === 2) runner.stop()
    else if (count === 3) runner.kill()
    else world.exit(EXIT.interrupted)
  })
  return exitCodeOf(await finished(runner, id, from), options.once ?? false)
}

/** Starts the loop with its log on standard error. */
export function startRunnerProcess(
  world: World,
  id: string,
  exec: string,
  options: Omit<RunnerProcessOptions, 'url'> & {
    readonly url: string
    readonly token: () => string
    /** Whether the token is read anew for each request. */
    readonly tokenMayChange: boolean
    readonly proxies?: Proxies
    readonly certificate?: string
  },
): Runner {
  const { dir, proxies, certificate } = options
  if (dir !== undefined && !isFolder(dir)) throw new CliFailure(`--dir is "${dir}", which is not a folder.`)
  return startRunner({
    client: createClient({
      url: options.url,
      token: options.token,
      userAgent: `intendant-runner/${VERSION}`,
      ...(proxies === undefined ? {} : { proxies }),
      ...(certificate === undefined ? {} : { certificate }),
    }),
    id,
    command: exec,
    ...(dir === undefined ? {} : { cwd: dir }),
    ...(options.capacity === undefined ? {} : { capacity: options.capacity }),
    environment: world.env,
    tokenMayChange: options.tokenMayChange,
    version: VERSION,
    once: options.once ?? false,
    drainMs: options.drain,
    stopGraceMs: options.stopGrace,
    log(text) {
      const at = new Date().toISOString()
      world.stderr.write(`${options.json ? jsonText({ note: text, at }) : `${at} runner: ${safe(text)}`}\n`)
    },
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/**
 * The ends of the runner's runs; a refusal of the runner itself becomes a sentence that says what to do.
 * @param from where its token comes from, in words
 */
export async function finished(runner: Runner, id: string, from: string): Promise<readonly RunEnd[]> {
  try {
    return await runner.finished
  } catch (error) {
    if (!(error instanceof ServiceRefused)) throw error
    const { status, code } = error.problem
    if (code === 'not_the_runner' || status === 401) {
      const what = status === 401 ? 'is unknown to the service' : `is not runner ${id}'s own`
      const message =
        `the token ${what}; it comes from ${from}. A runner needs its own token, not a person's, least ` +
        `of all an admin's. Get one with: intendant runner token ${id} --save-token`
      const hint = from === 'ENGINE_TOKEN' ? ' (that file is read only if ENGINE_TOKEN is not set)' : ''
      throw new CliFailure(message + hint, EXIT.refused, error)
    }
    if (code === 'not_found') {
      const message = `there is no runner ${id}. Register it with: intendant runner add ${id} --project KEY --save-token`
      throw new CliFailure(message, EXIT.refused, error)
    }
    throw error
  }
}

function exitCodeOf(ends: readonly RunEnd[], once: boolean): number {
  if (ends.includes('unreported')) return EXIT.unreachable
  if (!once) return EXIT.ok
  switch (ends.at(-1)) {
    case 'completed':
      return EXIT.ok
    case 'cancelled':
      return EXIT.cancelled
    // Stopped before a run came, or before a run's command had begun: nothing failed, and nothing was done.
    case undefined:
    case 'released':
      return EXIT.interrupted
    default:
      return EXIT.failed
  }
}
