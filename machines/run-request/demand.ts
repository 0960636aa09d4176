/**
 * What a run request demands of its runner. Requests with equal demands are interchangeable: a runner that may take one
 * of them may take any, so they wait together and are listed together.
 */
import { hash } from 'node:crypto'
import type { SnapshotOf, Term } from '../machine.ts'
import type { RunRequestContext } from './context.ts'

/** Index of queued requests: ready ones are listed under their demand and priority, the others under `NOT_READY`. */
export const DEMAND_INDEX = 'demand'
const NOT_READY = 'not_ready'

/** Labels and repository are chosen by the caller: 128 bits, so that nobody can construct two demands that collide. */
const DIGEST_DIGITS = 32

/** The repository that the request needs exclusively: only work that makes changes locks one. */
export function exclusiveRepository(context: RunRequestContext): string | undefined {
  const mutates = context.throttle === 'full' && context.asked.access === 'full'
  return mutates ? (context.made.repository ?? undefined) : undefined
}

/** The labels that a runner must have, deduplicated and sorted. */
export function requiredLabels({ asked: { labels } }: RunRequestContext): readonly string[] {
  return labels.length < 2 ? labels : [...new Set(labels)].sort()
}

/** The projects besides its own that its runner must be allowed, sorted. */
export function furtherProjects({ made: { told_of = [] } }: RunRequestContext): readonly string[] {
  return told_of.length < 2 ? told_of : told_of.toSorted()
}

/** A text that is the same for two requests if and only if their demands are equal. */
export function demandSignature(context: RunRequestContext): string {
  const { project, project_id, throttle } = context
  const { access, lane, entry_event, runner_id } = context.asked
  const repository = exclusiveRepository(context)
  const labels = requiredLabels(context)
  const asked = [project, project_id, throttle, access, lane, entry_event, runner_id, repository, labels]
  const further = furtherProjects(context)
  return JSON.stringify(further.length === 0 ? asked : [...asked, further])
}

/** Whether the request itself may be offered: it must be approved, and `not_before` must have passed. */
export function isReady({ internal }: RunRequestContext): boolean {
  return internal.approved && internal.ready
}

/** The index row of a queued request. */
export function demandTerm(context: RunRequestContext): Term {
  return { index: DEMAND_INDEX, value: isReady(context) ? demandValue(context) : NOT_READY, order: context.created_at }
}

/** Hash of demand and priority. Computing it differently takes a new version of the machine. */
function demandValue(context: RunRequestContext): string {
  return hash('sha256', `${context.asked.priority} ${demandSignature(context)}`, 'hex').slice(0, DIGEST_DIGITS)
}

/** Whether the request is queued and ready, and requests listed under `value` equal it in demand and priority. */
export function isLike(snapshot: SnapshotOf<RunRequestContext>, value: string): boolean {
  return snapshot.value === 'queued' && isReady(snapshot.context) && demandValue(snapshot.context) === value
}
