/**
 * JSON as it is sent to the service. Half surrogate pairs, which the service cannot store, become U+FFFD. They come
 * from texts cut to a length, and from escapes in a command's output.
 */

/**
 * The JSON text of a value. `JSON.stringify` writes lone surrogates, and only those, as \\udXXX (ECMA-262,
 * QuoteJSONString).
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === '\\\\' ? found : '\ufffd'))
}
