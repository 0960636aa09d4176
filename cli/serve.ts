/**
 * `intendant serve`: the service in this process, and with --runner a local runner beside it. The first line on
 * standard output is one JSON object for the starting process; everything else goes to standard error.
 */
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { type Answer, type Client, createClient } from '../engine/client.ts'
import { ServiceRefused } from '../engine/errors.ts'
import type { Runner } from '../engine/runner.ts'
import type { Settings } from '../runtime/settings.ts'
import { adminTokenPath } from '../storage/home/home-paths.ts'
import { camel, integer, shellCommand, waitingTime } from './arguments.ts'
import { CliFailure, EXIT, explain } from './exit.ts'
import { finished, startRunnerProcess } from './runner-process.ts'
import { askAndSave, runnerTokenFile } from './runner-token.ts'
import { envOf, flagOf, loadSettings, SETTINGS } from './settings.ts'
import { readTokenFile } from './token-file.ts'
import { VERSION } from './version.ts'
import { type Act, type Cli, originOf, tokenSource } from './world.ts'

const CAPACITY_DEFAULT = 1
const DRAIN_MS_DEFAULT = 30_000
/** Shorter than systemd's stop timeout (packaging/intendant.service). */
const STOP_MS_MAX = 25_000

const HELP = `
Each setting is taken from its flag, else from its environment variable, else from config.json in
the home folder (its name there has _ for -), else from its default.

With --runner and --exec the service also runs a runner on this machine, registered for all projects
and trusted. Nothing isolates the two: the runner's commands run as the service's user. If the
service refuses the runner (removed, invalid token), the runner alone ends: the log says so, and the
service continues. With TLS the runner connects to the address that the service listens on, and
accepts only the certificate of tls_cert there, whatever its names and issuer.

SIGTERM, SIGINT, SIGQUIT and SIGHUP stop it: it accepts nothing new, answers parked polls, tells
streams to reconnect, and finishes within 25 s what it has accepted. A second signal ends it at
once; signals within a second of the one before count as the same. With --runner the 25 s begin when
the runner has ended, after --drain and 10 s for its commands to stop; the second signal ends the
commands, the third ends the process. Nothing that was acknowledged is lost in any case.

Examples:
  intendant serve
  intendant serve --port 0 --home /srv/intendant --retention 90d
  intendant serve --runner local --exec './run-agent.sh'`

export function addServe(program: Command, act: Act): void {
  const serve = program.command('serve').description('Run the service.')
  for (const spec of SETTINGS) {
    const byDefault = spec.byDefault === undefined ? '' : `, default ${spec.byDefault}`
    const help = `${spec.help} (${envOf(spec)}${byDefault})`
    serve.addOption(new Option(`${flagOf(spec)} <${spec.placeholder.toLowerCase()}>`, help))
  }
  serve
    .option('--runner <id>', 'Also run a runner with this id.')
    .option('--exec <command>', "That runner's command.", shellCommand)
    .option('--capacity <n>', 'How many runs that runner holds at once (default: 1)', integer(1, 1000))
    .option('--drain <duration>', 'When asked to stop: how long its current runs may take (default: 30s)', waitingTime)
    .addHelpText('after', HELP)
    .action(act(runService))
}

async function runService(cli: Cli, _: readonly any[], options: any): Promise<number> {
  const { world, print } = cli
  const { runner: runnerId, exec } = options
  if ((runnerId === undefined) !== (exec === undefined)) {
    throw new CliFailure('--runner ID and --exec COMMAND go together.')
  }
  const { capacity = CAPACITY_DEFAULT, drain = DRAIN_MS_DEFAULT } = options
  if (runnerId === undefined && (options.capacity ?? options.drain) !== undefined) {
    throw new CliFailure('--capacity and --drain need --runner ID and --exec COMMAND.')
  }
  const flags = Object.fromEntries(SETTINGS.map((spec) => [spec.name, options[camel(spec.name)]]))
  const settings = loadSettings({ flags: { ...flags, home: cli.globals.home }, env: world.env })
  // Registered before the start, so that a stop during the start is not lost.
  let stop = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
  })
  let runner: Runner | undefined
  world.onStopSignal((count) => {
    stop()
    if (count > (runner === undefined ? 1 : 2)) {
      runner?.kill()
      world.exit(EXIT.interrupted)
    } else if (count > 1) runner?.stop()
  })
  // Imported here because no other command uses the native libraries.
  const { startService } = await import('../http/service.ts')
  const service = await startService(settings, { version: VERSION })
  print.line(
    JSON.stringify({ listening: service.url, home: settings.home, admin_token_file: adminTokenPath(settings.home) }),
  )
  try {
    if (runnerId === undefined) {
      await stopped
      return EXIT.ok
    }
    const place = placeOf(service.url, settings)
    if (!(await registered(cli, { home: settings.home, id: runnerId, capacity, place }))) {
      await stopped
      return EXIT.ok
    }
    const tokenFile = runnerTokenFile(settings.home, runnerId)
    runner = startRunnerProcess(world, runnerId, exec, {
      ...options,
      capacity,
      drain,
      stopGrace: 10_000,
      ...place,
      token: tokenSource(tokenFile, true, world.env),
      tokenMayChange: true,
    })
    const ended = finished(runner, runnerId, tokenFile).catch((error) => tellWithoutRunner(cli, error))
    await stopped
    runner.drain()
    await ended
    return EXIT.ok
  } finally {
    // Everything acknowledged is on disk. What a stop finishes beyond that is a courtesy, and is limited in time.
    const limit = setTimeout(() => {
      world.stderr.write(`intendant: the stop took longer than ${STOP_MS_MAX / 1_000} s and was cut short.\n`)
      world.exit(EXIT.failed)
    }, STOP_MS_MAX)
    await service.close()
    clearTimeout(limit)
  }
}

/** Where this service is reached locally, and its certificate, whose names are for clients outside. */
interface Place {
  readonly url: string
  readonly certificate?: string
}

function placeOf(url: string, { tls }: Settings): Place {
  return { url, ...(tls === undefined ? {} : { certificate: readFileSync(tls.certFile, 'utf8') }) }
}

/** The service goes on for others even if it refuses the local runner. */
function tellWithoutRunner({ note }: Cli, error: unknown): void {
  note(`intendant: the service continues without its local runner: ${explain(error).text}`)
}

/**
 * Whether the local runner is registered now. One that was removed for good is reported and gives false; throws any
 * other error.
 */
async function registered(cli: Cli, runner: LocalRunner): Promise<boolean> {
  try {
    await registerRunner(cli, runner)
    return true
  } catch (error) {
    if (!(error instanceof ServiceRefused) || error.problem.code !== 'runner_removed') throw error
    tellWithoutRunner(cli, error)
    return false
  }
}

interface LocalRunner {
  readonly home: string
  readonly id: string
  readonly capacity: number
  readonly place: Place
}

/**
 * Makes sure that the local runner is registered and that its token is in the home folder. A token that is invalid or
 * unknown to the service (from another home) is replaced. That, and setting what the runner may take, needs an admin's
 * token.
 */
async function registerRunner(cli: Cli, { home, id, capacity, place }: LocalRunner): Promise<void> {
  const grants = { allowed_projects: ['*'], capacity, trusted: true }
  const path = `/api/runners/${encodeURIComponent(id)}`
  const kept = readTokenFile(runnerTokenFile(home, id)).token
  const isKept = kept !== undefined && (await isTaken(place, kept))
  const saved = async (what: string, ask: () => Promise<Answer>): Promise<void> => {
    await askAndSave({ home, id, done: `runner ${id} has a ${what}` }, ask)
  }
  try {
    const admin = adminClient(home, place)
    try {
      await admin.request('PATCH', path, { body: grants })
    } catch (error) {
      if (!(error instanceof ServiceRefused) || error.problem.code !== 'not_found') throw error
      return await saved('token', () => admin.request('POST', '/api/runners', { body: { id, ...grants } }))
    }
    if (!isKept) await saved('new token', () => admin.request('POST', `${path}/token`))
  } catch (error) {
    // As OPERATIONS.md advises: the first admin token is revoked, and no other is stored there.
    const isWithoutAdmin = error instanceof NoAdminToken || (error instanceof ServiceRefused && isNoAdmin(error))
    if (!isKept || !isWithoutAdmin) throw error
    cli.note(`intendant: what the local runner may take was not updated: ${error.message}`)
  }
}

class NoAdminToken extends CliFailure {}

function adminClient(home: string, place: Place): Client {
  const file = adminTokenPath(home)
  const { token, fault, cause } = readTokenFile(file)
  if (token === undefined) throw new NoAdminToken(`the token file ${file} ${fault}.`, EXIT.usage, cause)
  const userAgent = `intendant-serve/${VERSION}`
  return createClient({ ...place, token: () => token, userAgent, origin: originOf('intendant serve') })
}

function isNoAdmin({ problem }: ServiceRefused): boolean {
  return problem.status === 401 || problem.code === 'forbidden'
}

async function isTaken(place: Place, token: string): Promise<boolean> {
  try {
    const client = createClient({ ...place, token: () => token, userAgent: `intendant-serve/${VERSION}` })
    await client.request('GET', '/api/version')
    return true
  } catch (error) {
    if (error instanceof ServiceRefused) return error.problem.status !== 401
    throw error
  }
}
