/** Campaigns, and the initiatives that steer them. */
import { CAMPAIGN_ACTIONS, INITIATIVE_ACTIONS } from '../actions/campaigns.ts'
import type { Document } from '../document.ts'
import { age, at, byName, cell, eachState, type Kind, link, project, state, wide } from './kind.tsx'

/** First of all the reason of its item, which waits or has failed. */
function whyCampaign({ reason, work }: Document): string {
  return work?.reason === undefined ? reason : `${work.reason}; ${reason}`
}

export const campaigns: Kind = {
  one: 'Campaign',
  many: 'Campaigns',
  list: () => 'api/campaigns',
  stateMember: 'status',
  filters: eachState('active', 'staged', 'paused', 'escalated', 'cancelling', 'completed', 'cancelled'),
  path: at('campaigns'),
  idOf: byName,
  titleOf: byName,
  whyOf: whyCampaign,
  columns: [
    link('Campaign', byName, 'campaign'),
    state('status'),
    project,
    cell(
      'Cycles',
      ({ cycles_completed: done, cycles_landed: landed, budget }) =>
        `${done} of ${budget.max_cycles}, ${landed} landed`,
    ),
    cell('Now', ({ stage }) => stage),
    wide('Mission', ({ mission }) => mission),
    wide('Why', whyCampaign),
    age('For', ({ since }) => since),
  ],
  actions: CAMPAIGN_ACTIONS,
  history: ({ name }) => ({ campaign: name }),
  without: ['name', 'status', 'reason'],
}

export const initiatives: Kind = {
  one: 'Initiative',
  many: 'Initiatives',
  list: () => 'api/initiatives',
  stateMember: 'status',
  filters: eachState('active', 'completed', 'cancelled'),
  path: at('initiatives'),
  idOf: byName,
  titleOf: byName,
  columns: [
    link('Initiative', byName, 'initiative'),
    state('status'),
    cell('Members', ({ members }) => String(members.length)),
    cell('Assessed', ({ assessments_made: made, budget }) => `${made} of ${budget.max_assessments}`),
    cell('Actions', ({ actions_applied: applied, budget }) => `${applied} of ${budget.max_actions}`),
    cell('Asks', ({ questions, close_proposals }) => String(questions.length + close_proposals.length)),
    wide('Outcome', ({ outcome }) => outcome),
    age('Age', ({ created_at }) => created_at),
  ],
  actions: INITIATIVE_ACTIONS,
  history: ({ name }) => ({ initiative: name }),
  without: ['name', 'status', 'reason'],
}
