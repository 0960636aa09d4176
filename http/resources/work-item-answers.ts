/**
 * How a work item is served: its document, with what only the running service knows, as far as the reader may see it.
 */

import { isBuiltUpon } from '../../machines/campaign/chain.ts'
import type { CampaignContext } from '../../machines/campaign/context.ts'
import { calledFor, needIn } from '../../machines/campaign/needs.ts'
import {
  type ItemReasonCode,
  type ItemWaitingBecause,
  isTerminalItem,
  type Resumption,
  type WorkItem,
} from '../../machines/documents/work-item.ts'
import { isId } from '../../machines/ids.ts'
import type { InitiativeContext } from '../../machines/initiative/context.ts'
import { isOvertaken } from '../../machines/initiative/view.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import { cycleOf } from '../../machines/work-item/owner.ts'
import { document } from '../../machines/work-item/view.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { readable } from '../../runtime/reader.ts'
import { maySee } from '../access.ts'
import { notFound } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { redactAssessment } from './initiative-visibility.ts'
import { redactOtherWork } from './unseen-work.ts'

type WorkItemSnapshot = SnapshotOf<WorkItemContext>

/** Reasons for waiting, used if the work waited for belongs to a project that the reader may not see. */
const HELD_BY_OTHERS = {
  dependency_cannot_land: 'other work that it depends on did not land',
  stopping: 'other work has not finished',
  repository_busy: 'its repository is held by other work',
  dependency: 'waits for other work to land',
  handed_out: 'handed out, and its repository is held by other work',
} as const

/** The document; while the item waits, its reason is the rule that holds it back now. */
export function workItemDocumentOf(service: ServiceContext, reader: Principal, snapshot: WorkItemSnapshot): WorkItem {
  const shown = redactAssessment(service, reader, document(snapshot)) as {
    -readonly [K in keyof WorkItem]: WorkItem[K]
  }
  const campaign = builtUponBy(service, snapshot)
  if (campaign !== undefined) shown.built_upon_by = campaign
  const code = reasonCodeOf(service, snapshot)
  if (code !== undefined) shown.reason_code = code
  const why = waitingBecauseOf(service, reader, snapshot)
  if (why === undefined) return shown
  shown.waiting_because = why
  if (snapshot.value === 'queued') shown.reason = why.detail
  return shown
}

/** What the reason of a running item tells, for programs; undefined if it runs as it should. */
function reasonCodeOf({ runtime }: ServiceContext, { value, context }: WorkItemSnapshot): ItemReasonCode | undefined {
  const { run, internal } = context
  if (value !== 'running' || run === undefined) return undefined
  if (internal.stopping) return 'stopping'
  return readable(() => runtime.read({ kind: 'run_request', id: run.id }))?.value === 'lost' ? 'run_lost' : undefined
}

const KEEPS_WORK: ReadonlySet<string> = new Set(['preserved', 'needs_decision', 'failed'])

/**
 * The campaign that builds on the work that this item, a cycle of that campaign, has kept; undefined if there is
 * none, or if its record cannot be read.
 */
export function builtUponBy({ runtime }: ServiceContext, { value, context }: WorkItemSnapshot): string | undefined {
  const campaign = KEEPS_WORK.has(value) ? cycleOf(context.asked) : undefined
  if (campaign === undefined) return undefined
  const owner: SnapshotOf<CampaignContext> | undefined = readable(() =>
    runtime.read({ kind: 'campaign', id: campaign }),
  )
  return owner !== undefined && isBuiltUpon(owner, context.id) ? campaign : undefined
}

/**
 * Whether another item of the chain of resumptions already asks for a decision, so that a chain asks only once: a
 * resumption of this item that is not over, or, of several resumptions of one item, a newer one.
 */
export function isCoveredByResumption({ runtime }: ServiceContext, { context }: WorkItemSnapshot): boolean {
  const find = (id: string): WorkItemSnapshot | undefined | null =>
    readable(() => runtime.read({ kind: 'work_item', id }) as WorkItemSnapshot | undefined, null)
  const isGoingOn = ({ item_id, state }: Resumption): boolean => {
    if (state !== undefined && isTerminalItem(state)) return false
    const found = find(item_id)
    // A resumption is listed at once, and created a moment later.
    return found === undefined ? state === undefined : found !== null && !isTerminalItem(found.value)
  }
  if (context.resumptions.some(isGoingOn)) return true
  const resumed = context.asked.resumes === undefined ? undefined : find(context.asked.resumes)
  const others = resumed?.context.resumptions ?? []
  return others.slice(others.findIndex(({ item_id }) => item_id === context.id) + 1).some(isGoingOn)
}

export function waitingBecauseOf(
  service: ServiceContext,
  reader: Principal,
  { value, context }: WorkItemSnapshot,
): ItemWaitingBecause | undefined {
  // A running item waits too, if its run waits again.
  if (value !== 'submitted' && value !== 'queued' && value !== 'held' && value !== 'running') return undefined
  const why = service.scheduler.waitingBecause(context.id, reader.projects)
  return why === undefined ? undefined : redactOtherWork(service, reader, why, HELD_BY_OTHERS)
}

/** The item that the path names, if it exists for the caller. Returns undefined if 404 was answered. */
export function visibleWorkItem(service: ServiceContext, exchange: Exchange): WorkItemSnapshot | undefined {
  const id = exchange.params[0]!
  const snapshot = findWorkItem(service, exchange.principal, id)
  if (snapshot === undefined) notFound(exchange, 'work item', id)
  return snapshot
}

/** The item of that id, if it exists for the reader. */
export function findWorkItem(service: ServiceContext, reader: Principal, id: string): WorkItemSnapshot | undefined {
  const snapshot = isId('wi', id) ? service.runtime.read({ kind: 'work_item', id }) : undefined
  return snapshot !== undefined && maySee(reader, snapshot.context.project) ? snapshot : undefined
}

/** Whether a failed item need not call for a person, because something else does, or the matter is over. */
export function isFailureCovered(service: ServiceContext, item: WorkItemSnapshot): boolean {
  return isCoveredByResumption(service, item) || isOfEscalated(service, item) || isAssessedSince(service, item)
}

/** Whether a failed assessment is not the newest that looked at the same: only that one calls for a person. */
function isAssessedSince({ runtime }: ServiceContext, { context: { id, asked } }: WorkItemSnapshot): boolean {
  const { kind, ref, role } = asked.source
  if (kind !== 'initiative' || role !== 'assessment') return false
  const owner: SnapshotOf<InitiativeContext> | undefined = readable(() => runtime.read({ kind, id: ref }))
  return owner !== undefined && isOvertaken(owner.context, id)
}

/** Whether a failed formation has escalated its campaign: the decision about the campaign then closes the item. */
function isOfEscalated({ runtime }: ServiceContext, { context: { id, asked } }: WorkItemSnapshot): boolean {
  const { kind, ref, role } = asked.source
  if (kind !== 'campaign' || role !== 'advance') return false
  const owner: SnapshotOf<CampaignContext> | undefined = readable(() => runtime.read({ kind, id: ref }))
  return owner !== undefined && calledFor(needIn(owner)) === 'escalated' && owner.context.internal.owing === id
}
