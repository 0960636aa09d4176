/** `intendant token`: who may do what. A token's secret is printed once, by the command that creates it. */
import type { Command } from 'commander'
import { collect, LIMIT, moment, ORIGIN } from './arguments.ts'
import { IdArgument, TOKEN } from './ids.ts'
import { list } from './lists.ts'
import { safe } from './print.ts'
import type { Act, Cli } from './world.ts'

export function addTokens(program: Command, act: Act): void {
  const token = program.command('token').description('Access tokens: create, list, revoke.')

  token
    .command('create')
    .description('Create a token. It cannot have more rights than your own.')
    .requiredOption('--name <name>', 'Whose it is: shown in every event that it causes.')
    .option('--role <role>', 'viewer, author, approver, operator or admin. May be repeated.', collect)
    .option('--right <right>', 'A single right, such as work.submit. May be repeated.', collect)
    .option('--project <key>', 'Confine it to this project. May be repeated.', collect)
    .option('--expires <time>', 'When it expires: a time, or a duration such as 30d.', moment)
    .option(...ORIGIN)
    .addHelpText('after', '\nExample:\n  intendant token create --name ci --role operator --project shop --expires 90d')
    .action(act(create))

  token
    .command('list')
    .alias('ls')
    .description('List the tokens, without their secrets.')
    .option(...LIMIT)
    .action(act(listTokens))

  token
    .command('revoke')
    .description('Revoke a token: its streams and polls end within a second.')
    .addArgument(new IdArgument('<id>', 'The id, tok_..., or its beginning.', TOKEN))
    .option('--last-admin', 'Revoke even the last token with all rights: only a restore of the home creates another.')
    .option(...ORIGIN)
    .action(act(revoke))
}

async function create({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { name, role, right, project, expires } = options
  const { body } = await client.request('POST', '/api/tokens', {
    body: { name, roles: role, rights: right, projects: project, expires_at: expires },
  })
  if (json) return print.json(body)
  print.line(`Token ${body.id} for ${safe(body.name)}. It is shown only once:`)
  print.line(body.token)
}

async function listTokens({ client, json, print }: Cli, _: readonly any[], { limit }: any): Promise<void> {
  const { items, more } = await list(client, '/api/tokens', limit)
  if (json) return print.json(items)
  const rows = items.map((item) => [
    item.id,
    print.state(item.state),
    [...item.roles, ...item.rights].join(','),
    item.projects.join(','),
    print.age(item.last_used_at) || 'never',
    (item.expires_at ?? 'never').slice(0, 10),
    safe(item.name),
  ])
  print.table(['ID', 'STATE', 'MAY', 'PROJECTS', 'USED', 'EXPIRES', 'NAME'], rows, 'No tokens.')
  print.rest(items.length, more)
}

async function revoke({ client, json, print }: Cli, [id]: readonly any[], { lastAdmin }: any): Promise<void> {
  const query = lastAdmin === true ? '?last_admin=true' : ''
  const { body } = await client.request('DELETE', `/api/tokens/${encodeURIComponent(id)}${query}`)
  if (json) print.json(body ?? { id })
  else print.line(`Token ${id} revoked.`)
}
