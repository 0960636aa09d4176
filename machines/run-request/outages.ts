/**
 * Failures that say that the agent's provider cannot be used now: nothing is wrong with the work, and to ask again at
 * once is of no use.
 */
export const OUTAGE_CODES: ReadonlySet<string> = new Set(['provider_unavailable', 'usage_limit'])
