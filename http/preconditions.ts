/**
 * `If-Match` (RFC 9110 section 13.1.1) on what changes a document: whoever writes says which version was read, so that
 * nobody overwrites what they have not seen. The entity tag of a document is its `version` in quotes.
 */
import type { Exchange } from './wire/exchange.ts'

export const IF_MATCH_HEADER = 'if-match'

/** The version that was read, for the message; none: any. */
interface VersionRead {
  readonly if_version?: number
}

const VERSION_TAG = /^"([1-9]\d{0,14})"$/
const OTHER_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\uffff]*"$/
/**
 * What a tag names that no document has. A weak one does not: the comparison is the strong one, and what may differ byte by
 * byte is not what was read. Whether the state takes the change is asked first, so the document is to answer (412).
 */
const NO_VERSION = 0

/** The version that `If-Match` names; none without one, and for `*`. Undefined: a problem was answered. */
export function readVersion(exchange: Exchange): VersionRead | undefined {
  const header = exchange.header(IF_MATCH_HEADER).trim()
  if (header === '' || header === '*') return {}
  const version = VERSION_TAG.exec(header)?.[1]
  if (version !== undefined) return { if_version: Number(version) }
  if (OTHER_TAG.test(header)) return { if_version: NO_VERSION }
  exchange.problem('invalid_header', 'If-Match must be one entity tag such as "3", or *.')
  return undefined
}

/** The same, where it must be named. */
export function requireVersion(exchange: Exchange): VersionRead | undefined {
  if (exchange.header(IF_MATCH_HEADER).trim() !== '') return readVersion(exchange)
  exchange.problem('precondition_required', 'Read the document, and send its ETag as If-Match (or `*` for any).')
  return undefined
}

/** The header that a later `If-Match` repeats. */
export function setEntityTag(exchange: Exchange, version: number): Exchange {
  return exchange.setHeader('ETag', `"${version}"`)
}
