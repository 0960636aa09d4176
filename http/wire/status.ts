/**
 * How answers begin: the status line with the headers that all of them carry, one prebuilt text for each status. A
 * header that is part of the status line costs nothing; each one passed to uWebSockets.js separately takes a third of a
 * microsecond.
 */
const STATUSES: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  406: '406 Not Acceptable',
  409: '409 Conflict',
  410: '410 Gone',
  412: '412 Precondition Failed',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  422: '422 Unprocessable Content',
  426: '426 Upgrade Required',
  428: '428 Precondition Required',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
}

const EVERY = '\r\nAPI-Version: 1'
const JSON_TYPE = '\r\nContent-Type: application/json'

const plain = new Map<number, string>()
const json = new Map<number, string>()
for (const [status, line] of Object.entries(STATUSES)) {
  plain.set(Number(status), line + EVERY)
  json.set(Number(status), line + EVERY + JSON_TYPE)
}

/** What uWebSockets.js writes as the status: the status line and `API-Version`, with `Content-Type` if it is JSON. */
export function beginningOf(status: number, type: 'json' | 'other'): string {
  const known = (type === 'json' ? json : plain).get(status)
  return known ?? `${status} Status${EVERY}${type === 'json' ? JSON_TYPE : ''}`
}
