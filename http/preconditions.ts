/**
 * `If-Match` (RFC 9110 section 13.1.1) on what changes a document: whoever writes says which version was read, so that
 * nobody overwrites what they have not seen. The entity tag of a document is its `version` in quotes.
 */
import type { Exchange } from './exchange.ts'

export const IF_MATCH_HEADER = 'if-match'

export type VersionResult = { readonly ok: true; readonly version: number | undefined } | { readonly ok: false }

const VERSION_TAG = /^"([1-9]\d{0,14})"$/
const OTHER_TAG = /^(W\/)?"[\x21\x23-\x7e\x80-\uffff]*"$/

/** The version that the caller has read; undefined for `*`: any. Not ok: a problem was answered. */
export function readIfMatch(exchange: Exchange): VersionResult {
  const header = exchange.header(IF_MATCH_HEADER).trim()
  if (header === '*') return { ok: true, version: undefined }
  if (header === '') {
    exchange.problem('precondition_required', 'Read the document, and send its ETag as If-Match (or `*` for any).')
    return { ok: false }
  }
  const version = VERSION_TAG.exec(header)?.[1]
  if (version !== undefined) return { ok: true, version: Number(version) }
  const other = OTHER_TAG.exec(header)
  if (other === null) exchange.problem('invalid_header', 'If-Match must be one entity tag such as "3", or *.')
  // The comparison is the strong one: what may differ byte by byte is not what was read.
  else if (other[1] !== undefined) exchange.problem('precondition_failed', 'A weak entity tag matches no document.')
  else exchange.problem('precondition_failed', 'No version of a document has this entity tag.')
  return { ok: false }
}

/** The version that `If-Match` names, for the message; empty without one. Undefined: a problem was answered. */
export function readVersion(exchange: Exchange): { readonly if_version?: number } | undefined {
  if (exchange.header(IF_MATCH_HEADER).trim() === '') return {}
  const read = readIfMatch(exchange)
  if (!read.ok) return undefined
  return read.version === undefined ? {} : { if_version: read.version }
}

/** The header that a later `If-Match` repeats. */
export function setEntityTag(exchange: Exchange, version: number): Exchange {
  return exchange.setHeader('ETag', `"${version}"`)
}
