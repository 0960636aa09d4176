/** `intendant initiative`: shared outcomes, and the actions of their owners. */
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { BUDGET_MAX } from '../machines/bounds.ts'
import { each, integer, LIMIT, ORIGIN } from './arguments.ts'
import type { Document } from './document.ts'
import { keyHeaders, keyOption } from './idempotency-key.ts'
import { IdArgument, INITIATIVE } from './ids.ts'
import { memberText, ownerActionText, printInitiatives, showFindings, showInitiative } from './initiative-page.ts'
import { list } from './lists.ts'
import { type Move, movesOf } from './moves.ts'
import { safe } from './print.ts'
import type { Act, Cli } from './world.ts'

const MEMBER_HELP = 'A member: project:KEY, work_item:ID or campaign:NAME.'

const HELP = `
Examples:
  intendant initiative add invoices --outcome "People can pay by invoice" \\
      --member project:shop --member project:bank
  intendant initiative advance invoices              request one assessment by a runner
  intendant initiative                               all of them, with what needs you
  intendant initiative show invoices
  intendant initiative decide invoices --decision "Bank a" --member project:bank
  intendant initiative owner-action invoices hold --member project:shop --reason "audit week"
  intendant initiative finding invoices "The limit is 10" --to project:shop`

interface Member {
  readonly kind: string
  readonly ref: string
}

function member(text: string): Member {
  const [, kind, ref] = /^(campaign|work_item|project):(.+)$/.exec(text) ?? []
  if (kind === undefined || ref === undefined) {
    throw new InvalidArgumentError('project:KEY, work_item:ID or campaign:NAME is expected.')
  }
  return { kind, ref }
}

function members(text: string, before: readonly Member[] | undefined): Member[] {
  return [...(before ?? []), member(text)]
}

const operand = (): IdArgument => new IdArgument('<name>', 'The initiative.', INITIATIVE)

export function addInitiatives(program: Command, act: Act): void {
  const group = program
    .command('initiative')
    .description('Shared outcomes: their members, what steering decided, what needs you.')
    .addHelpText('after', HELP)
    .action(act(listAll))
  addReads(group, act)
  const named = movesOf(group, operand)
  addOwnersMoves(named, act)
  addRecords(named, act)
}

function addReads(group: Command, act: Act): void {
  group
    .command('add')
    .description('Add an initiative. Nothing is steered until it is advanced.')
    .argument('<name>', 'Its name: lower-case letters, digits, - and _.')
    .requiredOption('--outcome <text>', 'The shared outcome to reach.')
    .requiredOption('--member <kind:ref>', `${MEMBER_HELP} May be repeated.`, members)
    .option('--project <key>', 'A further project that it concerns. May be repeated.', each)
    .option('--intent <ref>', 'The intent behind it. May be repeated.', each)
    .option('--authorized-by <name>', 'Who is accountable for what it starts. Default: the name of the token.')
    .option('--max-assessments <n>', 'Maximum number of assessments.', integer(1, BUDGET_MAX))
    .option('--max-actions <n>', 'Maximum number of actions.', integer(0, BUDGET_MAX))
    .option(...keyOption('Repeating it with the same key creates no second initiative.'))
    .option(...ORIGIN)
    .action(act(add))
  group
    .command('list')
    .alias('ls')
    .description('List initiatives, newest first.')
    .option('--status <status>', 'Only active, completed or cancelled ones.')
    .option('--project <key>', 'Only those of this project.')
    .option(...LIMIT)
    .action(act(listAll))
  group
    .command('show')
    .description('Show one: its status, its members, what was decided and found, what needs you.')
    .addArgument(operand())
    .action(act(show))
  group
    .command('findings')
    .description('Show what was found, and which cycles used it.')
    .addArgument(operand())
    .action(act(findings))
}

function addOwnersMoves(named: Move, act: Act): void {
  named('advance', 'Request one read-only assessment.')
    .option('--member <kind:ref>', 'Only of this member.', member)
    .option('--trigger <id>', 'What triggers it: each trigger is assessed once.')
    .action(
      act((cli, [name], { member: pinned, trigger }) => advance(cli, name, { member: pinned, trigger_id: trigger })),
    )
  named('decide', 'Record a decision: every later assessment gets it, and what was asked is answered.')
    .requiredOption('--decision <text>', 'The decision.')
    .option('--reason <text>', 'Why.')
    .option('--member <kind:ref>', 'About this member. May be repeated. Default: all.', members)
    .option('--question <id>', 'The open question that it answers. A second answer is refused with the first.')
    .option(...keyOption('Repeating it with the same key records no second decision.'))
    .action(
      act((cli, [name], { decision, reason, member: applicable_members, question: question_id, ...options }) =>
        move(cli, name, 'decide', { decision, reason, applicable_members, question_id }, keyHeaders(options)),
      ),
    )
  named('complete', 'Declare that the outcome is reached.')
    .requiredOption('--reason <text>', 'What shows that it is.')
    .action(act((cli, [name], { reason }) => move(cli, name, 'complete', { reason })))
  named('cancel', 'Cancel the initiative, its members, and the work that it has started.')
    .requiredOption('--reason <text>', 'Why.')
    .action(act((cli, [name], { reason }) => move(cli, name, 'cancel', { reason })))
}

function addRecords(named: Move, act: Act): void {
  named('owner-action', 'Record what you did directly: it binds later assessments and requests none.')
    .argument('<action>', 'hold, milestone or member_override.')
    .requiredOption('--reason <text>', 'The purpose, or what was reached.')
    .option('--member <kind:ref>', 'For hold: only this member; for member_override: the member.', member)
    .option('--lift', 'For hold: end it.')
    .option('--override <word>', 'For member_override: include or exclude.')
    .option(...keyOption('Repeating it with the same key records no second action.'))
    .action(
      act((cli, [name, action], { reason, member: whose, lift, override, ...options }) =>
        record(cli, name, 'owner-actions', { action, reason, member: whose, lifted: lift, override }, options),
      ),
    )
  named('finding', 'Record a finding, for members to use.')
    .argument('<text>', 'What was found.')
    .option('--kind <kind>', 'note, gap, defect or audit. Default: note.')
    .option('--to <kind:ref>', 'For this member. May be repeated. Default: every member.', members)
    .option('--ref <ref>', 'Where it can be looked up. May be repeated.', each)
    .option(...keyOption('Repeating it with the same key records no second finding.'))
    .action(
      act((cli, [name, text], { kind, to, ref, ...options }) =>
        record(cli, name, 'findings', { text, kind, to, refs: ref }, options),
      ),
    )
}

function path(name: string, more = ''): string {
  return `/api/initiatives/${encodeURIComponent(name)}${more}`
}

async function add({ client, json, print }: Cli, [name]: readonly any[], options: any): Promise<void> {
  const { outcome, member: all, project: projects, intent, authorizedBy, maxAssessments, maxActions } = options
  const budget = { max_assessments: maxAssessments, max_actions: maxActions }
  const isBounded = maxAssessments !== undefined || maxActions !== undefined
  const body = {
    name,
    outcome,
    members: all,
    projects,
    intent_refs: intent,
    authorized_by: authorizedBy,
    ...(isBounded ? { budget } : {}),
  }
  const answer = await client.request('POST', '/api/initiatives', { body, headers: keyHeaders(options) })
  if (json) return print.json(answer.body)
  print.line(`${answer.body.name} is ${print.state(answer.body.status)}.`)
  print.line(`Begin with: intendant initiative advance ${name}`)
}

async function listAll({ client, json, print }: Cli, _: readonly any[], options: any): Promise<void> {
  const { status, project, limit = LIMIT[3] } = options
  const { items, more } = await list(client, '/api/initiatives', limit, { status, project })
  if (json) return print.json(items)
  printInitiatives(items, print)
  print.rest(items.length, more)
}

async function show({ client, json, print }: Cli, [name]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', path(name))
  if (json) return print.json(body)
  showInitiative(body, print)
}

async function findings({ client, json, print }: Cli, [name]: readonly any[]): Promise<void> {
  const { body } = await client.request('GET', path(name))
  if (json) return print.json(body.findings)
  showFindings(body.findings, print)
}

async function advance({ client, json, print }: Cli, name: string, body: object): Promise<void> {
  const answer = await client.request('POST', path(name, '/advance'), { body })
  if (json) return print.json(answer.body)
  const { assessment, waiting } = answer.body as Document
  const under = assessment === undefined ? '' : `: ${assessment.item_id} is being assessed`
  const many = waiting.length === 1 ? '1 request waits' : `${waiting.length} requests wait`
  print.line(`${name} is ${print.state('active')}, ${many}${under}`)
}

async function move(
  { client, json, print }: Cli,
  name: string,
  verb: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<void> {
  const answer = await client.request('POST', path(name, `/${verb}`), { body, headers })
  if (json) return print.json(answer.body)
  const { status, reason } = answer.body
  print.line(`${name} is ${print.state(status)}${reason === undefined ? '' : `: ${safe(reason)}`}`)
}

async function record(
  { client, json, print }: Cli,
  name: string,
  what: string,
  body: object,
  options: object,
): Promise<void> {
  const answer = await client.request('POST', path(name, `/${what}`), { body, headers: keyHeaders(options) })
  if (json) return print.json(answer.body)
  const { action_id, finding_id, to } = answer.body
  if (finding_id !== undefined) print.line(`${finding_id} for ${to.map(memberText).join(', ')}`)
  else print.line(`${action_id} ${ownerActionText(answer.body)}`)
}
