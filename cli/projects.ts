/** `intendant project`: the projects whose work is handed out. */
import { Argument, type Command } from 'commander'
import { LIMIT, ORIGIN } from './arguments.ts'
import { addCharter } from './charter.ts'
import { CliFailure } from './exit.ts'
import { list } from './lists.ts'
import { movesOf } from './moves.ts'
import { safe } from './print.ts'
import { usageFields } from './usage-fields.ts'
import type { Act, Cli } from './world.ts'

export function addProjects(program: Command, act: Act): void {
  const project = program.command('project').description('Projects: add, edit, list, show, charter, archive, restore.')

  project
    .command('add')
    .description('Create a project.')
    .requiredOption('--name <name>', 'Its display name.')
    .option(
      '--key <key>',
      'Its name in every event: lower-case letters, digits, - and _. Default: derived from the name.',
    )
    .option('--repository <path>', 'Where its code lives: a URL or a path that its runners understand.')
    .option(...ORIGIN)
    .addHelpText(
      'after',
      '\nExample:\n  intendant project add --name "Web shop" --key shop --repository git@example.com:shop.git',
    )
    .action(act(add))

  project
    .command('list')
    .alias('ls')
    .description('List the projects.')
    .option(...LIMIT)
    .action(act(listProjects))

  project.command('show').description('Show one project.').argument('<project>', 'Key or id.').action(act(show))
  addCharter(project, act)
  project
    .command('edit')
    .description('Change its display name or repository. Its key, and what is not named, stay as they are.')
    .argument('<project>', 'Key or id.')
    .option('--name <name>', 'Its display name.')
    .option('--repository <path>', 'Where its code lives: a URL or a path that its runners understand.')
    .option('--no-repository', 'Remove its repository.')
    .option(...ORIGIN)
    .action(act(edit))

  const move = movesOf(project, () => new Argument('<project>', 'Key or id.'))
  move('archive', 'Start nothing in it and take no new work. What a runner has accepted continues.').action(
    act((cli, [id]) => setArchived(cli, id, true)),
  )
  move('restore', 'Restore an archived project: waiting work continues.').action(
    act((cli, [id]) => setArchived(cli, id, false)),
  )
}

async function setArchived({ client, json, print }: Cli, id: string, archived: boolean): Promise<void> {
  const { body } = await client.request('PATCH', `/api/projects/${encodeURIComponent(id)}`, { body: { archived } })
  if (json) print.json(body)
  else print.line(`Project ${body.key} is ${print.state(body.state)}.`)
}

async function add({ client, json, print }: Cli, _: readonly any[], { key, name, repository }: any): Promise<void> {
  const { body } = await client.request('POST', '/api/projects', { body: { key, name, repository } })
  if (json) print.json(body)
  else print.line(`Project ${body.key} created (${body.id}).`)
}

async function edit({ client, json, print }: Cli, [id]: readonly any[], { name, repository }: any): Promise<void> {
  const changed = { name, repository: repository === false ? null : repository }
  if (Object.values(changed).every((value) => value === undefined))
    throw new CliFailure('Nothing to change: give --name, --repository or --no-repository.')
  const { body } = await client.request('PATCH', `/api/projects/${encodeURIComponent(id)}`, { body: changed })
  if (json) print.json(body)
  else
    print.line(`Project ${body.key} is called ${safe(body.name)}; its repository: ${safe(body.repository ?? 'none')}.`)
}

async function listProjects({ client, json, print }: Cli, _: readonly any[], { limit }: any): Promise<void> {
  const { items, more } = await list(client, '/api/projects', limit)
  if (json) return print.json(items)
  const rows = items.map((item) => [item.key, print.state(item.state), print.age(item.created_at), safe(item.name)])
  print.table(
    ['KEY', 'STATE', 'AGE', 'NAME'],
    rows,
    'No projects yet. Create one with: intendant project add --name NAME',
  )
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', `/api/projects/${encodeURIComponent(id)}`)
  if (json) return print.json(body)
  print.fields([
    ['key', body.key],
    ['id', body.id],
    ['name', safe(body.name)],
    ['state', print.state(body.state)],
    ['repository', body.repository],
    ['created', body.created_at],
    ['archived', body.archived_at],
    ...usageFields(body.usage),
  ])
}
