/** `intendant project`: the projects whose work is handed out. */
import { Argument, type Command } from 'commander'
import { WRITERS_MAX } from '../machines/bounds.ts'
import { PROJECT_KEY_PATTERN } from '../machines/documents/fields.ts'
import { integer, LIMIT, ORIGIN } from './arguments.ts'
import { addCharter } from './charter.ts'
import { CliFailure } from './exit.ts'
import { list } from './lists.ts'
import { movesOf } from './moves.ts'
import { safe } from './print.ts'
import { counted } from './units.ts'
import { usageFields } from './usage-fields.ts'
import type { Act, Cli } from './world.ts'

const MAX_WRITERS = [
  '--max-writers <n>',
  'Runs that may change its repository at the same time (1 unless set).',
  integer(1, WRITERS_MAX),
] as const

export function addProjects(program: Command, act: Act): void {
  const project = program.command('project').description('Projects: add, edit, list, show, charter, archive, restore.')

  project
    .command('add')
    .description('Create a project.')
    .argument('[key]', 'Its name in every event: lower-case letters, digits, - and _. Default: derived from the name.')
    .option('--name <name>', 'Its display name. Default: as the key.')
    .option('--key <key>', 'The key, as an option.')
    .option('--repository <path>', 'Where its code lives: a URL or a path that its runners understand.')
    .option(...MAX_WRITERS)
    .option(...ORIGIN)
    .addHelpText(
      'after',
      '\nExample:\n  intendant project add shop --name "Web shop" --repository git@example.com:shop.git',
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
    .description('Change its name, its repository, or how many may change that. The key, and what is not named, stay.')
    .argument('<project>', 'Key or id.')
    .option('--name <name>', 'Its display name.')
    .option('--repository <path>', 'Where its code lives: a URL or a path that its runners understand.')
    .option('--no-repository', 'Remove its repository.')
    .option(...MAX_WRITERS)
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

const KEY = new RegExp(PROJECT_KEY_PATTERN)

/** A word that is no key, such as `Web Shop`, is a name: the key is derived from it. */
function namesOf(word: string | undefined, { key, name }: any): { readonly key?: string; readonly name: string } {
  if (word !== undefined && key !== undefined && name !== undefined)
    throw new CliFailure(`The project has the key "${key}", and "${safe(word)}" besides: give one of them.`)
  const called = name ?? word ?? key
  if (called === undefined) throw new CliFailure('Name the project: intendant project add KEY, or --name NAME.')
  const isName = name === undefined && word !== undefined && !KEY.test(word)
  return { key: key ?? (isName ? undefined : word), name: called }
}

async function add({ client, json, print }: Cli, [word]: readonly any[], options: any): Promise<void> {
  const { repository, maxWriters: max_writers } = options
  const { key, name } = namesOf(word, options)
  const { body } = await client.request('POST', '/api/projects', { body: { key, name, repository, max_writers } })
  if (json) print.json(body)
  else print.line(`Project ${body.key} created (${body.id}).`)
}

async function edit({ client, json, print }: Cli, [id]: readonly any[], options: any): Promise<void> {
  const { name, repository, maxWriters: max_writers } = options
  const changed = { name, repository: repository === false ? null : repository, max_writers }
  if (Object.values(changed).every((value) => value === undefined))
    throw new CliFailure('Nothing to change: give --name, --repository, --no-repository or --max-writers.')
  const { body } = await client.request('PATCH', `/api/projects/${encodeURIComponent(id)}`, { body: changed })
  if (json) print.json(body)
  else {
    const { key, max_writers: writers } = body
    const where = `its repository: ${safe(body.repository ?? 'none')}, changed by ${counted(writers, 'run')} at a time`
    print.line(`Project ${key} is called ${safe(body.name)}; ${where}.`)
  }
}

async function listProjects({ client, json, print }: Cli, _: readonly any[], { limit }: any): Promise<void> {
  const { items, more } = await list(client, '/api/projects', limit)
  if (json) return print.json(items)
  const rows = items.map((item) => [item.key, print.state(item.state), print.age(item.created_at), safe(item.name)])
  print.table(['KEY', 'STATE', 'AGE', 'NAME'], rows, 'No projects yet. Create one with: intendant project add KEY')
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
    ['max writers', body.max_writers?.toString()],
    ['created', body.created_at],
    ['archived', body.archived_at],
    ...usageFields(body.usage),
  ])
}
