/** `intendant intent`: what a project means to keep; written, reviewed and found. */
import type { Command } from 'commander'
import { partsOfRecordKey, recordKey } from '../machines/record-key.ts'
import { collect, IF_VERSION, LIMIT, ORIGIN } from './arguments.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { isReplay, keyHeaders, keyOption } from './idempotency-key.ts'
import { IdArgument, INTENT_RECORD } from './ids.ts'
import { contentOf, contentOptions, optionOf, sameEntries } from './intent-content.ts'
import { namedBy, showRecord } from './intent-page.ts'
import { list } from './lists.ts'
import { type Move, movesOf, versionHeaders } from './moves.ts'
import { safe } from './print.ts'
import { counted } from './units.ts'
import type { Act, Cli } from './world.ts'

/** The operand that names a record. */
export const recordOperand = (): IdArgument =>
  new IdArgument('<record>', 'Its id (ir_..., or its beginning) or its key (PROJECT.intent.SLUG).', INTENT_RECORD)

const HELP = `
Examples:
  intendant intent add --project shop --title "Sessions survive a restart" \\
      --capability "People stay signed in while we deploy." --path src/auth \\
      --evidence "the restart test passes"
  intendant intent accept shop.intent.sessions-survive-a-restart
  intendant intent list --project shop --path src/auth/login.ts
  intendant intent edit shop.intent.sessions-survive-a-restart --threat "Sessions kept in memory."
  intendant intent supersede shop.intent.old-one --by new-one --reason "said better"
  intendant intent check --project shop`

export function addIntents(program: Command, act: Act): void {
  const group = program
    .command('intent')
    .description(
      'Intent records: add, list, show, edit, accept, activate, deprecate, contradict, supersede, relate, unrelate, check.',
    )
    .addHelpText('after', HELP)
  contentOptions(
    group
      .command('add')
      .description('Write an intent record. It is proposed until somebody accepts it.')
      .requiredOption('--project <key>', 'Key or id of the project.')
      .requiredOption('--title <text>', 'Its title, on one line.'),
  )
    .option('--slug <slug>', 'Its permanent name in the project. Default: derived from the title.')
    .option('--hypothesized', 'Nobody vouches for it yet: it begins as hypothesized.')
    .option(...keyOption('Repeating it with the same key creates no second record.'))
    .option(...ORIGIN)
    .action(act(add))
  addReads(group, act)
  contentOptions(
    group
      .command('edit')
      .description('Change a record, which makes a new version. What is not named stays as it is.')
      .addArgument(recordOperand())
      .option('--title <text>', 'A new title.'),
  )
    .option('--clear <member...>', 'Remove members, such as threat or scope.')
    .option('--if-version <n>', 'Only if this is still its version. Default: the current one.')
    .option(...ORIGIN)
    .action(act(edit))
  addMoves(group, act)
  addRelations(group, act)
}

function addReads(group: Command, act: Act): void {
  group
    .command('list')
    .alias('ls')
    .description('List the records of a project, newest first; with --path, the nearest first.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .option(
      '--state <state>',
      'Only this state: hypothesized, proposed, accepted, active, deprecated, contradicted, superseded. May be repeated.',
      collect,
    )
    .option('--path <path>', 'Only those that cover this file or folder.')
    .option('--title <words>', 'Only those whose title contains these words.')
    .option('--capability <words>', 'Only those whose capability contains these words.')
    .option('--threat <words>', 'Only those whose threat contains these words.')
    .option('--strategy <words>', 'Only those whose strategy contains these words.')
    .option(...LIMIT)
    .action(act(listRecords))
  group.command('show').description('Show one record.').addArgument(recordOperand()).action(act(show))
  group
    .command('check')
    .description('Check the records of a project for broken links and unfinished work.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .action(act(check))
}

function addMoves(group: Command, act: Act): void {
  const named = movesOf(group, recordOperand)
  const move: Move = (name, description) =>
    named(name, description)
      .option('--reason <text>', 'Why.')
      .option(...IF_VERSION)
  const moves = {
    accept: 'Accept a record: from now on it guides runs.',
    activate: 'Make an accepted record active.',
    deprecate: 'Deprecate a record: it no longer guides runs.',
    contradict: 'Declare that a record is not true. This cannot be undone.',
  }
  for (const [name, description] of Object.entries(moves)) {
    move(name, description).action(act((cli, [record], options) => tell(cli, record, name, options)))
  }
  move('supersede', 'Replace this record by another one, or by none. This cannot be undone.')
    .option('--by <record>', 'The record that replaces it: its id, its key, or its slug.')
    .action(act(supersede))
}

function addRelations(group: Command, act: Act): void {
  group
    .command('relate')
    .description('State how a record is related to another one.')
    .addArgument(recordOperand())
    .requiredOption('--type <type>', 'supports, conflicts_with, refines, depends_on, applies_to or constrains.')
    .requiredOption('--to <record>', 'The other record: its id, its key, or its slug.')
    .option('--notes <text>', 'A note on it.')
    .option(...ORIGIN)
    .action(act(relate))
  group
    .command('unrelate')
    .description('Remove a relationship.')
    .addArgument(recordOperand())
    .argument('<relationship>', 'Its name in the record, such as r1: see show.')
    .option(...ORIGIN)
    .action(act(unrelate))
}

export function recordPath(record: string, more = ''): string {
  return `/api/intent-records/${encodeURIComponent(record)}${more}`
}

async function add({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, slug, hypothesized } = options
  const body = { ...contentOf(options), slug, state: hypothesized ? 'hypothesized' : undefined }
  const answer = await client.request('POST', `/api/projects/${encodeURIComponent(project)}/intent-records`, {
    body,
    headers: keyHeaders(options),
  })
  if (json) {
    print.json(answer.body)
    return
  }
  const isThere = isReplay(answer)
  print.line(`${answer.body.key} ${isThere ? 'already exists and is' : 'is'} ${print.state(answer.body.state)}.`)
  if (!isThere) print.line(`Accept it with: intendant intent accept ${answer.body.key}`)
}

async function listRecords({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, limit, state, path, title, capability, threat, strategy } = options
  const query = { state, path, title, capability, threat, strategy }
  const { items, more } = await list(
    client,
    `/api/projects/${encodeURIComponent(project)}/intent-records`,
    limit,
    query,
  )
  if (json) return print.json(items)
  const rows = items.map((item) => [
    item.key,
    print.state(item.state),
    String(item.version),
    print.age(item.created_at),
    safe(item.title),
  ])
  const isAll = Object.values(query).every((value) => value === undefined)
  const none = isAll
    ? `No records. Write one with: intendant intent add --project ${project} --title TITLE`
    : 'No matching records.'
  print.table(['KEY', 'STATE', 'VERSION', 'AGE', 'TITLE'], rows, none)
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [record]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', recordPath(record))
  if (json) print.json(body)
  else showRecord(body, print, await keysOf(client, namedBy(body)))
}

async function keysOf(client: Cli['client'], ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const records = await Promise.all(ids.map((id) => client.request('GET', recordPath(id))))
  return new Map(records.map(({ body }) => [body.id, body.key]))
}

/** The same without records that do not exist: a brief may name whatever its author likes. */
export async function knownKeys(client: Cli['client'], ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.allSettled(ids.map((id) => keysOf(client, [id])))
  return new Map(found.flatMap((one) => (one.status === 'fulfilled' ? [...one.value] : [])))
}

async function edit({ client, json, print }: Cli, [record]: readonly any[], options: any): Promise<void> {
  const cleared = Object.fromEntries((options.clear ?? []).map((member: string) => [member.replaceAll('-', '_'), null]))
  const said = contentOf(options)
  if (Object.keys({ ...said, ...cleared }).length === 0)
    throw new CliFailure('Nothing to change was named: see --help.')
  const both = Object.keys(cleared).find((member) => (said[member] ?? null) !== null)
  if (both !== undefined) {
    const clear = `--clear ${both.replaceAll('_', '-')}`
    throw new CliFailure(`${optionOf(both, options)} sets what ${clear} removes: give only one of them.`)
  }
  const read = await client.request('GET', recordPath(record))
  const body = { ...contentOf(options, read.body), ...cleared }
  const tag = `"${options.ifVersion ?? read.body.version}"`
  const answer = await client.request('PATCH', recordPath(record), {
    body: { ...body, ...withKnownEvidence(body, read.body) },
    headers: { 'if-match': tag },
  })
  if (json) return print.json(answer.body)
  const { key, version } = answer.body
  print.line(version === read.body.version ? `${key} is unchanged.` : `${key} is now version ${version}.`)
}

/** Entries with the same text keep their ids and observations. */
function withKnownEvidence(body: Document, record: Document): object {
  if (!Array.isArray(body.evidence)) return {}
  const named = new Set(body.evidence.map(({ id }: any) => id))
  const entryOf = sameEntries(record.evidence.filter(({ id }: any) => !named.has(id)))
  const evidence = body.evidence.map((one: any) => {
    const same = one.id === undefined ? entryOf(one.description, one.required ?? true) : undefined
    return same === undefined ? one : { id: same.id, ...one }
  })
  return { evidence }
}

async function tell({ client, json, print }: Cli, record: string, move: string, options: any): Promise<void> {
  const { by: replacement, reason } = options
  const body = { replacement, reason }
  const headers = versionHeaders(options)
  const answer = await client.request('POST', recordPath(record, `/${move}`), { body, headers })
  if (json) return print.json(answer.body)
  print.line(`${answer.body.key} is ${print.state(answer.body.state)}.`)
}

async function supersede(cli: Cli, [record]: readonly any[], options: any): Promise<void> {
  const { client, json, print } = cli
  await tell(cli, record, 'supersede', options)
  if (options.by === undefined || json) return
  const { body: old } = await client.request('GET', recordPath(record))
  const { key, state } = (await client.request('GET', recordPath(old.superseded_by))).body
  if (state === 'accepted' || state === 'active') return
  print.line(`${key} is ${print.state(state)} and guides no runs yet. Accept it with: intendant intent accept ${key}`)
}

async function relate({ client, json, print }: Cli, [record]: readonly any[], options: any): Promise<void> {
  const { type, to, notes } = options
  const { body } = await client.request('POST', recordPath(record, '/relationships'), { body: { type, to, notes } })
  if (json) return print.json(body)
  const isId = body.relationships.some((one: any) => one.to === to)
  const named = isId ? to : recordKey(body.project, partsOfRecordKey(to)?.slug ?? to)
  const { body: other } = await client.request('GET', recordPath(named))
  print.line(`${body.key} ${type.replaceAll('_', ' ')} ${other.key}.`)
}

async function unrelate({ client, json, print }: Cli, [record, name]: readonly any[]): Promise<void> {
  const { body: read } = await client.request('GET', recordPath(record))
  const id = name.includes('.') ? name : `${read.id}.${name}`
  const { body } = await client.request('DELETE', recordPath(record, `/relationships/${encodeURIComponent(id)}`))
  if (json) return print.json(body)
  print.line(`${body.key} has ${body.relationships.length} relationships now.`)
}

async function check({ client, json, print }: Cli, _: readonly any[], { project }: any): Promise<number> {
  const { body } = await client.request('GET', `/api/projects/${encodeURIComponent(project)}/intent-check`)
  if (json) print.json(body)
  else {
    const rows = body.findings.map(({ level, code, key, id, detail }: any) => [
      print.tint(level, level === 'error' ? 'bad' : 'warn'),
      code,
      key ?? id ?? body.project,
      safe(detail),
    ])
    print.tableInFull(['LEVEL', 'WHAT', 'WHERE', 'WHY'], rows, 'Nothing found.')
    print.line(
      `${counted(body.records, 'record')} and ${counted(body.hypotheses, 'hypothesis', 'hypotheses')}: ` +
        `${counted(body.errors, 'error')}, ${counted(body.warnings, 'warning')}.`,
    )
  }
  return body.errors === 0 ? EXIT.ok : EXIT.failed
}
