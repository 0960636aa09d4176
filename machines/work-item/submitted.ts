/** Items that nobody owns: what a person submits, and what a sentinel submits in a person's stead. */
import type { Source, WorkItemKind } from '../documents/work-item.ts'
import type { By, SendParams } from '../machine.ts'
import type { Lane } from '../run-request/lanes.ts'
import type { CreateWorkItem } from './context.ts'
import type { ItemIds } from './owner.ts'

/** The lane of an item whose submitter names none. */
export function laneOf(kind: WorkItemKind): Lane {
  return kind === 'maintenance' || kind === 'major_upgrade' ? 'maintenance' : 'interactive'
}

interface Submission {
  /** They derive from what it is submitted for, so that a second message of it makes no second item. */
  readonly ids: ItemIds
  readonly project: string
  readonly project_id: string
  readonly objective: string
  readonly source: Source
  readonly submitted_by: By
  readonly kind?: WorkItemKind
  readonly lane?: Lane
  readonly base_ref?: string
  readonly context?: Readonly<Record<string, unknown>>
  readonly labels?: readonly string[]
  readonly runner_id?: string
  readonly timeout_seconds?: number
}

/** The message that puts the item into the ledger, which finds the reason for which it waits. */
export function submitItem({ ids, kind = 'task', ...given }: Submission): SendParams<'work_item'> {
  const { item_id, trace_id, span_id } = ids
  const { submitted_by } = given
  const message: CreateWorkItem = {
    type: 'create',
    by: submitted_by,
    ...given,
    id: item_id,
    kind,
    lane: given.lane ?? laneOf(kind),
    origin: submitted_by.origin ?? submitted_by.name,
    trace_id,
    span_id,
    idempotency_key: item_id,
    fingerprint: item_id,
  }
  return { to: { kind: 'work_item', id: item_id }, message }
}
