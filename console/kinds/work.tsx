/** Work: items of the ledger, the run requests that do them, the runners and agent sessions that carry them out. */
import { ITEM_ACTIONS } from '../actions/items.ts'
import { RUN_ACTIONS, RUNNER_ACTIONS } from '../actions/runs.ts'
import { costOf } from '../costs.ts'
import type { Document } from '../document.ts'
import { Ref, State } from '../parts/basics.tsx'
import { EVERY_MS } from '../resource.ts'
import { withKept } from '../words.ts'
import { age, at, byId, cell, type Kind, link, project, state, wide } from './kind.tsx'

/** A cycle's task is shown with its campaign: `pay 2: Send the invoice`. */
function whatOf({ objective, source }: Document): string {
  return source?.cycle === undefined ? objective : `${source.ref} ${source.cycle}: ${objective}`
}

/**
 * The reason for its state; for a started item whose run waits for a runner again, why it waits; for one whose work has
 * not landed, where that is kept.
 */
function whyItem({ state: now, reason, waiting_because: why, disposition }: Document): string {
  if (now === 'running') return why?.detail ?? reason
  return withKept(reason, disposition)
}

function whyRun({ waiting_because: waits, failure, cancel }: Document): string | undefined {
  return waits?.detail ?? failure?.message ?? cancel?.reason
}

export const items: Kind = {
  one: 'Work item',
  many: 'Work items',
  list: () => 'api/work-items',
  filters: {
    'submitted,queued,held': 'waiting',
    running: 'running',
    'needs_decision,preserved,failed': 'open',
    landed: 'landed',
    cancelled: 'cancelled',
  },
  path: at('work-items'),
  idOf: byId,
  titleOf: whatOf,
  whyOf: whyItem,
  columns: [
    link('Item', byId),
    state(),
    project,
    cell('Lane', ({ lane }) => lane),
    wide('What', whatOf),
    wide('Why', whyItem),
    age('For', ({ settled_at, started_at, submitted_at }) => settled_at ?? started_at ?? submitted_at),
  ],
  actions: ITEM_ACTIONS,
  isSelectable: true,
  history: ({ id }) => ({ item_id: id }),
  output: ({ run_request_id }) => run_request_id,
  without: ['objective', 'state', 'reason', 'operator_action'],
}

export const runs: Kind = {
  one: 'Run request',
  many: 'Run requests',
  list: () => 'api/run-requests',
  filters: {
    queued: 'waiting',
    'offered,accepted,started,cancelling': 'under way',
    lost: 'lost',
    completed: 'completed',
    failed: 'failed',
    cancelled: 'cancelled',
  },
  path: at('run-requests'),
  idOf: byId,
  titleOf: ({ entry_event, payload }) => (typeof payload?.objective === 'string' ? payload.objective : entry_event),
  whyOf: whyRun,
  columns: [
    link('Run', byId),
    state(),
    project,
    cell('Event', ({ entry_event }) => entry_event),
    cell('Runner', ({ offered_to }) => offered_to && <Ref to={offered_to} as="runner_id" />),
    wide('Why', whyRun),
    age('Age', ({ created_at }) => created_at),
  ],
  actions: RUN_ACTIONS,
  isSelectable: true,
  history: ({ id }) => ({ run_request_id: id }),
  output: byId,
  without: ['state'],
}

export const runners: Kind = {
  one: 'Runner',
  many: 'Runners',
  list: () => 'api/runners',
  isGlobal: true,
  path: at('runners'),
  idOf: byId,
  titleOf: ({ name, id }) => name ?? id,
  columns: [
    link('Runner', byId, 'runner_id'),
    state('presence'),
    cell('State', ({ state: now, limited }) => <State of={now === 'registered' && limited ? 'limited' : now} />),
    cell('Slots', ({ in_flight, capacity }) => `${in_flight.length} of ${capacity}`),
    wide('Projects', ({ allowed_projects }) => allowed_projects.join(', ')),
    wide('Labels', ({ labels }) => labels.join(', ')),
    cell('Trusted', ({ trusted }) => (trusted ? 'yes' : 'no')),
    wide('Run rights', ({ run_rights }) => run_rights.join(', ')),
    age('Seen', ({ last_seen_at }) => last_seen_at),
  ],
  actions: RUNNER_ACTIONS,
  everyMs: EVERY_MS,
}

export const sessions: Kind = {
  one: 'Agent session',
  many: 'Agent sessions',
  list: () => 'api/agent-sessions',
  filters: { started: 'running', ended: 'ended' },
  path: at('agent-sessions'),
  idOf: ({ session_id }) => session_id,
  titleOf: ({ agent_type, session_id }) => agent_type ?? session_id,
  columns: [
    link('Session', ({ session_id }) => session_id, 'session_id'),
    cell('State', ({ status, state: now }) => <State of={status ?? now} />),
    project,
    cell('Agent', ({ agent_type }) => agent_type),
    cell('Runner', ({ runner_id }) => runner_id && <Ref to={runner_id} as="runner_id" />),
    cell('Cost', (session) => costOf([session])),
    age('Last output', ({ last_output_at }) => last_output_at),
    age('Age', ({ recorded_at }) => recorded_at),
  ],
  history: ({ session_id }) => ({ session_id }),
  without: ['state', 'status'],
  everyMs: EVERY_MS,
}
