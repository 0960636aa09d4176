import t from 'tap'
import { UNFINISHED_STATUSES } from '../../../machines/campaign/states.ts'
import { CAMPAIGN_STATUSES } from '../../../machines/documents/campaign.ts'

t.test('a campaign is unfinished in every status but the two in which it is over', (t) => {
  t.same([...UNFINISHED_STATUSES, 'completed', 'cancelled'].sort(), [...CAMPAIGN_STATUSES].sort())
  t.end()
})
