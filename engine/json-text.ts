/**
 * JSON as it goes to the service, without halves of surrogate pairs, which that cannot keep: each becomes U+FFFD. They come of
 * cutting a text to a length, and of what a command escaped.
 */

/** The text of a value; `JSON.stringify` writes halves as \\udXXX and nothing else so (ECMA-262, QuoteJSONString). */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === '\\\\' ? found : '\ufffd'))
}
