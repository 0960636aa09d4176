/** What a campaign's events assert: its project, its status, how many cycles it has had and may have. */
import type { CampaignStatus } from '../documents/campaign.ts'
import { members, type Testimony } from '../testimony.ts'
import type { CampaignContext } from './context.ts'
import { OWN_TYPES } from './own-types.ts'

/** The status that each decision leads to. */
const STATUS_OF_DECISION: Readonly<Record<string, CampaignStatus>> = {
  advance: 'active',
  done: 'completed',
  escalate: 'escalated',
}
const STATUS_OF_TYPE: Readonly<Record<string, CampaignStatus>> = {
  campaign_paused: 'paused',
  campaign_escalated: 'escalated',
  campaign_completed: 'completed',
  campaign_cancelled: 'cancelled',
}

export const campaignTestimony: Testimony<CampaignContext> = {
  idMember: 'campaign',
  types: new Set(OWN_TYPES),
  // A request asserts nothing, since others may state it too; nor does the end of an advance that came to nothing.
  aspects: ({ event_type, payload: { success, decision } }) =>
    event_type === 'campaign_advance_requested' || (success === false && decision === 'advance')
      ? []
      : event_type === 'campaign_added'
        ? ['creation', 'state']
        : ['state'],
  claims: (aspect, { event_type, project, payload }) => {
    if (aspect === 'creation') return { project }
    if (event_type in STATUS_OF_TYPE) {
      return { status: STATUS_OF_TYPE[event_type], ...members(payload, 'cycles_completed', 'cycles_landed') }
    }
    const status = payload.status ?? payload.campaign_status ?? STATUS_OF_DECISION[payload.decision]
    // Events of earlier versions have no budget.
    return payload.budget === undefined ? { status } : { status, max_cycles: payload.budget.max_cycles }
  },
  held: ({ value, context }) => ({
    // A cancellation is stated only when it is complete; until then events show the earlier status.
    status: context.stopping?.from ?? value,
    ...members(context, 'project', 'cycles_completed', 'cycles_landed', 'max_cycles'),
  }),
  madeAt: ({ created_at }) => created_at,
}
