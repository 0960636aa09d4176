/** Which campaigns are not over. Without schemas, since the console shows them too. */

/** Statuses of campaigns that are not over, in the order in which a person wants to see them. */
export const UNFINISHED_STATUSES: readonly string[] = ['escalated', 'active', 'cancelling', 'paused', 'staged']
