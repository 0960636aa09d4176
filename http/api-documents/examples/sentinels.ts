/** Examples of the sentinels' bodies and answers, by route. */
import type { Example } from '../examples.ts'
import { AT, BY, ITEM_ID } from './constants.ts'

const item = { objective: 'Update the dependencies', kind: 'maintenance' }
const when = { cron: '30 2 * * 1-5', time_zone: 'Europe/Berlin' }
const NEXT = '2030-02-01T01:30:00.000Z'

const paused = {
  name: 'nightly',
  project: 'greeter',
  state: 'paused',
  ...when,
  item,
  fired: 0,
  by: BY,
  created_at: AT,
}
const active = { ...paused, state: 'active', next_at: NEXT }
const fired = { ...active, last: { at: AT, item_id: ITEM_ID, item_state: 'queued' }, fired: 1 }

export const sentinelExamples: Readonly<Record<string, Example>> = {
  'POST /api/sentinels': { body: { name: 'nightly', project: 'greeter', ...when, item }, answer: active },
  'GET /api/sentinels': { answer: { items: [active] } },
  'GET /api/sentinels/:name': { answer: fired },
  'PATCH /api/sentinels/:name': { body: { cron: '0 4 * * *' }, answer: { ...active, cron: '0 4 * * *' } },
  'POST /api/sentinels/:name/pause': { body: {}, answer: paused },
  'POST /api/sentinels/:name/resume': { body: {}, answer: active },
  'POST /api/sentinels/:name/fire': { body: {}, answer: fired },
  'POST /api/sentinels/:name/remove': { body: {}, answer: { ...paused, state: 'removed' } },
}
