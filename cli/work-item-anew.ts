/**
 * `intendant queue retry` and `queue answer`: they submit the work of a settled item again, as a new item, and close the old one
 * with the new one's id. The same command again makes no other item.
 */
import type { Client } from '../engine/client.ts'
import { ServiceRefused } from '../engine/errors.ts'
import { type Anew, anew, isForItsSource, isRetried, objectiveAnswered } from '../machines/work-item/anew.ts'
import type { Done, Target } from './batch.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { safe } from './print.ts'
import { continuation, itemPath } from './work-item-moves.ts'
import { adviceFor } from './work-item-page.ts'
import { questionOf } from './work-item-question.ts'
import type { Cli } from './world.ts'

/** The same work once more. `found`: the item, if it was read a moment ago. */
export async function retryItem(cli: Cli, { id, found }: Target): Promise<Done> {
  const old = found ?? (await read(cli.client, id))
  assertOperators(old, 'retries it')
  if (!isRetried(old))
    throw refused(old, 'only failed or cancelled items, and preserved work without a ref, can be retried')
  return await submitAnew(cli, old, anew(old, 'retry', old.objective))
}

/** Whether a retry would take it, and nobody has closed it: what was closed, or retried before, is over. */
export function isToRetry(item: Document): boolean {
  return isRetried(item) && !isForItsSource(item) && item.operator_action?.command !== 'close'
}

/** The same work, from what the run has kept, with what was decided. */
export async function answerItem(cli: Cli, [id]: readonly any[], { decision }: any): Promise<void> {
  if (decision.trim() === '') throw new CliFailure('--decision is empty: it must say what is decided.')
  const { client } = cli
  const old = await read(client, id)
  assertOperators(old, 'takes the decision')
  if (!asksForDecision(old)) throw refused(old, 'only an item whose run asked for a decision can be answered')
  const objective = objectiveAnswered(old, await questionOf(client, old), decision)
  const { document, line } = await submitAnew(cli, old, anew(old, 'answer', objective)).catch((error) => {
    throw isOtherAnswer(error) ? answeredBefore(error, old) : error
  })
  if (cli.json) cli.print.json(document)
  else cli.print.line(line)
}

/** The key of an answer derives from the item alone, so that a second one that differs is refused. */
function isOtherAnswer(error: unknown): error is ServiceRefused {
  return error instanceof ServiceRefused && error.problem.code === 'idempotency_key_reused'
}

function answeredBefore({ method, path, problem }: ServiceRefused, { id, state, reason }: Document): ServiceRefused {
  const asWhat = state === 'cancelled' ? `: ${reason}` : ''
  return new ServiceRefused(method, path, {
    ...problem,
    detail: `${id} was answered before, with another decision${asWhat}.`,
  })
}

async function read(client: Client, id: string): Promise<Document> {
  return (await client.request('GET', itemPath(id))).body
}

/** Throws CliFailure for a step of a campaign or an assessment, whose owner decides itself what follows. */
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

async function submitAnew(cli: Cli, old: Document, { path, body, idempotencyKey, closing }: Anew): Promise<Done> {
  const { client, print, note } = cli
  const made = await client.request('POST', path, { body, headers: { 'idempotency-key': idempotencyKey } })
  const { body: item } = made
  if (closing !== undefined) {
    const close = closing(item.id)
    try {
      await client.request('POST', close.path, { body: close.body })
    } catch (error) {
      note(`${item.id} was submitted, but ${old.id} is not closed yet. Repeating the command creates no other item.`)
      throw error
    }
  }
  return { document: item, line: continuation(old.id, made, print) }
}
