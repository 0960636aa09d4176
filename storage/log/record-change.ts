/**
 * What a step changed in its actor's record, as JSON text. Most of a record never changes, and the log and the view
 * would each write it whole; so only the view does. `set` and `unset` are members of the context; the other members
 * replace those of the record, and absent ones stay as they were.
 */
interface Change {
  v: number
  n?: number
  t?: object
  seen?: object
  value?: string
  set?: Record<string, unknown>
  unset?: readonly string[]
}

/** A change that does not fit the record it is applied to; the message is a sentence about it. */
export class ChangeMisplaced extends Error {
  override readonly name = 'ChangeMisplaced'
}

/** The record after the step, made from the one before it. Throws ChangeMisplaced. */
export function changedRecord(before: string, change: string): string {
  const record = JSON.parse(before)
  const { v, value, set, unset, ...rest } = JSON.parse(change) as Change
  if (record.v !== v - 1) throw new ChangeMisplaced(`a change to version ${v} does not follow version ${record.v}`)
  record.v = v
  Object.assign(record, rest)
  if (value !== undefined) record.s.value = value
  Object.assign(record.s.context, set)
  for (const member of unset ?? []) delete record.s.context[member]
  return JSON.stringify(record)
}
