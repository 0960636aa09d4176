/**
 * Commands that change one entity or many: by ids, by the ids on standard input, or by a filter. With a filter the command lists
 * what it has found and asks before it changes that.
 */
import type { Command } from 'commander'
import { ORIGIN } from './arguments.ts'
import { BATCH_MAX, type Deed, type Done, performAll, type Target } from './batch.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { type Filters, stateOption } from './filters.ts'
import { IdArgument } from './ids.ts'
import { listWhere } from './lists.ts'
import { pipedIds } from './piped-ids.ts'
import { safe } from './print.ts'
import { counted } from './units.ts'
import type { Act, Cli } from './world.ts'

export interface BatchCommand {
  readonly name: string
  readonly description: string
  readonly of: Filters
  /** Such as `cancelled`. */
  readonly done: string
  /** Adds its own options. */
  readonly options?: (command: Command) => Command
  /** States in which a filter looks, and those if no state is given; absent: the entities have no such states. */
  readonly states?: readonly [from: readonly string[], byDefault: readonly string[]]
  /** Whether it can be done to the entity as it is now: for what a filter finds, and for `--dry-run`. */
  readonly takes: (document: Document) => boolean
  /** Done to one; `found` only with a filter. */
  readonly perform: (cli: Cli, target: Target, options: any) => Promise<Done>
  /** Follows one that was named alone. */
  readonly after?: (cli: Cli, done: Done, options: any) => Promise<number | undefined>
}

/** Adds it to its group. */
export function batchCommand(group: Command, act: Act, batch: BatchCommand): Command {
  const { name, description, of, states, options = (command) => command } = batch
  const example = of.kind.prefix === undefined ? 'Ids' : `Ids, ${of.kind.prefix}..., or their beginnings`
  const command = group
    .command(name)
    .description(description)
    .addArgument(
      new IdArgument(
        '[id...]',
        `${example}; -: those on standard input, one per line or JSON. Without: a filter.`,
        of.kind,
      ),
    )
  of.add(command)
  if (states !== undefined) command.addOption(stateOption(states[0], stateHelp(...states)))
  return options(command)
    .option('--dry-run', 'Only show what would be done, and what would be refused.')
    .option('--yes', 'Do not ask before changing what a filter finds.')
    .option('--stop-at-refusal', 'Take one after the other, and none after the first refusal.')
    .option(...ORIGIN)
    .action(act((cli, [given], parsed) => run(cli, given, parsed, batch)))
}

function stateHelp(from: readonly string[], byDefault: readonly string[]): string {
  return from.length === 1 ? 'Only in this state.' : `Only in this state. Default: ${byDefault.join(', ')}.`
}

async function run(cli: Cli, given: readonly string[], options: any, batch: BatchCommand): Promise<number | undefined> {
  const { name, of, states } = batch
  const { dryRun, stopAtRefusal } = options
  const filters = states === undefined ? of.names : [...of.names, 'state']
  const isFiltered = filters.some((filter) => options[filter] !== undefined)
  const isPiped = given.includes('-')
  if (isFiltered === given.length > 0 || (isPiped && given.length > 1))
    throw new CliFailure(
      `Name each ${of.noun} to ${name}, or give - alone for the ids on standard input, or filter them by ${inWords(filters)}: one of the three.`,
    )
  if (options.wait !== undefined || options.waitLimit !== undefined) assertAlone(given)
  const deed = deedOf(batch, options)
  const [only, ...others] = [...new Set(given)]
  if (only !== undefined && others.length === 0 && !isPiped && !dryRun) {
    const done = await deed.perform(cli, { id: only })
    if (batch.after !== undefined) return await batch.after(cli, done, options)
    if (cli.json) cli.print.json(done.document)
    else cli.print.line(done.line)
    return undefined
  }
  const atRefusal = stopAtRefusal ? 'stop' : 'continue'
  if (!isFiltered) {
    const ids = isPiped ? pipedIds(of.kind) : [...new Set(given)]
    const named = ids.map((id) => ({ id }))
    await performAll(cli, dryRun ? rehearsal(batch) : deed, named, atRefusal)
    return undefined
  }
  const found = await find(cli, batch, options)
  if (found.length === 0) {
    if (!cli.json) cli.print.line(`No ${of.noun} that can be ${batch.done} matches.`)
    return undefined
  }
  if (dryRun) return void tellFound(cli, batch, found)
  if (!(await isSure(cli, batch, found, options))) return EXIT.failed
  const targets = found.map((document) => ({ id: document.id, found: document }))
  await performAll(cli, deed, targets, atRefusal)
  return undefined
}

function assertAlone(given: readonly string[]): void {
  if (given.length !== 1 || given[0] === '-') throw new CliFailure('--wait and --wait-limit go with one id.')
}

/** `--older-than` and the others, as they are typed. */
function inWords(names: readonly string[]): string {
  const flags = names.map((name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`)
  return `${flags.slice(0, -1).join(', ')} or ${flags.at(-1)}`
}

function deedOf({ of, done, perform }: BatchCommand, options: any): Deed {
  return { noun: of.noun, done, perform: (cli, target) => perform(cli, target, options) }
}

/** Reads each, and says whether it would be taken as it is now. */
function rehearsal({ of, done, takes }: BatchCommand): Deed {
  return {
    ...{ noun: of.noun, done, isRehearsal: true },
    async perform({ client, print }, { id }) {
      const { body: document } = await client.request('GET', `${of.kind.path}/${encodeURIComponent(id)}`)
      const stands = `it is ${print.state(document.state)}${document.reason === undefined ? '' : `: ${safe(document.reason)}`}`
      if (!takes(document)) throw new CliFailure(stands, EXIT.refused)
      return { document, line: `${id} would be ${done}: ${stands}` }
    },
  }
}

/** What the filter finds and the command takes, oldest first. */
async function find(
  { client, note }: Cli,
  { of, states, takes, done }: BatchCommand,
  options: any,
): Promise<Document[]> {
  const query = { ...of.query(options), ...(states === undefined ? {} : { state: options.state ?? states[1] }) }
  let others = 0
  const { items, more } = await listWhere(client, of.kind.path, BATCH_MAX, query, (document) => {
    if (!of.keeps(options, document)) return false
    if (takes(document)) return true
    others += 1
    return false
  })
  if (others > 0) note(`${others} more ${others === 1 ? 'matches' : 'match'}, but cannot be ${done}.`)
  if (more) note(`These are ${BATCH_MAX}; there are more: give the command again for them.`)
  return items.toReversed()
}

/** Lists what would be done. */
function tellFound({ json, print }: Cli, { of, done }: BatchCommand, found: readonly Document[]): void {
  if (json) for (const document of found) print.jsonLine({ id: document.id, result: 'would_be_done', document })
  else {
    print.heading(`${counted(found.length, of.noun)} to be ${done}`)
    of.show(print, found)
  }
}

/** Lists what would be done, and asks. Throws CliFailure where there is no terminal to ask at. */
async function isSure(cli: Cli, batch: BatchCommand, found: readonly Document[], { yes }: any): Promise<boolean> {
  if (yes) return true
  const { world, json, print } = cli
  tellFound(cli, batch, found)
  const { name, of, done } = batch
  const verb = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const asked = json ? undefined : world.confirm(`${verb} ${counted(found.length, of.noun)}?`)
  if (asked === undefined) throw new CliFailure(`Nothing was ${done}. To change these without being asked, add --yes.`)
  const isConfirmed = await asked
  if (!isConfirmed) print.line(`Nothing was ${done}.`)
  return isConfirmed
}
