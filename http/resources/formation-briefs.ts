/** What the routes of formation briefs share: finding a brief, sending it messages, and serving what it compiles to. */

import { type BriefLapse, formationBriefDocument } from '../../machines/documents/formation-brief.ts'
import { compiledBriefId } from '../../machines/formation-brief/compiled.ts'
import type { FormationBriefContext } from '../../machines/formation-brief/context.ts'
import { isId } from '../../machines/ids.ts'
import { modules } from '../../machines/index.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import type { Answer, MessageBody, SnapshotOf, Taken } from '../../runtime/api.ts'
import { lapseOfBrief } from '../../runtime/entities/brief-runs.ts'
import { readable } from '../../runtime/reader.ts'
import { maySee } from '../access.ts'
import { setEntityTag } from '../preconditions.ts'
import { markCursor, notFound, onReply, refuse } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { hasHeld } from './run-request-answers.ts'

export type BriefSnapshot = SnapshotOf<FormationBriefContext>

/** The documented answer of one brief, as `answerBrief` gives it. */
export const oneBrief = { description: 'The brief.', schema: formationBriefDocument, headers: { ETag: 'Its version.' } }

function briefOf(service: ServiceContext, exchange: Exchange): BriefSnapshot | undefined {
  const id = exchange.params[0]!
  return isId('brief', id) ? service.runtime.read({ kind: 'formation_brief', id }) : undefined
}

/** The brief that the path names, if it exists for the caller, a person. Returns undefined if 404 was answered. */
export function visibleBrief(service: ServiceContext, exchange: Exchange): BriefSnapshot | undefined {
  const brief = briefOf(service, exchange)
  if (brief !== undefined && maySee(exchange.principal, brief.context.project)) return brief
  notFound(exchange, 'formation brief', exchange.params[0]!)
  return undefined
}

/**
 * Calls `found` with the brief for everybody who may read it: persons, and a runner that holds or held a run of it.
 * Otherwise 404 is answered.
 */
export function withReadableBrief(
  service: ServiceContext,
  exchange: Exchange,
  found: (brief: BriefSnapshot) => void,
): void {
  const { runnerId } = exchange.principal
  if (runnerId === undefined) {
    const brief = visibleBrief(service, exchange)
    if (brief !== undefined) found(brief)
    return
  }
  const brief = briefOf(service, exchange)
  if (brief === undefined) {
    notFound(exchange, 'formation brief', exchange.params[0]!)
    return
  }
  exchange.await(mayHold(service, brief, runnerId), (holds) => {
    if (holds) found(brief)
    else notFound(exchange, 'formation brief', brief.context.id)
  })
}

/** Whether the runner holds or held a run of the brief. */
async function mayHold({ runtime }: ServiceContext, { context }: BriefSnapshot, runnerId: string): Promise<boolean> {
  const { id, project, run } = context
  const latest =
    run === undefined ? undefined : readable(() => runtime.read({ kind: 'run_request', id: run.run_request_id }))
  if (latest !== undefined && hasHeld(latest.context, runnerId)) return true
  const matches = ({ context: request }: SnapshotOf<RunRequestContext>): boolean =>
    request.asked.brief?.id === id && hasHeld(request, runnerId)
  const page = (index: string, value: string) => runtime.list({ kind: 'run_request', index, value, limit: 1, matches })
  const own = await page('runner', runnerId)
  // The project's newest requests, for one that has since moved on to another runner.
  return own.snapshots.length > 0 || (await page('project', project)).snapshots.length > 0
}

/** Sends the brief a message, and answers with the resulting brief. */
export function tellBrief(
  service: ServiceContext,
  exchange: Exchange,
  { context }: BriefSnapshot,
  message: MessageBody & Record<string, unknown>,
  answered: (taken: Taken) => void = (taken) => answerBrief(service, exchange, taken.snapshot, taken.sequence),
): void {
  const ref = { kind: 'formation_brief', id: context.id } as const
  service.runtime.ask(ref, { ...message, by: exchange.by }, onReply(exchange, answered))
}

export function answerBrief(
  service: ServiceContext,
  exchange: Exchange,
  brief: BriefSnapshot,
  sequence?: number,
  status = 200,
): void {
  markCursor(service, exchange, sequence)
  setEntityTag(exchange, brief.context.version).answer(
    status,
    briefDocument(brief, lapseOfBrief(service.runtime, brief)),
  )
}

/** The brief, with the reason if its approvals no longer hold, given the current state of the records it refers to. */
export function briefDocument(brief: BriefSnapshot, lapsed: BriefLapse | undefined): object {
  return { ...modules.formation_brief.document(brief), ...(lapsed === undefined ? {} : { lapsed }) }
}

/**
 * Calls `found` with the compiled brief of that digest, whose creating message may still be on its way; if the brief
 * has no such artifact, 404 is answered.
 */
export function withCompiled(
  service: ServiceContext,
  exchange: Exchange,
  { context }: BriefSnapshot,
  digest: string,
  found: (compiled: SnapshotOf<any>) => void,
): void {
  const ref = { kind: 'compiled_brief', id: compiledBriefId(digest) } as const
  const take = (compiled: SnapshotOf<any> | undefined): void => {
    if (compiled?.context.formation_brief_id === context.id && compiled.context.digest === digest) found(compiled)
    else notFound(exchange, 'compiled brief', digest)
  }
  const known = service.runtime.read(ref)
  if (known !== undefined) {
    take(known)
    return
  }
  // A mailbox is ordered: the answer comes after the message that creates the artifact.
  const looked = exchange.later((answer: Answer) => {
    if (!answer.ok && answer.isPassing) refuse(exchange, answer)
    else take(answer.ok ? answer.snapshot : undefined)
  })
  service.runtime.ask(ref, { type: 'look' }, looked)
}

/** Answers with the artifact that the brief compiles to. */
export function answerCompiled(
  service: ServiceContext,
  exchange: Exchange,
  brief: BriefSnapshot,
  { digest, sequence }: { readonly digest: string; readonly sequence?: number },
): void {
  withCompiled(service, exchange, brief, digest, (compiled) => {
    markCursor(service, exchange, sequence)
    exchange.answer(200, modules.compiled_brief.document(compiled))
  })
}
