/**
 * Values cut out of an event's text without parsing it. Exact, because the text has its keys in alphabetical order (see
 * `eventText`): behind the payload stand only texts and nulls, before it only those and `by`, whose first key is `id`, and
 * inside a text no quote goes unescaped. So the first `"event_type":` and the first `,"id":` are the envelope's, and so
 * are the last of `project`, `recorded_at`, `run_request_id` and `trace_id`.
 */

const QUOTE = 0x22

/** The text or null that begins at `at`. Undefined: something else does, or the text has escapes: it has to be parsed. */
export function plainValue(text: string, at: number): string | null | undefined {
  if (text.startsWith('null', at)) return null
  if (text.charCodeAt(at) !== QUOTE) return undefined
  const value = text.slice(at + 1, text.indexOf('"', at + 1))
  return value.includes('\\') ? undefined : value
}

/** The value behind the last `member`, which is written as in the text: `,"project":`. Undefined as above, or not there. */
export function lastValue(text: string, member: string): string | null | undefined {
  const at = text.lastIndexOf(member)
  return at === -1 ? undefined : plainValue(text, at + member.length)
}

/** The event's id. Nothing in an id is escaped. */
export function idOfText(text: string): string {
  const start = text.indexOf(',"id":"') + 7
  return text.slice(start, text.indexOf('"', start))
}
