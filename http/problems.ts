/**
 * The one table of everything that can go wrong: code, status, title, what to do, whether a retry may help. The answers
 * (RFC 9457), the API documents and the refusals of machines all use it.
 */
export interface Problem {
  readonly status: number
  /** The same for every occurrence (RFC 9457 section 3.1.4). */
  readonly title: string
  /** What the reader should do now. */
  readonly action: string
  /** Whether the same request may succeed later without a change. */
  readonly retryable: boolean
  readonly retryAfterSeconds?: number
}

const problem = (status: number, title: string, action: string): Problem => ({
  status,
  title,
  action,
  retryable: false,
})

const passing = (status: number, title: string, action: string, retryAfterSeconds = 1): Problem => ({
  status,
  title,
  action,
  retryable: true,
  retryAfterSeconds,
})

const table = {
  // 400: what cannot be parsed
  malformed_path: problem(400, 'The path cannot be decoded', 'Percent-encode the path as UTF-8 (RFC 3986).'),
  malformed_body: problem(
    400,
    'The body is not JSON',
    'Send one JSON value in UTF-8; the detail says where parsing failed.',
  ),
  body_too_deep: problem(400, 'The body is too deeply nested', 'Flatten it; the detail gives the limit.'),
  invalid_query: problem(400, 'The query is invalid', 'Correct the named query parameters; unknown ones are refused.'),
  invalid_header: problem(400, 'A header is invalid', 'Correct the header named in the detail.'),
  invalid_cursor: problem(400, 'Not a cursor of this service', 'Use cursors exactly as the service returned them.'),
  unsupported_api_version: problem(400, 'Unsupported API version', 'Send API-Version: 1, or leave the header out.'),
  // 401, 403: who asks
  unauthenticated: problem(401, 'A valid token is needed', 'Send Authorization: Bearer <token>.'),
  token_expired: problem(401, 'The token has expired', 'Obtain a new token.'),
  token_revoked: problem(401, 'The token was revoked', 'Obtain a new token.'),
  forbidden: problem(
    403,
    'The token does not permit this',
    'Use a token that permits it; the detail says what this one lacks.',
  ),
  service_owned_type: problem(
    403,
    'Only the service may state this event',
    'Use the endpoint that makes the change instead.',
  ),
  grants_too_much: problem(403, 'Cannot grant more than you hold', 'Leave out whatever your own token does not hold.'),
  not_the_runner: problem(403, "Only the runner's own token may do this", 'Use the token of the runner in the path.'),
  // 404, 405, 406: the target
  not_found: problem(404, 'Not found', 'Check the id; what a token may not see does not exist for it.'),
  no_such_route: problem(404, 'No such path', 'See /openapi.json for all paths.'),
  method_not_allowed: problem(405, 'Method not allowed', 'Use a method listed in the Allow header.'),
  not_acceptable: problem(406, 'No such representation', 'Accept application/json, or what the detail lists.'),
  // 409: the state does not allow it
  illegal_move: problem(
    409,
    'Not allowed in the current state',
    'See `state`, and `allowed` for the moves it accepts.',
  ),
  not_approved: problem(409, 'Not approved', 'Approve it first.'),
  stale_attempt: problem(409, 'The attempt is no longer current', 'Stop the work of that attempt and poll again.'),
  already_exists: problem(409, 'Already exists', 'Read it, or choose another name.'),
  settled_twin: problem(409, 'The key belongs to a settled request', 'Send `again: true`, or use another key.'),
  result_conflict: problem(409, 'Already completed with another result', 'Nothing to do: the first result stands.'),
  trace_in_use: problem(409, 'The trace id is in use', 'Leave `trace_id` out, or choose a new one.'),
  already_rotated: problem(
    409,
    'The token was rotated under this key',
    'Use the token of the first answer; if that was lost, rotate again with another key.',
  ),
  runner_removed: problem(409, 'The runner was removed', 'Register a runner under another id.'),
  last_admin_token: problem(409, 'The last unrestricted token', 'Create another first, or send `last_admin=true`.'),
  backup_running: passing(409, 'A backup is already running', 'Wait for the backup named in `backup`, then retry.', 10),
  project_archived: problem(
    409,
    'The project is archived',
    'Restore it first: `PATCH` it with `archived: false`, or run `intendant project restore`.',
  ),
  reapproval_required: problem(
    409,
    'Changed since it was approved',
    'Review the current version, and approve it again.',
  ),
  brief_archived: problem(409, 'The brief is archived', 'Create another brief.'),
  brief_busy: passing(
    409,
    'Too many unfinished runs of the brief',
    'Wait for some to end, or cancel them, then retry.',
    30,
  ),
  too_many_label_limits: problem(409, 'Too many labels are limited', 'End the limit of one that needs none any more.'),
  too_many_weights: problem(409, 'Too many projects have a weight', 'Give one that needs none any more a weight of 1.'),
  // 410
  cursor_too_old: problem(410, 'The cursor is older than the log', 'Resume from the cursor in `oldest`.'),
  cursor_of_another_log: problem(410, 'The cursor belongs to another log', 'Start over from `earliest` or `latest`.'),
  // 412, 428
  precondition_failed: problem(412, 'Changed since you read it', 'Read it again, and send its new ETag.'),
  precondition_required: problem(428, 'If-Match is required', 'Send If-Match with the ETag that you read.'),
  // 413, 415
  body_too_large: problem(413, 'The body is too large', 'Stay below the limit given in the detail.'),
  body_too_wide: problem(
    413,
    'The body has too many members or elements',
    'Send less at once; the detail gives the limit.',
  ),
  event_too_large: problem(413, 'An event is too large', 'Stay below the limit given in the detail.'),
  unsupported_media_type: problem(415, 'The body must be JSON', 'Send Content-Type: application/json.'),
  unsupported_content_encoding: problem(
    415,
    'The body must not be compressed',
    'Send it uncompressed, without Content-Encoding.',
  ),
  // 422: parsed, but wrong
  invalid_body: problem(422, 'The body is invalid', 'Correct the fields listed in `errors`.'),
  invalid_event: problem(422, 'An event is invalid', 'Correct the fields listed in `errors`.'),
  event_id_mismatch: problem(422, 'The event id does not match the event', 'Leave the id out, or recompute it.'),
  attempt_required: problem(422, 'The attempt is missing', 'Send the `attempt` from the Execution Request.'),
  idempotency_key_reused: problem(422, 'The key was used with another body', 'Use a new key for a different request.'),
  idempotency_key_conflict: problem(
    422,
    'Two different keys were given',
    'Send the same key in the header and the field, or only one of them.',
  ),
  unknown_project: problem(422, 'No such project', 'Create the project first, or correct its key or id.'),
  unknown_runner: problem(422, 'No such runner', 'Register the runner first, or correct its id.'),
  unknown_work_item: problem(422, 'No such work item', 'Name items that exist, or leave them out.'),
  unknown_member: problem(422, 'No such member', 'Name members that exist, or leave them out.'),
  unknown_record: problem(422, 'No such intent record', 'Correct its id, key or slug.'),
  unknown_brief: problem(422, 'No such brief', 'Correct the id of the brief.'),
  brief_digest_mismatch: problem(422, 'The digest does not match the brief', 'Read the brief, and send its digest.'),
  brief_not_compiled: problem(422, 'The brief is not compiled', 'Approve it and compile it.'),
  brief_incomplete: problem(
    422,
    'The brief cannot be compiled or run',
    'Add what `errors` lists. If the brief is frozen with intent that no longer guides runs, archive it and write another.',
  ),
  engine_incapable: problem(
    422,
    'No engine can run this (class `dispatch`)',
    'Request what the project’s manifests support, or post a newer manifest.',
  ),
  engine_run_taken: problem(422, 'The engine run belongs to another request or attempt', 'Leave `engine_run_id` out.'),
  // 426, 429, 431
  too_many_polls: passing(429, 'Too many polls are parked', 'Keep at most capacity + 1 polls parked per runner.'),
  too_many_in_flight: passing(
    429,
    'Too many of your requests are in flight',
    'Wait for responses before sending more.',
  ),
  too_many_streams: passing(429, 'Too many streams are open', 'Close streams that are no longer read.'),
  headers_too_large: problem(431, 'The headers are too large', 'Send fewer or shorter headers.'),
  // 500, 503: ours
  internal_error: problem(
    500,
    'Internal error in the service',
    'Report it with the time; the service log has the cause.',
  ),
  backup_failed: problem(500, 'The backup failed', 'See the detail and the service log; nothing was changed.'),
  backup_damaged: problem(
    500,
    'The log is damaged, and so is the completed backup',
    'Keep earlier backups; see the detail, and OPERATIONS.md on `backup_damaged`.',
  ),
  quarantined: problem(
    503,
    'The record cannot be read',
    'An operator must investigate: see /readyz and the service log.',
  ),
  overloaded: passing(503, 'The service is overloaded', 'Send less at a time, and retry.'),
  bodies_in_flight: passing(503, 'Too many bodies are being received', 'Send less at a time, and retry.'),
  view_backlog: passing(503, 'The view cannot keep up with writes', 'Retry in a moment.'),
  view_behind: passing(503, 'The view is behind the log', 'Retry in a moment.'),
  disk_reserve: passing(503, 'The disk is nearly full', 'An operator must free space; reads still work.', 30),
  read_only: passing(503, 'The service is read-only', 'An operator must free space and restart it.', 30),
  storage_failed: passing(503, 'The log has failed', 'The service will restart; retry with the same key.', 5),
  stopping: passing(503, 'The service is stopping', 'Connect again in a moment.', 2),
} as const satisfies Record<string, Problem>

export type ProblemCode = keyof typeof table
export const problemTable: Readonly<Record<ProblemCode, Problem>> = table
export const PROBLEM_CODES = Object.keys(table) as readonly ProblemCode[]

/** Where something is wrong in the body, the query or an event. */
export interface FieldProblem {
  /** JSON pointer (RFC 6901) into the body; for a query parameter `/name`. */
  readonly pointer: string
  readonly detail: string
}

/** Members that some problems carry besides their detail. */
export interface ProblemExtra {
  readonly errors?: readonly FieldProblem[]
  /** The entity's state, and the messages that it would accept. */
  readonly state?: string
  readonly allowed?: readonly string[]
  /** Further members (RFC 9457 section 3.2), each documented in http/api-documents/problem-schema.ts. */
  readonly members?: ProblemMembers
}

interface ProblemMembers {
  readonly oldest?: string
  readonly backup?: string
  readonly accepted?: number
  readonly duplicates?: number
  readonly refused_count?: number
}

/** Prefix of every `type`: relative, so that it resolves at the service that answered. */
const TYPE_PREFIX = '/problems/'

/** The body of a problem answer. `instance` is the requested path. */
export function problemDocument(
  code: ProblemCode,
  detail: string,
  instance: string | undefined,
  extra?: ProblemExtra,
): Record<string, unknown> {
  const entry = problemTable[code]
  const document: Record<string, unknown> = {
    type: TYPE_PREFIX + code,
    title: entry.title,
    status: entry.status,
    detail,
    code,
    action: entry.action,
    retryable: entry.retryable,
  }
  if (instance !== undefined) document.instance = instance
  if (extra?.errors !== undefined) document.errors = extra.errors
  if (extra?.state !== undefined) document.state = extra.state
  if (extra?.allowed !== undefined) document.allowed = extra.allowed
  return Object.assign(document, extra?.members)
}

/** The table's code for a refusal by a machine or the runtime; `internal_error` for a code that is not in the table. */
export function codeOfRefusal(code: string): ProblemCode {
  return Object.hasOwn(table, code) ? (code as ProblemCode) : 'internal_error'
}
