/**
 * What a run request asks of whoever is to run it. Requests that ask the same are one demand: a runner that may take one
 * of them may take any, so they wait together, and are listed together.
 */
import { hash } from 'node:crypto'
import type { SnapshotOf, Term } from '../machine.ts'
import type { RunRequestContext } from './context.ts'

/** Lists what waits: what is ready under its demand and priority, the rest under `NOT_READY`. */
export const DEMAND_INDEX = 'demand'
const NOT_READY = 'not_ready'

/** Labels and repository are the caller's choice: 128 bits, so that no two demands are made to look alike. */
const DIGEST_DIGITS = 32

/** The repository that the request needs for itself: only work that changes something holds one. */
export function exclusiveRepository(context: RunRequestContext): string | undefined {
  const mutates = context.throttle === 'full' && context.asked.access === 'full'
  return mutates ? (context.made.repository ?? undefined) : undefined
}

/** The labels that a runner must have, each once, in order. */
export function requiredLabels({ asked: { labels } }: RunRequestContext): readonly string[] {
  return labels.length < 2 ? labels : [...new Set(labels)].sort()
}

/** The projects that its runner must be allowed for beside its own, in order. */
export function furtherProjects({ made: { told_of = [] } }: RunRequestContext): readonly string[] {
  return told_of.length < 2 ? told_of : told_of.toSorted()
}

/** The same text for the same demand, and for no other. */
export function demandSignature(context: RunRequestContext): string {
  const { project, project_id, throttle } = context
  const { access, lane, entry_event, runner_id } = context.asked
  const repository = exclusiveRepository(context)
  const labels = requiredLabels(context)
  const asked = [project, project_id, throttle, access, lane, entry_event, runner_id, repository, labels]
  const further = furtherProjects(context)
  return JSON.stringify(further.length === 0 ? asked : [...asked, further])
}

/** Whether the request itself stands in the way of being offered: it must be approved, and its time must have come. */
export function isReady({ internal }: RunRequestContext): boolean {
  return internal.approved && internal.ready
}

/** Under what a request that waits is listed. */
export function demandTerm(context: RunRequestContext): Term {
  return { index: DEMAND_INDEX, value: isReady(context) ? demandValue(context) : NOT_READY, order: context.created_at }
}

/** The demand and the priority, in short. Otherwise made, it is of a new version of the machine. */
function demandValue(context: RunRequestContext): string {
  return hash('sha256', `${context.asked.priority} ${demandSignature(context)}`, 'hex').slice(0, DIGEST_DIGITS)
}

/** Whether requests listed under that value are like this one in all that decides who takes them, and when. */
export function isLike(snapshot: SnapshotOf<RunRequestContext>, value: string): boolean {
  return snapshot.value === 'queued' && isReady(snapshot.context) && demandValue(snapshot.context) === value
}
