/** What came of the times at which a sentinel fell due or was fired, for people. Imported by the console: no schemas. */

/** The part of a sentinel's document that tells it. */
interface Told {
  readonly time_zone?: string
  readonly skipping?: { readonly times: number }
  readonly failing?: { readonly items?: readonly { item_id: string; state: string; reason?: string }[] }
  readonly last?: {
    readonly item_id?: string
    readonly skipped?: 'duplicate' | 'missed' | 'project_archived' | 'unknown_time_zone'
  }
}

/** A few words to which the sentinel is the subject: `submitted wi_0a1b...`. */
export function lastOf({ last }: Pick<Told, 'last'>): string {
  if (last === undefined) return 'has not fallen due yet'
  switch (last.skipped) {
    case undefined:
      return `submitted ${last.item_id}`
    case 'duplicate':
      return `submitted nothing: ${last.item_id ?? 'another item'} asks for the same and has not settled`
    case 'missed':
      return 'submitted nothing: the service was not running then'
    case 'unknown_time_zone':
      // Not which: it may have another by now.
      return 'submitted nothing: the Node.js of the service did not know its time zone'
    default:
      return 'submitted nothing: its project is archived'
  }
}

/** Why one needs a person that has submitted nothing time after time. */
export function skippingOf(of: Told): string {
  return `${of.skipping?.times} times in a row: ${lastOf(of)}`
}

/** Why an active one falls due no more. */
export function unscheduledOf({ time_zone }: Told): string {
  return `the Node.js of the service does not know the time zone ${time_zone}`
}

/** Why one needs a person whose items fail one after the other: how they ended, and why the newest did. */
export function failingOf({ failing }: Told): string {
  const { items = [] } = failing ?? {}
  const newest = items.at(-1)
  const states = items.map(({ state }) => state).join(', ')
  return `its last ${items.length} items: ${states}; the newest, ${newest?.item_id}: ${newest?.reason}`
}
