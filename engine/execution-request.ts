/**
 * The Execution Request as a runner reads it: what a poll answers. A runner must not guess at a document of a
 * major version that it does not know, so reading is strict about the version and tolerant about everything else.
 */

const SCHEMA = 'intendant.execution_request'
const MAJOR_KNOWN = '1'

export interface ExecutionRequest {
  readonly schema_version: string
  readonly request_id: string
  /** The fencing token: goes into every post about this request. */
  readonly attempt: number
  readonly project: { readonly id: string; readonly key: string }
  readonly brief?: { readonly id: string; readonly digest: string }
  /** Absent of a request that somebody made by hand. */
  readonly work_item_id?: string
  readonly engine: {
    readonly entry_event: string
    readonly throttle: string
    readonly access?: string
    readonly payload: Readonly<Record<string, unknown>>
  }
  /** Where in the repository the run begins, unless its payload says. */
  readonly repo?: { readonly revision?: string; readonly branch?: string }
  readonly trace?: { readonly trace_id?: string; readonly span_id?: string; readonly traceparent?: string }
}

/** What makes an offer unfit to be run, as a runner reports it: nobody but a newer runner can change it. */
interface Unfit {
  readonly code: 'unsupported_schema_version' | 'malformed_execution_request'
  readonly message: string
}

/** The request's identity, without which nothing can even be reported about it; undefined when it is missing. */
export function identityOf(body: unknown): { readonly request_id: string; readonly attempt: number } | undefined {
  if (!isObject(body) || typeof body.request_id !== 'string' || !Number.isSafeInteger(body.attempt)) return undefined
  return { request_id: body.request_id, attempt: body.attempt as number }
}

/** Why this runner cannot run the request, or undefined. */
export function unfit(body: Record<string, any>): Unfit | undefined {
  const version = String(body.schema_version)
  const [, major] = /^(?:.+)\.v(\d+)(?:\.\d+)*$/.exec(version) ?? []
  if (!version.startsWith(`${SCHEMA}.v`) || major !== MAJOR_KNOWN) {
    const message = `this runner reads ${SCHEMA}.v${MAJOR_KNOWN}, and the request is "${version}": update the runner`
    return { code: 'unsupported_schema_version', message }
  }
  const missing = [
    typeof body.project?.key === 'string' ? undefined : '/project/key',
    typeof body.engine?.entry_event === 'string' ? undefined : '/engine/entry_event',
    typeof body.engine?.throttle === 'string' ? undefined : '/engine/throttle',
    isObject(body.engine?.payload) ? undefined : '/engine/payload',
  ].filter((pointer) => pointer !== undefined)
  if (missing.length === 0) return undefined
  return { code: 'malformed_execution_request', message: `the request lacks ${missing.join(', ')}` }
}

export function isObject(value: unknown): value is Record<string, any> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
