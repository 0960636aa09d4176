/** Reads the headers that the router checks, and handles bodies whose end parsers may see differently. */
import { type Exchange, PREFER_HEADER } from './exchange.ts'
import { DROPPED_BYTES_MAX } from './lingering.ts'
import type { UwsRequest } from './uws.ts'

/**
 * The headers of the request being handled that the router needs. One walk over all headers also yields their total
 * size, which uWebSockets.js bounds only for a request that arrives in pieces; it costs no more than four lookups.
 */
export const incoming = {
  bytes: 0,
  authorization: '',
  accept: '',
  version: '',
  contentType: '',
  contentEncoding: '',
  contentLength: '',
  /**
   * Neither a length nor chunked, an empty length, or two lengths: parsers disagree on where the body ends (RFC 9112
   * section 6.3).
   */
  isFramedTwice: false,
  /**
   * uWebSockets.js reads what follows the last chunk as the next request, where other parsers read trailers, and it
   * takes a bare line feed for a line's end (RFC 9112 sections 7.1 and 11.2). So nothing after a chunked body is
   * treated as a request.
   */
  isChunked: false,
  /** Its answer must end the connection; known once `fence` was called. */
  isFenced: false,
  protocols: '',
  /** Number of Host headers: with two, parsers disagree on which one counts (RFC 9112 section 3.2). */
  hosts: 0,
  /** Several headers are joined in their order. */
  prefer: '',
  ifMatch: '',
  /** Undefined if there is none. */
  idempotencyKey: undefined as string | undefined,
}

export function readHeaders(request: UwsRequest): void {
  incoming.bytes = 0
  incoming.authorization = ''
  incoming.accept = ''
  incoming.version = ''
  incoming.contentType = ''
  incoming.contentEncoding = ''
  incoming.contentLength = ''
  incoming.isFramedTwice = false
  incoming.isChunked = false
  incoming.protocols = ''
  incoming.hosts = 0
  incoming.prefer = ''
  incoming.ifMatch = ''
  incoming.idempotencyKey = undefined
  request.forEach(readHeader)
}

function readHeader(name: string, value: string): void {
  incoming.bytes += name.length + value.length + HEADER_FRAME_BYTES
  if (name === 'authorization') {
    // With two of them parsers disagree on which one counts (RFC 9110 section 5.3), so neither does.
    incoming.authorization = incoming.authorization === '' ? value : TWO_AUTHORIZATIONS
  } else if (name === 'accept') incoming.accept = value
  else if (name === 'content-type') incoming.contentType = value
  else if (name === 'content-encoding') incoming.contentEncoding = value
  else if (name === 'content-length') {
    if (value === '' || (incoming.contentLength !== '' && incoming.contentLength !== value))
      incoming.isFramedTwice = true
    incoming.contentLength = value
  } else if (name === 'transfer-encoding') {
    incoming.isChunked = true
    incoming.isFramedTwice ||= value.toLowerCase() !== 'chunked'
  } else if (name === 'api-version') incoming.version = value
  else if (name === 'host') incoming.hosts++
  else if (name === 'sec-websocket-protocol') incoming.protocols = value
  else readDeclared(name, value)
}

/** Headers that only some routes read, and that may occur more than once. */
function readDeclared(name: string, value: string): void {
  if (name === PREFER_HEADER) incoming.prefer = listed(incoming.prefer, value)
  else if (name === 'if-match') incoming.ifMatch = listed(incoming.ifMatch, value === '' ? EMPTY : value)
  // With two keys parsers disagree on which one counts, so neither does.
  else if (name === 'idempotency-key')
    incoming.idempotencyKey = incoming.idempotencyKey !== undefined ? TWO_KEYS : value === '' ? EMPTY : value
}

/** Joins the values of a repeated list header (RFC 9110 section 5.3). */
function listed(before: string, value: string): string {
  return before === '' ? value : `${before},${value}`
}

/** A header that the route declared, from the request just read. */
export function declaredHeader(name: string, request: UwsRequest): string {
  switch (name) {
    case PREFER_HEADER:
      return incoming.prefer
    case 'if-match':
      return incoming.ifMatch
    case 'idempotency-key':
      return incoming.idempotencyKey ?? ''
    default:
      return request.getHeader(name)
  }
}

/**
 * Called once the headers are read. Keeps anything after the body from being read as a request if parsers may disagree
 * on the body's end, or if the body is longer than uWebSockets.js drops without closing.
 */
export function fence(exchange: Exchange): void {
  const { isChunked, isFramedTwice, contentLength } = incoming
  const isToCome = !isFramedTwice && (isChunked || Number(contentLength) > DROPPED_BYTES_MAX)
  incoming.isFenced = isFramedTwice || isToCome
  if (isChunked || isFramedTwice) exchange._fence()
  if (isToCome) exchange._bodyIsToCome()
}

/** No header value can equal these. */
export const TWO_KEYS = '\0'
/** The header was sent but is empty. uWebSockets.js treats non-ASCII bytes at either end of a value as white space. */
const EMPTY = '\u0001'

/** Not of the form `Bearer <token>`, so it admits nobody. */
export const TWO_AUTHORIZATIONS = 'two'

/** `: ` and the line's end. */
const HEADER_FRAME_BYTES = 4
