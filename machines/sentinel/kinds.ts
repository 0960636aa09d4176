/** The kinds of work that a sentinel may submit. Without schemas, since the console offers them too. */

/** The others need a payload about one occasion. */
export const RECURRING_KINDS = ['task', 'maintenance', 'major_upgrade'] as const
