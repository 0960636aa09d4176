/** `intendant discovery`: posted inspections, and what each of them saw. */
import type { Command } from 'commander'
import { LIMIT } from './arguments.ts'
import { called, printSeen, UNTRUSTED } from './hypotheses.ts'
import { DISCOVERY, IdArgument } from './ids.ts'
import { list } from './lists.ts'
import { safe, said } from './print.ts'
import type { Act, Cli } from './world.ts'

export function addDiscoveries(program: Command, act: Act): void {
  const group = program.command('discovery').description('Posted inspections: list, show.')
  group
    .command('list')
    .alias('ls')
    .description('List the discoveries of a project, newest first.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .option(...LIMIT)
    .action(act(listDiscoveries))
  group
    .command('show')
    .description('Show what one inspection saw, and the hypotheses that it drew.')
    .addArgument(new IdArgument('<id>', 'The id, disc_..., or its beginning.', DISCOVERY))
    .action(act(show))
}

async function listDiscoveries({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, limit } = options
  const { items, more } = await list(client, `/api/projects/${encodeURIComponent(project)}/discoveries`, limit)
  if (json) return print.json(items)
  const rows = items.map((item) => [
    item.id,
    print.age(item.created_at),
    String(item.observation_count),
    String(item.hypothesis_ids.length),
    safe(item.repository?.revision ?? '-'),
    safe(item.source?.tool ?? item.created_by?.name ?? '-'),
  ])
  print.table(['ID', 'AGE', 'OBSERVATIONS', 'HYPOTHESES', 'REVISION', 'BY'], rows, 'No discoveries.')
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', `/api/discoveries/${encodeURIComponent(id)}`)
  if (json) return print.json(body)
  const { source = {}, repository = {} } = body
  print.fields([
    ['id', body.id],
    ['project', body.project],
    ['inspected by', said(source.tool)],
    ['repository', said(repository.path)],
    ['revision', said(repository.revision)],
    ['posted', `${body.created_at} by ${safe(body.created_by?.name ?? '-')}`],
  ])
  print.line()
  printSeen(body.observations, print)
  for (const hypothesis of body.hypotheses) print.line(`  ${hypothesis.hypothesis_id}  ${called(hypothesis)}`)
  print.line(print.tint(UNTRUSTED, 'warn'))
}
