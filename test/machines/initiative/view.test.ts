/** What of an initiative calls for a person. */
import t from 'tap'
import { ASSESSMENTS_SHOWN_MAX } from '../../../machines/documents/initiative.ts'
import { isOvertaken } from '../../../machines/initiative/view.ts'

const PAY = { kind: 'campaign', ref: 'pay' } as const
const SHOP = { kind: 'project', ref: 'shop' } as const

/** An assessment that has ended. */
const ended = (item_id: string, outcome: 'failed' | 'waited' | 'skipped', member?: typeof PAY | typeof SHOP) => ({
  steer_id: item_id,
  item_id,
  trigger_id: item_id,
  outcome,
  at: '2026-01-31T12:00:00Z',
  ...(member === undefined ? {} : { member }),
})

t.test('a failed assessment is overtaken by a later one that ran, about the same member or about all', (t) => {
  const first = (member?: typeof PAY) => ended('wi_1', 'failed', member)
  for (const [assessments, expected] of [
    [[first()], false],
    [[first(), ended('wi_2', 'failed')], true],
    [[first(), ended('wi_2', 'waited')], true],
    [[first(), ended('wi_2', 'skipped')], false],
    [[first(), ended('wi_2', 'waited', PAY)], false],
    [[first(PAY), ended('wi_2', 'waited', PAY)], true],
    [[first(PAY), ended('wi_2', 'waited', SHOP)], false],
    [[first(PAY), ended('wi_2', 'waited')], true],
    [[ended('wi_0', 'waited'), first()], false],
    [[], false],
  ] as const)
    t.equal(isOvertaken({ assessments }, 'wi_1'), expected, JSON.stringify(assessments))
  t.end()
})

t.test('a failed assessment that is no longer remembered has many after it', (t) => {
  const later = (count: number) => Array.from({ length: count }, (_, n) => ended(`wi_later${n}`, 'waited', SHOP))
  t.equal(isOvertaken({ assessments: later(ASSESSMENTS_SHOWN_MAX) }, 'wi_1'), true)
  t.equal(isOvertaken({ assessments: later(ASSESSMENTS_SHOWN_MAX - 1) }, 'wi_1'), false, 'it is about to be recorded')
  t.end()
})
