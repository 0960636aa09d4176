/** Lanes: what can be paused apart from the rest. Without schemas, since the console offers them too. */

export const LANES = ['interactive', 'campaign', 'maintenance'] as const
export type Lane = (typeof LANES)[number]
