/**
 * Which test records each event type of SPEC 6.7 to 6.10 and 6.16 to 6.18 by a real path through the running service,
 * and the check at its end that all of them were recorded as SPEC's table and the schema require.
 * `event-coverage.test.ts` compares this list with the catalogue.
 */
import type { Test } from 'tap'
import { validatePayload } from '../../machines/events/index.ts'
import { table } from '../machines/events/samples.ts'
import type { TestService } from './service-harness.ts'

export const STATED_BY = {
  'ledger-events': [
    'task_run_started',
    'task_reviewed',
    'task_run_completed',
    'work_item_submitted',
    'work_item_started',
    'work_item_settled',
    'work_item_cancelled',
    'work_item_held',
    'work_item_released',
    'pacing_paused',
    'pacing_resumed',
  ],
  campaigns: [
    'campaign_advance_requested',
    'campaign_advance_completed',
    'campaign_paused',
    'campaign_escalated',
    'campaign_completed',
    'campaign_cancelled',
  ],
  'agent-sessions': ['agent_session_started', 'agent_session_ended'],
  'initiative-events': [
    'initiative_advance_requested',
    'initiative_steered',
    'initiative_action_requested',
    'initiative_owner_action_recorded',
    'initiative_added',
    'initiative_decided',
    'initiative_completed',
    'initiative_cancelled',
    'finding_recorded',
    'finding_consumed',
  ],
} as const

/**
 * Engines may add members to events of a task, and an action is recorded whole; other events have no further members.
 */
const OPEN: ReadonlySet<string> = new Set([
  'task_run_started',
  'task_reviewed',
  'task_run_completed',
  'initiative_action_requested',
])

/** Checks that the log has each type of the test, and every payload of it against the table and the schema. */
export async function toTheLetter(t: Test, s: TestService, test: keyof typeof STATED_BY): Promise<void> {
  const all = (await s.expect(200, 'GET', '/api/events?limit=500&order=asc')).body.items
  for (const type of STATED_BY[test]) {
    const stated = all.filter(({ event_type }: any) => event_type === type)
    t.ok(stated.length > 0, `${type} was recorded`)
    const rows = (table.get(type) ?? table.get('initiative_added'))!.filter(({ path }) => !/[.[]/.test(path))
    for (const { payload } of stated) {
      const missing = rows.filter(({ presence, path }) => presence === 'yes' && !(path in payload))
      t.same(missing, [], `${type} has its required members`)
      t.same(validatePayload(type, payload), [], `${type} satisfies its schema`)
      const unknown = Object.keys(payload).filter((name) => !rows.some(({ path }) => path === name))
      if (rows.length > 0 && !OPEN.has(type)) t.same(unknown, [], `${type} has no other members`)
    }
  }
}
