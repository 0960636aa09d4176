/** What the gate reads of a request's headers, and what it makes of a body that readers may see differently. */
import { type Exchange, PREFER_HEADER } from './exchange.ts'
import { DROPPED_BYTES_MAX } from './lingering.ts'
import type { UwsRequest } from './uws.ts'

/**
 * The headers that the gate needs, of the request being handled. One walk over all of them also tells their sum,
 * which uWebSockets.js bounds only for a request that comes in pieces; and it costs no more than asking for four.
 */
export const incoming = {
  bytes: 0,
  authorization: '',
  accept: '',
  version: '',
  contentType: '',
  contentEncoding: '',
  contentLength: '',
  /** Neither a length nor chunks, an empty length, or two lengths: where the body ends depends on who reads it (RFC 9112 section 6.3). */
  isFramedTwice: false,
  /**
   * uWebSockets.js reads what follows the last chunk as the next request, where others read trailers, and takes a bare
   * line feed for the end of a line (RFC 9112 sections 7.1 and 11.2): nothing that follows is taken for a request.
   */
  isChunked: false,
  protocols: '',
  /** Which of two is meant depends on who reads (RFC 9112 section 3.2). */
  hosts: 0,
  /** Of several, all in their order. */
  prefer: '',
  ifMatch: '',
  /** Undefined: there is none. */
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
    // Who is meant by two of them depends on who reads (RFC 9110 section 5.3): nobody.
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

/** What some routes ask for, and what may stand in more than one header. */
function readDeclared(name: string, value: string): void {
  if (name === PREFER_HEADER) incoming.prefer = listed(incoming.prefer, value)
  else if (name === 'if-match') incoming.ifMatch = listed(incoming.ifMatch, value)
  // Which of two holds depends on who reads: neither.
  else if (name === 'idempotency-key')
    incoming.idempotencyKey = incoming.idempotencyKey !== undefined ? TWO_KEYS : value === '' ? EMPTY_KEY : value
}

/** Two headers of a list are one (RFC 9110 section 5.3). */
function listed(before: string, value: string): string {
  return before === '' ? value : `${before},${value}`
}

/** A header that the route declared, of the request that was read. */
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
 * Of a request that has been read: what follows a body whose end readers see differently is none, nor what follows one
 * that is longer than is let in for nothing.
 */
export function fence(exchange: Exchange): void {
  const { isChunked, isFramedTwice, contentLength } = incoming
  if (isChunked || isFramedTwice) exchange._fence()
  if (!isFramedTwice && (isChunked || Number(contentLength) > DROPPED_BYTES_MAX)) exchange._bodyIsToCome()
}

/** No header can have these for its value. */
export const TWO_KEYS = '\0'
/** Sent, and nothing in it: uWebSockets.js takes what is not ASCII at either end of a value for white space. */
const EMPTY_KEY = '\u0001'

/** Not of the form `Bearer <token>`: it lets nobody in. */
export const TWO_AUTHORIZATIONS = 'two'

/** `: ` and the line's end. */
const HEADER_FRAME_BYTES = 4
