/**
 * The command line as a whole: all command groups, the common options, and one way out. A command returns its exit code
 * or throws; nothing in cli/ ends the process.
 */
import { Command, CommanderError } from 'commander'
import type { Client } from '../engine/client.ts'
import { addAgent } from './agent.ts'
import { addArchive } from './archive.ts'
import { addAttention } from './attention.ts'
import { addBackup } from './backup.ts'
import { addBriefs } from './briefs.ts'
import { addCampaigns } from './campaigns.ts'
import { addCompletion } from './completion.ts'
import { addDiscoveries } from './discoveries.ts'
import { addDrift } from './drift.ts'
import { addEmit } from './emit.ts'
import { addEngines } from './engines.ts'
import { addEvents } from './events.ts'
import { ENDS_HELP, EXIT, explain } from './exit.ts'
import { addHypotheses } from './hypotheses.ts'
import { withWholeIds, withWholeNames } from './ids.ts'
import { addInitiatives } from './initiatives.ts'
import { addIntents } from './intents.ts'
import { addOtel } from './otel.ts'
import { addPacing } from './pacing.ts'
import { harmless, jsonText } from './print.ts'
import { addProjects } from './projects.ts'
import { addQueue } from './queue.ts'
import { addRunRequests } from './run-requests.ts'
import { addRunners } from './runners.ts'
import { addSentinels } from './sentinels.ts'
import { addServe } from './serve.ts'
import { withTimes } from './service-clock.ts'
import { addSessions } from './sessions.ts'
import { addStatus } from './status.ts'
import { addTask } from './task.ts'
import { addTokens } from './tokens.ts'
import { addTrace } from './trace.ts'
import { VERSION } from './version.ts'
import { addWatch } from './watch.ts'
import { type Act, type Body, type Cli, openCli, type Sink, type World } from './world.ts'

const GUIDE = `
Examples:
  intendant serve                                   start the service
  intendant project add --name Demo                 a first project
  intendant runner add r1 --project demo --save-token
  intendant runner --id r1 --exec ./work.sh         take its work
  intendant runner --id r1 --exec 'intendant agent' have a coding agent do it
  intendant run-request create --project demo --entry-event greet_requested \\
      --payload '{"name":"Ada"}' --wait
  intendant run-request log ID --follow             what its command prints
  intendant task demo "Tidy up"                     work for the ledger, followed to its end
  intendant queue                                   what runs, what waits and why, what needs you
  intendant campaign                                missions carried out one task at a time
  intendant initiative                              shared outcomes, and what they need from you
  intendant intent add --project demo --title "..." what the project intends to preserve
  intendant drift --project demo                    which intent still holds
  intendant brief create --project demo --objective "..."   what a run is to achieve
  intendant watch                                   everything that happens, live
  intendant status                                  the state of the service; exit code 1 if it is bad

Ids:
  The beginning of an id is enough if no other id begins so: wi_0a1b2c, with at least six characters
  after the underscore. The newest 10,000 of each kind are searched. In commands that only read, names
  of campaigns and initiatives and ids of sessions may be shortened to six characters or more;
  commands that change something need the whole name. Ids of events and traces are given in full.

Environment:
  ENGINE_URL     address of the service (default: the one in the settings of the home, else
                 http://127.0.0.1:7171)
  ENGINE_TOKEN   the bearer token (default: the file admin.token in ENGINE_HOME)
  ENGINE_HOME    the folder in which the service stores its data (default: ~/.engine)
  HTTPS_PROXY    the forward proxy to use (also HTTP_PROXY, NO_PROXY)
  NO_COLOR       set it to turn colours off
`

/** With `--json`, commander's messages about a wrong command line are printed as JSON instead. */
const SILENT: Sink = { write: () => true }

/** Runs a command line (without `node` and the script). Never throws; resolves to the exit code. */
export async function run(argv: readonly string[], world: World): Promise<number> {
  let exitCode: number = EXIT.ok
  let tokenFrom: string | undefined
  const act: Act =
    (body) =>
    async (...args) => {
      const command = args.at(-1) as Command
      // Including the options of parent commands: commander gives an option to the first command that knows it.
      const options = command.optsWithGlobals()
      const cli = openCli(world, options)
      tokenFrom = cli.tokenFrom
      exitCode = (await runBody(cli, command, body, args.slice(0, -2), options)) ?? EXIT.ok
    }
  const isJson = asksForJson(argv)
  const program = makeProgram(isJson ? { ...world, stderr: SILENT } : world, act)
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    const { text, exitCode: code, problem } = explain(error, tokenFrom)
    if (isJson) world.stderr.write(`${jsonText({ ...problem, exit_code: code })}\n`)
    else if (text !== '') world.stderr.write(`intendant: ${harmless(text)}\n`)
    return code
  }
}

/** Runs the command with durations, and abbreviated ids and names, resolved. */
async function runBody(
  cli: Cli,
  command: Command,
  body: Body,
  operands: readonly any[],
  options: any,
): Promise<number | undefined> {
  const client = (): Client => cli.client
  await withTimes(client, cli.clock, options)
  const whole = await withWholeIds(client, command, operands, options)
  try {
    return (await body(cli, whole, options)) ?? undefined
  } catch (error) {
    const named = await withWholeNames(client, command, whole, error)
    if (named === undefined) throw error
    return (await body(cli, named, options)) ?? undefined
  }
}

/** Checked before the command line is parsed, which may fail. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json')
}

/** The program as commander defines it. */
function makeProgram(world: World, act: Act): Command {
  const program = new Command('intendant')
  program
    .description('The control plane for fleets of coding-agent runners.')
    .version(VERSION, '-V, --version', 'Show the version.')
    .helpOption('-h, --help', 'Show this help.')
    .helpCommand('help [command]', 'Show the help of a command.')
    .option('--url <url>', 'Address of the service.')
    .option('--home <dir>', 'The home folder, instead of ENGINE_HOME.')
    .option('--token-file <file>', 'Read the bearer token from this file.')
    .option('--json', 'Print JSON.')
    .configureHelp({
      showGlobalOptions: true,
      helpWidth: Math.max(world.stdout.columns ?? 100, 60),
      // Only the program's own options: those of a group (`runner --exec`, `queue --done`) do not apply to its
      // commands.
      visibleGlobalOptions: (command) => (command === program ? [] : [...program.options]),
    })
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
    })
    .showHelpAfterError('(add --help to see the arguments and options)')
    .exitOverride()
    .addHelpText('after', GUIDE + ENDS_HELP)
  const groups = [
    addServe,
    addProjects,
    addIntents,
    addHypotheses,
    addDiscoveries,
    addDrift,
    addBriefs,
    addTask,
    addQueue,
    addPacing,
    addCampaigns,
    addInitiatives,
    addSentinels,
    addRunners,
    addAgent,
    addEngines,
    addRunRequests,
    addSessions,
    addWatch,
    addEvents,
    addEmit,
    addTrace,
    addOtel,
    addAttention,
    addStatus,
    addTokens,
  ]
  for (const add of groups) add(program, act)
  addBackup(program, act)
  addArchive(program, act)
  addCompletion(program, act)
  return program
}
