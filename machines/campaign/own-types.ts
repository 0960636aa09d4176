/**
 * What a campaign states of itself: its tasks have histories of their own. Apart from how it is seen (view.ts), which would cost
 * every command of the command line a part of its start.
 */
export const OWN_TYPES = [
  'added',
  'advance_requested',
  'advance_completed',
  'paused',
  'escalated',
  'completed',
  'cancelled',
  'owner_paused',
  'resumed',
  'decided',
].map((name) => `campaign_${name}`)
