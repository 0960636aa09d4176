/**
 * What can go wrong between a client and the service, one class a cause, so that a caller decides by type and
 * never by the text of a message: the service said no, or the service did not answer.
 */

/** An RFC 9457 problem as the service sends it. Only `status` and `code` are always there. */
export interface Problem {
  readonly status: number
  readonly code: string
  readonly title?: string
  readonly detail?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
  readonly state?: string
  readonly allowed?: readonly string[]
}

/** The service answered, and the answer was no (or a fault of its own: 5xx). */
export class ServiceRefused extends Error {
  override readonly name = 'ServiceRefused'
  readonly method: string
  readonly path: string
  readonly problem: Problem
  /** What `Retry-After` asked for, seconds; undefined where it was a date, or nothing that can be read. */
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
 * A refusal without a problem of the service: what stands between (a proxy, an ingress), or what listens there in its place, has
 * answered. It says nothing about what was asked for.
 */
export class ForeignRefusal extends ServiceRefused {
  constructor(method: string, path: string, problem: Problem, retryAfterSeconds?: number) {
    super(method, path, problem, retryAfterSeconds)
    this.message = `something other than the service has answered, with status ${problem.status}: ${problem.detail}`
  }
}

/** No answer: refused connection, reset, time-out, or something that is not HTTP. The request may have arrived. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable'
  readonly url: string
  /** How long after the request had begun, milliseconds. */
  readonly afterMs: number

  constructor(url: string, cause: unknown, afterMs = 0) {
    super(`no answer from ${url}: ${reasonOf(cause)}`, { cause })
    this.url = url
    this.afterMs = afterMs
  }
}

/** No answer within the time that there was for it: the line may be too slow for what was sent, or nobody is there. */
export class AnswerTimeout extends ServiceUnreachable {}

/** The answer names another place. Nobody goes there with the token: it is for the operator to say where the service is. */
export class Redirected extends ServiceUnreachable {
  constructor(url: string, to: string) {
    super(url, 'a redirect')
    this.message = `${url} redirects to ${to}: set ENGINE_URL or --url to that`
  }
}

/** What is wrong with what was given as a token, as the end of a sentence: it is not told itself, since it is a secret. */
export const MORE_THAN_TOKEN = 'holds more than a token: a space, a second line, or a character that no token has'

/** Nothing was sent. */
export class TokenUnsendable extends Error {
  override readonly name = 'TokenUnsendable'

  constructor() {
    super(`the token ${MORE_THAN_TOKEN}`)
  }
}

/** The innermost reason of a failed fetch, whose own message is always `fetch failed`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (error.cause !== undefined) return reasonOf(error.cause)
  const code = (error as NodeJS.ErrnoException).code
  return code !== undefined && !error.message.includes(code) ? `${error.message} (${code})` : error.message
}

/** A refusal as a log tells it: its code, and what the service found at fault. */
export function describeRefusal({ problem, message }: ServiceRefused): string {
  const { code, errors = [] } = problem
  const where = errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
  return `${code}: ${where === '' ? message : where}`
}

/** Why something is said once more, for a log. What the service says is a sentence. */
export function describeRetry({ message }: Error): string {
  return `${message.replace(/\.$/, '')}; trying again`
}

export function describeError(error: unknown): string {
  if (error instanceof ServiceRefused) return describeRefusal(error)
  return error instanceof Error ? error.message : String(error)
}
