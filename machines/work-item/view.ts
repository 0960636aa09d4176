/** How a work item looks from outside: the envelope of its facts, its index rows, and its document. */
import { isOpenItem, isTerminalItem, TERMINAL_STATES, type WorkItem } from '../documents/work-item.ts'
import type { FactEnvelope, Retirement, SnapshotOf, Term } from '../machine.ts'
import type { WorkItemContext } from './context.ts'
import { isStaged } from './rules.ts'

export function envelope({ project, trace_id, internal }: WorkItemContext): FactEnvelope {
  const { span_id, parent_span_id, causation_id, gather_id } = internal
  return { project, throttle: 'full', trace_id, span_id, parent_span_id, causation_id, gather_id }
}

/** Within a state, items are ordered by when they entered it: running ones by start, settled ones by end. */
export function terms({ value, context }: SnapshotOf<WorkItemContext>): readonly Term[] {
  const { project, asked, submitted_at, started_at, settled_at, operator_actions, internal } = context
  const since = settled_at ?? (value === 'running' ? (started_at ?? submitted_at) : submitted_at)
  const rows: Term[] = [
    { index: 'all', value: '', order: submitted_at },
    { index: 'project', value: project, order: submitted_at },
    { index: 'state', value, order: since },
    { index: 'source', value: `${asked.source.kind}:${asked.source.ref}`, order: submitted_at },
  ]
  if (internal.taken_back !== undefined) rows.push({ index: 'taken_back', value: '', order: submitted_at })
  if (isOpenItem(value)) rows.push({ index: 'attention', value, order: since })
  if (value === 'held' && isStaged(context))
    rows.push({ index: 'attention', value: 'staged', order: operator_actions.at(-1)!.at })
  return rows
}

/** Only items that owe nothing are ever forgotten. */
export const retirement: Retirement = {
  index: 'state',
  values: TERMINAL_STATES,
  at: ({ value, context }: SnapshotOf<WorkItemContext>) =>
    value === 'absent' || isNeeded(context) ? undefined : context.settled_at,
}

/**
 * A runner that was told to stop may still be at work, and whatever continues the item waits for that; or an item that
 * resumes its work still owes something, and tells this one how it ends.
 */
function isNeeded({ internal, resumptions }: WorkItemContext): boolean {
  if (internal.taken_back !== undefined) return true
  return resumptions.some(({ state }) => state === undefined || !isTerminalItem(state))
}

export function document({ value, context: c }: SnapshotOf<WorkItemContext>): WorkItem {
  const { submitted_by, objective, kind, lane, origin, source, told_of: _, ...asked } = c.asked
  const last = c.operator_actions.at(-1)
  return {
    id: c.id,
    project: c.project,
    project_id: c.project_id,
    objective,
    kind,
    lane,
    state: value as WorkItem['state'],
    reason: c.reason,
    origin,
    source,
    ...(c.depends_on.length === 0 ? {} : { depends_on: [...c.depends_on] }),
    ...(asked as Partial<WorkItem>),
    ...(c.resumptions.length === 0 ? {} : { resumptions: [...c.resumptions] }),
    trace_id: c.trace_id,
    ...(c.run === undefined ? {} : { run_request_id: c.run.id }),
    ...(c.run?.runner_id === undefined ? {} : { running_on: c.run.runner_id }),
    ...(c.disposition === undefined ? {} : { disposition: c.disposition }),
    ...(last === undefined ? {} : { operator_action: last, operator_actions: [...c.operator_actions] }),
    submitted_by,
    submitted_at: c.submitted_at,
    ...(c.started_at === undefined ? {} : { started_at: c.started_at }),
    ...(c.settled_at === undefined ? {} : { settled_at: c.settled_at }),
  }
}
