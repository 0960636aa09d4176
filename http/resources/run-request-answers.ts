/** How a run request is served: its document, with what only the running service knows. */

import type { RunRequest } from '../../machines/documents/run-request.ts'
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import { isId } from '../../machines/ids.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { isLeased } from '../../machines/run-request/states.ts'
import { document, documentText, standingText } from '../../machines/run-request/view.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { Taken } from '../../runtime/api.ts'
import { maySee } from '../access.ts'
import { notFound } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { redactAssessment } from './initiative-visibility.ts'
import { redactOtherWork } from './unseen-work.ts'

type RunRequestSnapshot = SnapshotOf<RunRequestContext>

/** Its repository may be held for a project that the reader may not see. */
const HELD_BY_OTHERS = { repository_busy: 'Its repository is held by other work.' } as const

/** The document, with the end of the lease or offer and, for a reader, why it waits. */
export function runRequestDocumentOf(
  service: ServiceContext,
  snapshot: RunRequestSnapshot,
  reader?: Principal,
): RunRequest {
  const shown = document(snapshot) as { -readonly [K in keyof RunRequest]: RunRequest[K] }
  const leaseEnd = leaseEndOf(service, snapshot)
  if (leaseEnd !== undefined) shown.lease_expires_at = leaseEnd
  const why = reader === undefined ? undefined : waitingBecauseOf(service, reader, snapshot)
  if (why !== undefined) shown.waiting_because = why
  return shown
}

function waitingBecauseOf(
  service: ServiceContext,
  reader: Principal,
  { value, context }: RunRequestSnapshot,
): WaitingBecause | undefined {
  if (value !== 'queued') return undefined
  const why = service.dispatcher.waitingBecause(context.id, reader.projects)
  return why === undefined ? undefined : redactOtherWork(service, reader, why, HELD_BY_OTHERS)
}

/** The same as JSON text, for the most frequent answer; or the minimal form, if the caller prefers that. */
export function runRequestTextOf(service: ServiceContext, exchange: Exchange, snapshot: RunRequestSnapshot): string {
  if (exchange.prefersMinimal) return standingText(snapshot)
  return wholeText(service, exchange.principal, snapshot, leaseEndOf(service, snapshot))
}

function wholeText(
  service: ServiceContext,
  reader: Principal,
  snapshot: RunRequestSnapshot,
  leaseEnd: string | undefined,
): string {
  const text = documentText(snapshot, leaseEnd)
  const why = waitingBecauseOf(service, reader, snapshot)
  return why === undefined ? text : `${text.slice(0, -1)},"waiting_because":${JSON.stringify(why)}}`
}

/** The JSON answer to a runner's post: the request, whether to stop, and by when to post again. */
export function runAnswerOf(service: ServiceContext, exchange: Exchange, taken: Taken, more?: object): string {
  const snapshot = taken.snapshot as RunRequestSnapshot
  const { cancel } = snapshot.context
  const isStopAsked = cancel !== undefined && (snapshot.value === 'cancelling' || snapshot.value === 'cancelled')
  const leaseEnd = leaseEndOf(service, snapshot)
  const request = exchange.prefersMinimal ? standingText(snapshot) : shownText(service, exchange, snapshot, leaseEnd)
  let text = `{"run_request":${request},"cancel_requested":${isStopAsked}`
  if (isStopAsked) {
    const { requested_at, discard_work, reason } = cancel
    text += `,"cancel":${JSON.stringify({ requested_at, discard_work, reason })}`
  }
  if (leaseEnd !== undefined) text += `,"lease_expires_at":"${leaseEnd}"`
  if (taken.repeat === 'already_accepted' || taken.repeat === 'already_started') text += `,"${taken.repeat}":true`
  return more === undefined ? `${text}}` : `${text},${JSON.stringify(more).slice(1)}`
}

/** A runner is shown all of what it holds; a person who acts for it only what they may see. */
function shownText(
  service: ServiceContext,
  { principal }: Exchange,
  snapshot: RunRequestSnapshot,
  leaseEnd: string | undefined,
): string {
  if (principal.runnerId !== undefined) return documentText(snapshot, leaseEnd)
  if (principal.projects === '*') return wholeText(service, principal, snapshot, leaseEnd)
  return JSON.stringify(redactAssessment(service, principal, runRequestDocumentOf(service, snapshot, principal)))
}

/** The request that the path names, if it exists for the caller. Returns undefined if 404 was answered. */
export function visibleRunRequest(service: ServiceContext, exchange: Exchange): RunRequestSnapshot | undefined {
  const id = exchange.params[0]!
  const snapshot = isId('runreq', id) ? service.runtime.read({ kind: 'run_request', id }) : undefined
  if (snapshot !== undefined && mayReach(exchange, snapshot)) return snapshot
  notFound(exchange, 'run request', id)
  return undefined
}

/**
 * A runner reaches what it holds or held, and everything in its projects; the machine refuses posts of a runner that is
 * not the holder.
 */
function mayReach({ principal }: Exchange, { context }: RunRequestSnapshot): boolean {
  if (maySee(principal, context.project)) return true
  return principal.runnerId !== undefined && hasHeld(context, principal.runnerId)
}

export function hasHeld(context: RunRequestContext, runnerId: string): boolean {
  return context.offered_to === runnerId || context.internal.held_by.includes(runnerId)
}

function leaseEndOf({ runtime }: ServiceContext, { value, context }: RunRequestSnapshot): string | undefined {
  const name = isLeased(value) ? 'lease' : value === 'offered' ? 'offer' : undefined
  if (name === undefined) return undefined
  const endMs = runtime.deadlineMs({ kind: 'run_request', id: context.id }, name)
  return endMs === undefined ? undefined : new Date(endMs).toISOString()
}
