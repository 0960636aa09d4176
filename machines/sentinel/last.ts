/** What came of the last time that a sentinel fell due or was fired, for people. Imported by the console: no schemas. */

/** The part of a sentinel's document that tells it. */
interface Told {
  readonly skipping?: { readonly times: number }
  readonly last?: { readonly item_id?: string; readonly skipped?: 'duplicate' | 'missed' | 'project_archived' }
}

/** A few words to which the sentinel is the subject: `submitted wi_0a1b...`. */
export function lastOf({ last }: Told): string {
  if (last === undefined) return 'has not fallen due yet'
  switch (last.skipped) {
    case undefined:
      return `submitted ${last.item_id}`
    case 'duplicate':
      return `submitted nothing: ${last.item_id ?? 'another item'} asks for the same and has not settled`
    case 'missed':
      return 'submitted nothing: the service was not running then'
    default:
      return 'submitted nothing: its project is archived'
  }
}

/** Why one needs a person that has submitted nothing time after time. */
export function skippingOf(of: Told): string {
  return `${of.skipping?.times} times in a row: ${lastOf(of)}`
}
