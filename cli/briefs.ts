/** `intendant brief`: formation briefs, from the first draft to the frozen text that a run follows. */

import type { Command } from 'commander'
import { collect, IF_VERSION, LIMIT, ORIGIN } from './arguments.ts'
import { briefOptions, sectionsOf } from './brief-content.ts'
import { nextStep, recordIdsOf, showBrief } from './brief-page.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { isReplay, keyHeaders, keyOption } from './idempotency-key.ts'
import { BRIEF, IdArgument } from './ids.ts'
import { inputText } from './input-file.ts'
import { knownKeys } from './intents.ts'
import { list } from './lists.ts'
import { movesOf, versionHeaders } from './moves.ts'
import { safe } from './print.ts'
import type { Act, Cli } from './world.ts'

const operand = (): IdArgument => new IdArgument('<id>', 'The id, brief_..., or its beginning.', BRIEF)

const HELP = `
Examples:
  intendant brief create --project shop --objective "Move sessions to Redis." \\
      --engineering-intent shop.intent.sessions-survive --protect "People stay signed in" \\
      --evidence "the restart test passes" --entry-event execution_requested --revision 4f2a9c1
  intendant brief submit brief_0a1b2c3d4e5f60718293a4b5
  intendant brief approve brief_0a1b2c3d4e5f60718293a4b5 --throttle dry_run
  intendant brief compile brief_0a1b2c3d4e5f60718293a4b5
  intendant brief prompts brief_0a1b2c3d4e5f60718293a4b5 --phase execution

How a brief goes from a draft to a run is in docs/BRIEFS.md.`

export function addBriefs(program: Command, act: Act): void {
  const group = program
    .command('brief')
    .description('Formation briefs: create, list, show, edit, submit, approve, compile, prompts, archive.')
    .addHelpText('after', HELP)
  addWriting(group, act)
  addReads(group, act)
  addMoves(group, act)
}

function addWriting(group: Command, act: Act): void {
  briefOptions(
    group
      .command('create')
      .description('Write a brief. It is a draft until it is submitted.')
      .requiredOption('--project <key>', 'Key or id of the project.')
      .option('--title <text>', 'Its title.'),
  )
    .option(...keyOption('Repeating it with the same key creates no second brief.'))
    .option(...ORIGIN)
    .action(act(create))
  briefOptions(
    group
      .command('edit')
      .description('Change a draft or a brief under review. What is not named stays as it is.')
      .addArgument(operand())
      .option('--title <text>', 'A new title.'),
  )
    .option('--clear <section...>', 'Remove sections, such as gate_overlay.')
    .option('--if-version <n>', 'Only if this is still its version. Default: the current one.')
    .option(...ORIGIN)
    .action(act(edit))
}

function addReads(group: Command, act: Act): void {
  group
    .command('list')
    .alias('ls')
    .description('List the formation briefs of a project, newest first.')
    .requiredOption('--project <key>', 'Key or id of the project.')
    .option(
      '--state <state>',
      'Only this state: draft, reviewable, approved, compiled, queued, accepted, executing, completed, analyzed, archived. May be repeated.',
      collect,
    )
    .option(...LIMIT)
    .action(act(listBriefs))
  group.command('show').description('Show one brief, and what to do next.').addArgument(operand()).action(act(show))
  group
    .command('prompts')
    .description('Show the prompts of a compiled brief, print one, or replace one.')
    .addArgument(operand())
    .option('--phase <phase>', 'Print this one: assessment, triage, planning, execution, retry, summarization, ...')
    .option(
      '--digest <digest>',
      'Of this artifact, which may be an earlier one. Default: the current one. With --edit: only if it is current.',
    )
    .option('--edit <file>', 'Replace it with the text of this file (-: standard input); the digest changes.')
    .option('--reason <text>', 'Why it is changed.')
    .option(...ORIGIN)
    .action(act(prompts))
}

function addMoves(group: Command, act: Act): void {
  const move = movesOf(group, operand)
  move('submit', 'Submit a draft for review.')
    .option(...IF_VERSION)
    .action(act((cli, [id], options) => tell(cli, id, 'submit', {}, versionHeaders(options))))
  move('approve', 'Approve a brief and the intent behind it in their current form.')
    .requiredOption('--throttle <throttle>', 'dry_run or full: each needs its own right.')
    .option('--revision <revision>', 'Revision of the repository. Default: that of the brief; without one, any.')
    .option(...IF_VERSION)
    .action(act(approve))
  move('compile', 'Freeze an approved brief with the intent behind it, and create its prompts.')
    .option('--revision <revision>', 'The revision to pin. Default: that of the approval.')
    .action(act(compile))
  move('archive', 'Archive it for audit; it can no longer run.')
    .option('--reason <text>', 'Why.')
    .action(act((cli, [id], { reason }) => tell(cli, id, 'archive', { reason })))
}

function briefPath(id: string, more = ''): string {
  return `/api/formation-briefs/${encodeURIComponent(id)}${more}`
}

async function create({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project } = options
  const answer = await client.request('POST', `/api/projects/${encodeURIComponent(project)}/formation-briefs`, {
    body: sectionsOf(options),
    headers: keyHeaders(options),
  })
  const { body } = answer
  if (json) return print.json(body)
  const isThere = isReplay(answer)
  print.line(`Brief ${body.id} ${isThere ? 'already exists and is' : 'is'} ${print.state(body.state)}.`)
  for (const { pointer, detail } of body.missing ?? [])
    print.text(`  still missing: ${pointer} ${safe(detail)}`, '    ')
  print.line(nextStep(body))
}

async function edit({ client, json, print }: Cli, [id]: readonly any[], options: any): Promise<void> {
  const read = await client.request('GET', briefPath(id))
  const cleared = Object.fromEntries((options.clear ?? []).map((name: string) => [name.replaceAll('-', '_'), null]))
  const sections = { ...sectionsOf(options, read.body), ...cleared }
  if (Object.keys(sections).length === 0) throw new CliFailure('Nothing to change was named: see --help.')
  const tag = `"${options.ifVersion ?? read.body.version}"`
  const { body } = await client.request('PATCH', briefPath(id), { body: sections, headers: { 'if-match': tag } })
  if (json) return print.json(body)
  const isSame = body.version === read.body.version
  print.line(isSame ? `Brief ${id} is unchanged.` : `Brief ${id} is now version ${body.version}.`)
}

async function listBriefs({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, state, limit } = options
  const path = `/api/projects/${encodeURIComponent(project)}/formation-briefs`
  const { items, more } = await list(client, path, limit, { state })
  if (json) return print.json(items)
  const rows = items.map((item) => [
    item.id,
    print.state(item.state),
    item.throttle,
    print.age(item.created_at),
    safe(item.title ?? item.mission.objective),
  ])
  const none =
    state === undefined
      ? `No formation briefs. Write one with: intendant brief create --project ${project} --objective TEXT`
      : `No formation briefs that are ${state.join(' or ')}.`
  print.table(['ID', 'STATE', 'THROTTLE', 'AGE', 'WHAT'], rows, none)
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [id]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', briefPath(id))
  if (json) return print.json(body)
  showBrief(body, print, await knownKeys(client, recordIdsOf(body)))
  const next = nextStep(body)
  if (next !== '') print.line(`\n${next}`)
}

async function tell({ client, json, print }: Cli, id: string, move: string, body: object, headers = {}): Promise<void> {
  const answer = await client.request('POST', briefPath(id, `/${move}`), { body, headers })
  if (json) return print.json(answer.body)
  print.line(`Brief ${id} is ${print.state(answer.body.state)}.`)
  printNext(answer.body, print)
}

/** Prints nothing while its run is going on. */
function printNext(brief: Document, print: Cli['print']): void {
  const next = nextStep(brief)
  if (next !== '') print.line(next)
}

async function approve({ client, json, print }: Cli, [id]: readonly any[], options: any): Promise<void> {
  const { throttle, revision } = options
  const { body } = await client.request('POST', briefPath(id, '/approve'), {
    body: { throttle, revision },
    headers: versionHeaders(options),
  })
  if (json) return print.json(body)
  print.line(`Brief ${id} is approved for ${throttle}: ${body.approvals.at(-1).digest}`)
  printNext(body, print)
}

async function compile({ client, json, print }: Cli, [id]: readonly any[], { revision }: any): Promise<void> {
  const { body } = await client.request('POST', briefPath(id, '/compile-prompts'), { body: { revision } })
  if (json) return print.json(body)
  print.line(`Brief ${id} is compiled: ${body.digest}`)
  print.line(`${body.prompt_pack.prompts.length} prompts: intendant brief prompts ${id}`)
  // The artifact does not show what the brief was approved for.
  printNext((await client.request('GET', briefPath(id))).body, print)
}

async function prompts(cli: Cli, [id]: readonly any[], options: any): Promise<void> {
  const { client, json, print } = cli
  const { phase, digest } = options
  if (options.edit !== undefined) return await editPrompt(cli, id, options)
  const { body } = await client.request('GET', briefPath(id, '/compiled'), { query: { digest } })
  const pack = body.prompt_pack
  if (phase === undefined) {
    if (json) return print.json(pack)
    const rows = pack.prompts.map((prompt: Document) => [
      prompt.phase,
      prompt.access_level,
      String(prompt.prompt_text.length),
      prompt.edited ? 'yes' : 'no',
      safe(prompt.model_hint ?? '-'),
    ])
    print.table(['PHASE', 'ACCESS', 'CHARACTERS', 'EDITED', 'MODEL'], rows, 'No prompts.')
    print.line(`They belong to ${body.digest}; --phase prints one.`)
    return
  }
  const prompt = pack.prompts.find((one: Document) => one.phase === phase)
  if (prompt === undefined) {
    const phases = pack.prompts.map((one: Document) => one.phase).join(', ')
    throw new CliFailure(`There is no prompt for ${phase}. There are prompts for ${phases}.`)
  }
  if (json) return print.json(prompt)
  print.output(prompt.prompt_text.replace(/\n?$/, '\n'))
}

async function editPrompt({ client, json, print }: Cli, id: string, options: any): Promise<void> {
  const { phase, reason, digest, edit: file } = options
  if (phase === undefined) throw new CliFailure('--edit needs --phase to name the prompt.')
  const text = inputText(file)
  const path = briefPath(id, `/prompts/${encodeURIComponent(phase)}`)
  const headers = digest === undefined ? {} : await present(client, id, digest)
  const { body } = await client.request('PUT', path, { body: { prompt_text: text, reason }, headers })
  if (json) return print.json(body)
  print.line(`The prompts of brief ${id} are now a new artifact: ${body.digest}`)
  print.line(`It cannot run until it is approved: intendant brief approve ${id} --throttle dry_run or full`)
}

/** The precondition that the brief still compiles to this digest. */
async function present(client: Cli['client'], id: string, digest: string): Promise<Record<string, string>> {
  const { body } = await client.request('GET', briefPath(id))
  if (body.digest === digest) return { 'if-match': `"${body.version}"` }
  throw new CliFailure(
    `The prompts have changed meanwhile: the current ones are ${body.digest}. Read and edit those.`,
    EXIT.refused,
  )
}
