/** What must hold for every answer to any request. Each check returns what is wrong, if anything. */

import { problemTable } from '../../http/problems.ts'
import { DROPPED_BYTES_MAX } from '../../http/wire/lingering.ts'
import type { Documented } from '../http/documented.ts'
import type { Answer, Outcome } from './connection.ts'
import { markersIn } from './markers.ts'
import { RawJson } from './mutations.ts'
import type { Request } from './request.ts'
import { OWNED_ID, type World } from './world.ts'

/** Path parameters whose values callers may choose. */
const CHOSEN_BY_CALLERS: ReadonlySet<string> = new Set(['{runner_id}', '{name}', '{session_id}'])
/** Generous because many other processes may be running: an answer that takes longer hangs. */
const SLOW_MS = 20_000
/**
 * uWebSockets.js closes a connection that brought no complete request for about 10 s, checked every 4 s: a segmented
 * request may come too late.
 */
const LATE_MS = 7_000
/** A poll may wait as long as it asked for, in seconds, but no longer than this many milliseconds. */
const WAIT = /[?&]wait=(\d+)/
const WAIT_MS_MAX = 30_000

const STACK = /\n\s+at .+:\d+|node_modules\/|\/dist\/(http|runtime|storage|machines)\/|\b\w*Error: |\[object Object\]/
const SECRET = /(?:itd|irt)_[A-Za-z0-9_-]{20,}/g
const INTERNAL = /"(credential_hash|credentials|hash|fingerprint)":/

/** A parsed answer, for callers that continue from it. */
export interface Checked {
  readonly faults: readonly string[]
  readonly body: any
}

const NOTHING: Checked = { faults: [], body: undefined }

export function check(request: Request, outcome: Outcome, documented: Documented, world: World): Checked {
  if (outcome.kind === 'silent') return { faults: [`no answer within ${Math.round(outcome.ms)} ms`], body: undefined }
  if (outcome.kind === 'garbled') return { faults: [`the answer is garbled: ${outcome.why}`], body: undefined }
  if (outcome.kind === 'closed') {
    const isLate = (request.segments ?? 1) > 1 && outcome.restedMs > LATE_MS
    return isLate || mayBeClosed(request)
      ? NOTHING
      : { faults: [`the connection was closed without an answer after ${Math.round(outcome.ms)} ms`], body: undefined }
  }
  const faults: string[] = []
  const say = (fault: string | undefined): void => {
    if (fault !== undefined) faults.push(fault)
  }
  if (outcome.headers.get('api-version') !== '1') {
    // uWebSockets.js itself refuses what is not HTTP.
    return (outcome.status === 400 || outcome.status === 431) && mayBeClosed(request)
      ? NOTHING
      : { faults: ['there is no API-Version'], body: undefined }
  }
  const text = outcome.body.toString('utf8')
  const body = parsed(outcome, text, say)
  say(statusFault(outcome))
  say(outcome.ms > SLOW_MS + waitMsOf(request) ? `it took ${Math.round(outcome.ms)} ms` : undefined)
  say(documentFault(request, outcome, body, documented))
  if (body !== undefined && outcome.headers.get('content-type') === 'application/problem+json')
    say(problemFault(request, outcome, body))
  say(leakFault(request, outcome, text, body))
  say(confinementFault(request, text, outcome, world))
  say(admittedFault(request, outcome, body, documented))
  return { faults, body }
}

/** For input that is not HTTP, or exceeds what is read, the connection may be closed without an answer. */
function mayBeClosed({ mischief, target, headers, method, body, chunkBytes }: Request): boolean {
  const bytes = headers.reduce(
    (sum, [name, value]) => sum + name.length + value.length + 4,
    target.length + method.length,
  )
  if (body !== undefined && body.length > DROPPED_BYTES_MAX) return true
  if (bytes > 4_000 || (chunkBytes !== undefined && body!.length > 1_000_000)) return true
  return mischief.has('framing') || /[^\x21-\x7e]/.test(target) || /[^A-Z]/.test(method)
}

const waitMsOf = ({ target }: Request): number => Math.min(WAIT_MS_MAX, 1_000 * Number(WAIT.exec(target)?.[1] ?? 0))

function parsed(outcome: Answer, text: string, say: (fault: string) => void): any {
  const type = outcome.headers.get('content-type') ?? ''
  if (!type.includes('json') || text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    say(`the body is no JSON: ${text.slice(0, 200)}`)
    return undefined
  }
}

function statusFault({ status, headers }: Answer): string | undefined {
  if (status < 500) return status === 429 && !headers.has('retry-after') ? '429 without Retry-After' : undefined
  if (status !== 503) return `status ${status}`
  return headers.has('retry-after') ? undefined : '503 without Retry-After'
}

function documentFault(
  request: Request,
  { status, headers, body: bytes }: Answer,
  body: any,
  documented: Documented,
): string | undefined {
  const path = request.target.split(/[?#]/)[0]!
  const contentType = headers.get('content-type') ?? ''
  if (request.method === 'HEAD') return bytes.length === 0 ? undefined : 'a HEAD with a body'
  if (request.method === 'OPTIONS' && status === 204) return headers.has('allow') ? undefined : 'OPTIONS without Allow'
  if (status === 404 && body?.code === 'no_such_route') return undefined
  if (status === 405) return headers.has('allow') ? undefined : '405 without Allow'
  if (/^[A-Z]+$/.test(request.method) && documented.pathOf(request.method, path) === undefined && status < 400) {
    return `${request.method} ${path} is not documented and was answered ${status}`
  }
  return documented.faultOf({
    method: request.method,
    path,
    status,
    contentType,
    body: body ?? (bytes.length === 0 ? undefined : bytes.toString('utf8')),
  })
}

function problemFault(request: Request, { status }: Answer, body: any): string | undefined {
  if (typeof body !== 'object' || body === null) return 'the problem is no object'
  const known = (problemTable as Record<string, { status: number; title: string } | undefined>)[body.code]
  if (known === undefined) return `the problem's code is ${body.code}`
  if (known.status !== status || body.status !== status)
    return `the problem's status is ${body.status}, the answer's ${status}`
  if (body.type !== `/problems/${body.code}` || body.title !== known.title)
    return `the problem's type or title is wrong: ${JSON.stringify(body)}`
  if (typeof body.detail !== 'string' || body.detail.length < 5 || body.detail.length > 3_000)
    return `the problem's detail says nothing, or too much: ${JSON.stringify(body).slice(0, 300)}`
  const isPlaced = ['invalid_body', 'invalid_event', 'invalid_query'].includes(body.code)
  if (!isPlaced) return undefined
  if (!Array.isArray(body.errors) || body.errors.length === 0)
    return `the problem names no place: ${JSON.stringify(body)}`
  for (const { pointer, detail } of body.errors) {
    if (typeof detail !== 'string' || detail === '') return 'an error without a detail'
    if (body.code !== 'invalid_query' && request.document !== undefined && !isPlace(pointer, request.document)) {
      return `${JSON.stringify(pointer)} points nowhere in the body`
    }
  }
  return undefined
}

/** Whether the pointer leads to a member of the document, or to one that is missing in an object of it. */
function isPlace(pointer: string, document: unknown): boolean {
  if (pointer === '') return true
  if (!pointer.startsWith('/')) return false
  let at: any = document
  for (const step of pointer.slice(1).split('/')) {
    if (at instanceof RawJson || at === undefined) return true
    if (typeof at !== 'object' || at === null) return false
    at = Object.getOwnPropertyDescriptor(at, step.replaceAll('~1', '/').replaceAll('~0', '~'))?.value
  }
  return true
}

/** An answer shows nothing of the service's internals, and a secret only where it was created. */
function leakFault(request: Request, { status }: Answer, text: string, body: any): string | undefined {
  if (request.operation.endsWith('json') || request.operation === 'GET /metrics') return undefined
  const stack = STACK.exec(text)
  const sent = request.body?.toString('utf8') ?? ''
  if (stack !== null && !sent.includes(stack[0].trim()) && !decodeSafely(request.target).includes(stack[0].trim()))
    return `it shows its inside: ${stack[0]}`
  for (const [secret] of text.matchAll(SECRET)) {
    const isGiven = (status === 201 && body?.token === secret) || (status === 200 && body?.run_token === secret)
    if (!isGiven) return 'it shows a token'
  }
  const internal = INTERNAL.exec(text)
  return internal !== null && !sent.includes(internal[1]!) && status < 300 && !text.includes('"payload"')
    ? `it shows ${internal[1]}`
    : undefined
}

const API_DOCUMENT = /^\/(openapi|asyncapi)\.json/

/** An answer shows nothing of a project that the caller may not see. */
function confinementFault(request: Request, text: string, { status }: Answer, world: World): string | undefined {
  const { caller } = request
  if (caller === undefined || caller.sees === undefined || caller.sees === '*' || status === 401) return undefined
  for (const { marker, key } of markersIn(text)) {
    if (caller.sees.has(key) || world.sharedMarkers.has(marker) || request.body?.includes(marker) === true) continue
    if (request.target.includes(marker) || caller.called?.includes(marker) === true) continue
    return `${caller.name} was shown ${marker}: ${around(text, marker)}`
  }
  // OPTIONS is answered from the path alone, for any caller and whether or not the entity exists.
  if (status < 300 && request.method !== 'OPTIONS') {
    for (const id of idsAsked(request)) {
      const owner = id.includes('_') ? world.ownerOf(id) : undefined
      if (owner !== undefined && !caller.sees.has(owner)) return `${caller.name} was let at ${id}, which is of ${owner}`
    }
  }
  // The documents are made at the start of the service: the names in their examples may be used by anybody later.
  if (API_DOCUMENT.test(request.target)) return undefined
  const { namedForeign } = caller.tenant
  for (const [id] of text.matchAll(OWNED_ID)) {
    const owner = world.ownerOf(id)
    if (owner === undefined || caller.sees.has(owner) || namedForeign.has(id)) continue
    if (request.target.includes(id) || request.body?.includes(id) === true) continue
    return `${caller.name} was shown ${id}, which is of ${owner} (so said ${world.teacherOf(id)}): ${around(text, id)}`
  }
  return undefined
}

function around(text: string, part: string): string {
  const at = text.indexOf(part)
  return `...${text.slice(Math.max(0, at - 300), at + 200)}...`
}

/**
 * Ids in the path. Parameters that callers choose are left out, because the fuzzer chooses names that look like ids.
 */
function idsAsked({ operation, target }: Request): string[] {
  const template = operation.slice(operation.indexOf(' ') + 1).split('/')
  const path = target.split('?')[0]!.split('/')
  return path.flatMap((part, index) =>
    CHOSEN_BY_CALLERS.has(template[index] ?? '') ? [] : [...part.matchAll(OWNED_ID)].map(([id]) => id),
  )
}

/**
 * A body that the documents do not allow is refused: as a whole, or item by item if the answer lists the refused ones.
 */
function admittedFault(request: Request, { status }: Answer, body: any, documented: Documented): string | undefined {
  if (Array.isArray(body?.refused) && body.refused.length > 0) return undefined
  if (status >= 300 || request.document === undefined || !request.mischief.has('body')) return undefined
  if (hasRaw(request.document)) return undefined
  const [method = '', path = ''] = request.operation.split(' ')
  const fault = documented.validate(
    ['paths', path, method.toLowerCase(), 'requestBody', 'content', 'application/json'],
    request.document,
  )
  return fault === undefined ? undefined : `a body was taken that the documents refuse: ${fault.slice(0, 500)}`
}

function hasRaw(value: unknown): boolean {
  if (value instanceof RawJson) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(hasRaw)
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
