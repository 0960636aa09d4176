/**
 * `If-Match` (RFC 9110 section 13.1.1) on routes that change a document: the writer names the version it has read, so
 * that nobody overwrites what they have not seen. A document's entity tag is its `version` in quotes.
 */
import type { Exchange } from './wire/exchange.ts'

export const IF_MATCH_HEADER = 'if-match'

/** The version that was read, as a member of the message; absent: any. */
interface VersionRead {
  readonly if_version?: number
}

const VERSION_TAG = /^"([1-9]\d{0,14})"$/
const OTHER_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\uffff]*"$/
/**
 * Stands for a tag that no document has. A weak tag matches none either: the comparison is strong, and a weakly equal
 * representation may differ byte by byte. The tag is still passed on, so that the document can first refuse for its
 * state and only then for the version (412).
 */
const NO_VERSION = 0

/**
 * The version that `If-Match` names; `{}` without the header and for `*`. Returns undefined if a problem was answered.
 */
export function readVersion(exchange: Exchange): VersionRead | undefined {
  const header = exchange.header(IF_MATCH_HEADER).trim()
  if (header === '' || header === '*') return {}
  const version = VERSION_TAG.exec(header)?.[1]
  if (version !== undefined) return { if_version: Number(version) }
  if (OTHER_TAG.test(header)) return { if_version: NO_VERSION }
  exchange.problem('invalid_header', 'If-Match must be one entity tag such as "3", or *.')
  return undefined
}

/** Like `readVersion`, for routes that require the header. */
export function requireVersion(exchange: Exchange): VersionRead | undefined {
  if (exchange.header(IF_MATCH_HEADER).trim() !== '') return readVersion(exchange)
  exchange.problem(
    'precondition_required',
    'Read the document, and send its ETag as If-Match (or `*` for any version).',
  )
  return undefined
}

/** Sets the tag that a later `If-Match` repeats. */
export function setEntityTag(exchange: Exchange, version: number): Exchange {
  return exchange.setHeader('ETag', `"${version}"`)
}
