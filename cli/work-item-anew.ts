/**
 * `intendant queue retry` and `queue answer`: they submit the work of a settled item again, as a new item, and close the old one
 * with the new one's id. The new item's idempotency key derives from the old id: the same command again makes no other item.
 */
import type { Answer, Client } from '../engine/client.ts'
import { OPEN_STATES } from '../machines/documents/work-item.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { safe } from './print.ts'
import { continuation, itemPath } from './work-item-moves.ts'
import { adviceFor, isForItsSource, isRetried } from './work-item-page.ts'
import { type Question, questionOf } from './work-item-question.ts'
import type { Cli } from './world.ts'

/** The same work once more. */
export async function retryItem(cli: Cli, [id]: readonly any[]): Promise<void> {
  const old = await read(cli.client, id)
  assertOperators(old, 'retries it')
  if (!isRetried(old))
    throw refused(old, 'only failed or cancelled items, and preserved work without a ref, can be retried')
  await submitAnew(cli, old, { as: 'retry', objective: old.objective, closing: 'repeated' })
}

/** The same work, from what the run has kept, with what was decided. */
export async function answerItem(cli: Cli, [id]: readonly any[], { decision }: any): Promise<void> {
  if (decision.trim() === '') throw new CliFailure('--decision is empty: it must say what is decided.')
  const { client } = cli
  const old = await read(client, id)
  assertOperators(old, 'takes the decision')
  if (!asksForDecision(old)) throw refused(old, 'only an item whose run asked for a decision can be answered')
  const asked = told(await questionOf(client, old), old)
  const objective = `${old.objective}\n\n${asked}\nDecision: ${decision}`
  await submitAnew(cli, old, { as: 'answer', objective, closing: 'answered' })
}

async function read(client: Client, id: string): Promise<Document> {
  return (await client.request('GET', itemPath(id))).body
}

/** Throws CliFailure for the item of a campaign or an initiative, which decides itself what follows. */
function assertOperators(item: Document, does: string): void {
  const { id, source } = item
  if (!isForItsSource(item)) return
  throw new CliFailure(
    `${id} belongs to ${source.kind} ${source.ref}, which ${does} itself. See: intendant ${source.kind} show ${source.ref}`,
    EXIT.refused,
  )
}

function refused(item: Document, rule: string): CliFailure {
  const advice = adviceFor(item).map((line) => `\n  ${line}`)
  return new CliFailure(`${rule}: ${item.id} is ${item.state} (${safe(item.reason)}).${advice.join('')}`, EXIT.refused)
}

/** True also of an item that was closed while it asked: the command may be a repeat. */
function asksForDecision({ state, started_at, operator_action: last }: Document): boolean {
  const wasClosed = state === 'cancelled' && last?.command === 'close'
  return started_at !== undefined && (wasClosed ? last.previous_state : state) === 'needs_decision'
}

/** What the new item says of the question; in the words of the old item where the event is not kept any more. */
function told(question: Question | undefined, { state, reason, operator_action: last }: Document): string {
  const said: string = state === 'cancelled' ? last.previous_reason : reason
  const { finding, options } = question ?? { finding: said.replace(/^decision needed: /, ''), options: [] }
  const choices = options.length === 0 ? '' : `\nOptions: ${options.join('; ')}`
  return `An earlier run asked for a decision: ${finding}${choices}`
}

interface Anew {
  /** What the key begins with. */
  readonly as: 'retry' | 'answer'
  readonly objective: string
  /** What the old item is closed as. */
  readonly closing: string
}

async function submitAnew(cli: Cli, old: Document, { as, objective, closing }: Anew): Promise<void> {
  const { client, json, print, note } = cli
  const headers = { 'idempotency-key': `${as}:${old.id}` }
  const made = await submitted(client, old, objective, headers)
  const { body: item } = made
  if (OPEN_STATES.includes(old.state)) {
    try {
      await client.request('POST', itemPath(old.id, '/close'), { body: { reason: `${closing} as ${item.id}` } })
    } catch (error) {
      note(`${item.id} was submitted, but ${old.id} is not closed yet. Repeating the command creates no other item.`)
      throw error
    }
  }
  if (json) return print.json(item)
  print.line(continuation(old.id, made, print))
}

/**
 * The new item starts from the ref that the old one kept. Where the old one kept none but had resumed preserved work, that work is
 * resumed again, so that both land with the new item.
 */
async function submitted(
  client: Client,
  old: Document,
  objective: string,
  headers: Record<string, string>,
): Promise<Answer> {
  const ref = old.disposition?.preservation_ref
  if (ref === undefined && old.resumes !== undefined)
    return await client.request('POST', itemPath(old.resumes, '/resume'), { body: { objective }, headers })
  const { project, kind, lane, payload, context, labels, runner_id, timeout_seconds } = old
  const same = { project, objective, kind, lane, payload, context, labels, runner_id, timeout_seconds }
  // An item that has begun has waited for these already.
  const { depends_on, not_before } = old.started_at === undefined ? old : {}
  const body = { ...same, base_ref: ref ?? old.base_ref, depends_on, not_before, repeats: old.id }
  return await client.request('POST', '/api/work-items', { body, headers })
}
