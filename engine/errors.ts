/**
 * What can go wrong between a client and the service, one class for each cause, so that callers decide by type and
 * never by message text: the service refused, or it did not answer.
 */

/** An RFC 9457 problem from the service. Only `status` and `code` are always present. */
export interface Problem {
  readonly status: number
  readonly code: string
  readonly title?: string
  readonly detail?: string
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
  readonly state?: string
  readonly allowed?: readonly string[]
}

/** The service refused, or failed internally (5xx). */
export class ServiceRefused extends Error {
  override readonly name = 'ServiceRefused'
  readonly method: string
  readonly path: string
  readonly problem: Problem
  /** Seconds from `Retry-After`; undefined if it was a date or unreadable. */
  readonly retryAfterSeconds: number | undefined

  constructor(method: string, path: string, problem: Problem, retryAfterSeconds?: number) {
    super(problem.detail ?? problem.title ?? problem.code)
    this.method = method
    this.path = path
    this.problem = problem
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * A refusal that carries no problem of the service: an intermediary (a proxy, an ingress), or another server at its
 * address, has answered. It says nothing about the request itself.
 */
export class ForeignRefusal extends ServiceRefused {
  constructor(method: string, path: string, problem: Problem, retryAfterSeconds?: number) {
    super(method, path, problem, retryAfterSeconds)
    this.message = `something other than the service answered, with status ${problem.status}: ${problem.detail}`
  }
}

/** No answer: connection refused or reset, time-out, or not HTTP. The request may have arrived. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable'
  readonly url: string
  /** Time since the request began, in milliseconds. */
  readonly afterMs: number

  constructor(url: string, cause: unknown, afterMs = 0) {
    super(`no answer from ${url}: ${reasonOf(cause)}`, { cause })
    this.url = url
    this.afterMs = afterMs
  }
}

/** An answer that had begun did not arrive completely. */
export class AnswerBroken extends Error {
  override readonly name = 'AnswerBroken'

  constructor(cause: unknown) {
    super('the answer broke off', { cause })
  }
}

/** No answer in time: the line may be too slow for the request, or the service is not there. */
export class AnswerTimeout extends ServiceUnreachable {}

/**
 * The answer redirects elsewhere. The client does not follow with its token: the operator has to correct the address.
 */
export class Redirected extends ServiceUnreachable {
  constructor(url: string, to: string) {
    super(url, 'a redirect')
    this.message = `${url} redirects to ${to}: set ENGINE_URL or --url to that`
  }
}

/** What is wrong with a given token, as the end of a sentence. The token itself is secret and not shown. */
export const MORE_THAN_TOKEN = 'contains more than a token: a space, a second line, or a character that no token has'

/** The token cannot be sent; nothing was sent. */
export class TokenUnsendable extends Error {
  override readonly name = 'TokenUnsendable'

  constructor() {
    super(`the token ${MORE_THAN_TOKEN}`)
  }
}

/** The innermost reason: that of an answer which broke off says more than its own message. */
function reasonOf(given: unknown): string {
  if (!(given instanceof Error)) return String(given)
  const error = rootOf(given)
  if (!(error instanceof Error)) return String(error)
  const { code } = error
  return code !== undefined && !error.message.includes(code) ? `${error.message} (${code})` : error.message
}

/** Most causes that are followed: a chain may be a ring. */
const CAUSES_MAX = 20

/** What caused it in the first place: of several attempts, that of the first. */
export function rootOf(error: Error): NodeJS.ErrnoException {
  let root = error
  for (let depth = 0; depth < CAUSES_MAX; depth++) {
    const cause = root instanceof AggregateError && root.errors.length > 0 ? root.errors[0] : root.cause
    if (!(cause instanceof Error)) return root
    root = cause
  }
  return root
}

/** A refusal for a log: its code, and the faults that the service found. */
export function describeRefusal({ problem, message }: ServiceRefused): string {
  const { code, errors = [] } = problem
  const where = errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
  return `${code}: ${where === '' ? message : where}`
}

/** The reason for a retry, for a log. The service's messages are sentences with a full stop. */
export function describeRetry({ message }: Error): string {
  return `${message.replace(/\.$/, '')}; trying again`
}

export function describeError(error: unknown): string {
  if (error instanceof ServiceRefused) return describeRefusal(error)
  return error instanceof Error ? error.message : String(error)
}
