/**
 * The event types that a campaign states itself; its tasks have histories of their own. Apart from view.ts, which would
 * slow the start of every command of the command line.
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
