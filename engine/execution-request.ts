/**
 * The Execution Request, a poll's answer, as a runner reads it. Reading is strict about the major version, since a
 * runner must not guess at a document of an unknown one, and tolerant about everything else.
 */

const SCHEMA = 'intendant.execution_request'
const MAJOR_KNOWN = '1'

export interface ExecutionRequest {
  readonly schema_version: string
  readonly request_id: string
  /** The fencing token: sent in every post about this request. */
  readonly attempt: number
  readonly project: { readonly id: string; readonly key: string }
  readonly brief?: { readonly id: string; readonly digest: string }
  /** Absent if a person made the request. */
  readonly work_item_id?: string
  readonly engine: {
    readonly entry_event: string
    readonly throttle: string
    readonly access?: string
    readonly payload: Readonly<Record<string, unknown>>
  }
  /** How long the run may take, from its start. */
  readonly timeout_seconds?: number
  /** Where in the repository the run begins, unless the payload says so. */
  readonly repo?: { readonly revision?: string; readonly branch?: string }
  readonly trace?: { readonly trace_id?: string; readonly span_id?: string; readonly traceparent?: string }
}

/** What makes an offer unfit to run, as the runner reports it. Only a newer runner could run it. */
interface Unfit {
  readonly code: 'unsupported_schema_version' | 'malformed_execution_request'
  readonly message: string
}

/** The request's identity, needed to report anything about it; undefined if it is missing. */
export function identityOf(body: unknown): { readonly request_id: string; readonly attempt: number } | undefined {
  if (!isObject(body) || typeof body.request_id !== 'string' || !Number.isSafeInteger(body.attempt)) return undefined
  return { request_id: body.request_id, attempt: body.attempt as number }
}

/** Why this runner cannot run the request; undefined if it can. */
export function unfit(body: Record<string, any>): Unfit | undefined {
  const version = String(body.schema_version)
  const [, major] = /^(?:.+)\.v(\d+)(?:\.\d+)*$/.exec(version) ?? []
  if (!version.startsWith(`${SCHEMA}.v`) || major !== MAJOR_KNOWN) {
    const message = `this runner reads ${SCHEMA}.v${MAJOR_KNOWN}, but the request is "${version}": update the runner`
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
