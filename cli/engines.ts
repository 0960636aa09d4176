/** `intendant engine`: what the engines of a project declare they can do. */
import type { Command } from 'commander'
import { collect, jsonObject, LIMIT, ORIGIN } from './arguments.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { list } from './lists.ts'
import { safe } from './print.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
A project without manifests has no limits. A runner that a manifest names is offered only what that
manifest covers; no other runner is restricted by it. A manifest that names no runner applies to the
runners without one of their own. Work that nobody could do under these manifests is refused.

Examples:
  intendant engine declare --project shop --engine factory --engine-version 4.2.0 \\
      --entry-event execution_requested --throttle dry_run --throttle full
  intendant engine declare --project shop --runner build-1 --body @manifest.json
  intendant engine list --project shop
  intendant engine remove --project shop --engine factory`

export function addEngines(program: Command, act: Act): void {
  const group = program
    .command('engine')
    .description('Capabilities of engines: declare, list, remove.')
    .addHelpText('after', HELP)
  group
    .command('declare')
    .description('Declare what an engine can do. The newest manifest per runner, or per engine name, applies.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .option('--engine <name>', 'Name of the engine.')
    .option('--engine-version <version>', 'Its version.')
    .option('--runner <id>', 'The runner that it is for.')
    .option('--entry-event <type>', 'An event for which it starts work; * for any. May be repeated.', collect)
    .option('--throttle <throttle>', 'dry_run or full. May be repeated.', collect)
    .option('--block <name>', 'A workflow block that it supports. May be repeated.', collect)
    .option('--body <json>', 'Further members of the manifest, as in the API: a JSON object, or @FILE.', jsonObject)
    .option(...ORIGIN)
    .action(act(declare))
  group
    .command('list')
    .alias('ls')
    .description('List the manifests of a project.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .option(...LIMIT)
    .action(act(listEngines))
  group
    .command('remove')
    .description('Withdraw a manifest: that of a runner, or of an engine without a runner.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .option('--engine <name>', 'Name of the engine.')
    .option('--runner <id>', 'The runner that the manifest is for.')
    .option(...ORIGIN)
    .action(act(removeEngine))
}

function path(project: string): string {
  return `/api/projects/${encodeURIComponent(project)}/engine-capabilities`
}

async function declare({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, engine, engineVersion, runner, entryEvent, throttle, block } = options
  const said = {
    engine,
    engine_version: engineVersion,
    runner_id: runner,
    supported_entry_events: entryEvent,
    supported_throttle_modes: throttle,
    registered_blocks: block,
  }
  const manifest = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
  const { body } = await client.request('POST', path(project), { body: { ...options.body, ...manifest } })
  if (json) return print.json(body)
  const who = body.runner_id === undefined ? '' : ` of runner ${body.runner_id}`
  print.line(`Engine ${safe(body.engine)} ${safe(body.engine_version)}${who}: ${serves(body)}.`)
}

async function removeEngine({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, engine, runner } = options
  if ((engine === undefined) === (runner === undefined)) throw new CliFailure('Name either --runner or --engine.')
  const { items } = await list(client, path(project), Number.POSITIVE_INFINITY)
  const isMeant = (one: any) => one.runner_id === runner && (runner !== undefined || one.engine === engine)
  const manifest = items.find(isMeant)
  const whose = runner === undefined ? `engine ${engine} without a runner` : `runner ${runner}`
  if (manifest === undefined) throw new CliFailure(`No manifest of ${whose} in ${project}.`, EXIT.refused)
  await client.request('DELETE', `${path(project)}/${manifest.id}`)
  if (json) return print.json(manifest)
  print.line(`The manifest of ${safe(whose)} no longer applies.`)
}

async function listEngines({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { items, more } = await list(client, path(options.project), options.limit)
  if (json) return print.json(items)
  const rows = items.map((item) => [
    safe(item.engine),
    safe(item.engine_version),
    item.runner_id ?? 'any',
    print.tint(item.state, item.state === 'current' ? 'good' : 'dim'),
    print.age(item.recorded_at),
    serves(item),
  ])
  const none = 'No manifests: any engine may get any work of this project.'
  print.table(['ENGINE', 'VERSION', 'RUNNER', 'STATE', 'AGE', 'SERVES'], rows, none)
  print.rest(items.length, more)
}

function serves({ supported_entry_events: events, supported_throttle_modes: throttles }: Document): string {
  return `${events.join(', ') || 'no entry event'} at ${throttles.join(', ') || 'no throttle'}`
}
