/**
 * Extracts values from an event's text without parsing it. Exact, because the text has its keys in alphabetical order
 * (see `eventText`): after the payload come only texts and nulls; before it come only those and `by`, whose first key
 * is `id`; and inside a text every quote is escaped. So the first `"event_type":` and the first `,"id":` are the
 * envelope's, and so are the last of `project`, `recorded_at`, `run_request_id` and `trace_id`.
 */

const QUOTE = 0x22

/** The text or null that begins at `at`. Undefined if it is something else, or has escapes and must be parsed. */
export function plainValue(text: string, at: number): string | null | undefined {
  if (text.startsWith('null', at)) return null
  if (text.charCodeAt(at) !== QUOTE) return undefined
  const value = text.slice(at + 1, text.indexOf('"', at + 1))
  return value.includes('\\') ? undefined : value
}

/** The value after the last `member`, given as in the text: `,"project":`. Undefined as above, or if absent. */
export function lastValue(text: string, member: string): string | null | undefined {
  const at = text.lastIndexOf(member)
  return at === -1 ? undefined : plainValue(text, at + member.length)
}

/** The event's id. Ids contain nothing that JSON escapes. */
export function idOfText(text: string): string {
  const start = text.indexOf(',"id":"') + 7
  return text.slice(start, text.indexOf('"', start))
}
