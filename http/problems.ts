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
    'Send one JSON value in UTF-8; the detail says where it breaks.',
  ),
  body_too_deep: problem(400, 'The body is nested too deeply', 'Flatten it: the detail names the bound.'),
  invalid_query: problem(400, 'The query is wrong', 'Correct the named query parameters; unknown ones are refused.'),
  invalid_header: problem(400, 'A header is wrong', 'Correct the header that the detail names.'),
  invalid_cursor: problem(400, 'The cursor is not one of ours', 'Use cursors exactly as they were answered.'),
  unsupported_api_version: problem(400, 'That API version does not exist', 'Ask for API-Version: 1, or leave it out.'),
  // 401, 403: who asks
  unauthenticated: problem(401, 'A valid token is needed', 'Send Authorization: Bearer <token>.'),
  token_expired: problem(401, 'The token has expired', 'Ask for a new token.'),
  token_revoked: problem(401, 'The token was revoked', 'Ask for a new token.'),
  forbidden: problem(403, 'The token may not do this', 'Use a token that may: the detail says what this one lacks.'),
  service_owned_type: problem(403, 'Only the service states this', 'Cause the change by its endpoint instead.'),
  grants_too_much: problem(403, 'No one grants more than they hold', 'Leave out what your own token does not hold.'),
  not_the_runner: problem(403, "Only the runner's own token may do this", "Use the token of the path's runner."),
  // 404, 405, 406: the target
  not_found: problem(404, 'There is no such thing', 'Check the id; what a token may not see does not exist for it.'),
  no_such_route: problem(404, 'There is no such path', 'See /openapi.json for the paths that there are.'),
  method_not_allowed: problem(405, 'The path does not take this method', 'Use a method of the Allow header.'),
  not_acceptable: problem(406, 'No such representation', 'Accept application/json, or what the detail names.'),
  // 409: the state does not allow it
  illegal_move: problem(409, 'The state does not allow this', 'See `state`, and `allowed` for what it would take.'),
  not_approved: problem(409, 'It is not approved', 'Approve it first.'),
  stale_attempt: problem(409, 'The attempt is no longer yours', 'Stop the work of that attempt and poll again.'),
  already_exists: problem(409, 'It exists already', 'Read it, or choose another name.'),
  settled_twin: problem(409, 'A settled request has this key', 'Send `again: true`, or another key.'),
  result_conflict: problem(409, 'It was completed with another result', 'Nothing to do: the first result stands.'),
  trace_in_use: problem(409, 'The trace id is in use', 'Leave `trace_id` out, or give a fresh one.'),
  runner_removed: problem(409, 'The runner was removed', 'Register a runner under another id.'),
  last_admin_token: problem(
    409,
    'It is the last that may do everything',
    'Make another first, or say `last_admin=true`.',
  ),
  backup_running: problem(409, 'A backup is being made', 'Wait for the one that `backup` names; then ask again.'),
  project_archived: problem(
    409,
    'The project is archived',
    'Bring it back first: `PATCH` it with `archived: false`, or `intendant project restore`.',
  ),
  reapproval_required: problem(
    409,
    'What was approved has moved since',
    'Look at it as it stands now, and approve it again.',
  ),
  brief_archived: problem(409, 'The brief is archived', 'Make another brief.'),
  brief_busy: problem(
    409,
    'Too many runs of the brief have not ended',
    'Let some end, or cancel them; then ask again.',
  ),
  // 410
  cursor_too_old: problem(410, 'The log no longer holds that point', 'Resume from the oldest cursor named.'),
  cursor_of_another_log: problem(410, 'The cursor is of another log', 'Start anew from `earliest` or `latest`.'),
  // 412, 428
  precondition_failed: problem(412, 'It has changed since you read it', 'Read it again, and send its new ETag.'),
  precondition_required: problem(428, 'The version must be named', 'Send If-Match with the ETag that you have read.'),
  // 413, 415
  body_too_large: problem(413, 'The body is too large', 'Stay below the bound that the detail names.'),
  body_too_wide: problem(
    413,
    'The body has too many members or elements',
    'Send less at once: the detail names the bound.',
  ),
  event_too_large: problem(413, 'An event is too large', 'Stay below the bound that the detail names.'),
  unsupported_media_type: problem(415, 'The body must be JSON', 'Send Content-Type: application/json.'),
  unsupported_content_encoding: problem(
    415,
    'The body must not be compressed',
    'Send it as it is, without Content-Encoding.',
  ),
  // 422: parsed, but wrong
  invalid_body: problem(422, 'The body is wrong', 'Correct the fields that `errors` points at.'),
  invalid_event: problem(422, 'An event is wrong', 'Correct the fields that `errors` points at.'),
  event_id_mismatch: problem(422, 'The event id does not fit the event', 'Leave the id out, or compute it anew.'),
  attempt_required: problem(422, 'The attempt must be named', 'Send the `attempt` of the Execution Request.'),
  idempotency_key_reused: problem(422, 'The key was used for another body', 'Use a fresh key for another request.'),
  idempotency_key_conflict: problem(422, 'Two keys were given', 'Give the header and the field the same value.'),
  unknown_project: problem(422, 'There is no such project', 'Create the project first, or correct its key.'),
  unknown_runner: problem(422, 'There is no such runner', 'Register the runner first, or correct its id.'),
  unknown_work_item: problem(422, 'There is no such work item', 'Name items that exist, or leave them out.'),
  unknown_member: problem(422, 'There is no such member', 'Name members that exist, or leave them out.'),
  unknown_record: problem(422, 'There is no such intent record', 'Correct its id, key or slug.'),
  unknown_brief: problem(422, 'There is no such brief', 'Correct the id of the brief.'),
  brief_digest_mismatch: problem(422, 'The digest is not the one of the brief', 'Read the brief, and send its digest.'),
  brief_not_compiled: problem(422, 'The brief is not compiled', 'Approve it, and compile it.'),
  brief_incomplete: problem(
    422,
    'The brief cannot be compiled or run',
    'Add what `errors` points at; of one that is frozen with intent that guides no more, archive it and write another.',
  ),
  engine_incapable: problem(
    422,
    'No engine serves this (class `dispatch`)',
    'Ask for what the manifests of the project serve, or post a newer manifest.',
  ),
  engine_run_taken: problem(422, 'The engine run belongs to another request', 'Leave `engine_run_id` out.'),
  // 426, 429, 431
  too_many_polls: passing(429, 'Too many polls are parked', 'Park at most capacity + 1 polls of a runner.'),
  too_many_in_flight: passing(429, 'Too much of yours is in flight', 'Wait for answers before sending more.'),
  too_many_streams: passing(429, 'Too many streams are open', 'Close streams that are no longer read.'),
  headers_too_large: problem(431, 'The headers are too large', 'Send fewer or shorter headers.'),
  // 500, 503: ours
  internal_error: problem(500, 'The service has made a mistake', 'Report it with the time; the log has the cause.'),
  backup_failed: problem(500, 'The backup failed', 'See the detail and the log; nothing was changed.'),
  backup_damaged: problem(
    500,
    'The log is damaged, and so is the backup, which is made',
    'Keep earlier backups; see the detail, and OPERATIONS.md on `backup_damaged`.',
  ),
  quarantined: problem(503, 'The record cannot be read', 'An operator must look: see /readyz and the log.'),
  overloaded: passing(503, 'Too much is in flight', 'Send less at a time.'),
  bodies_in_flight: passing(503, 'Too many bodies are being received', 'Send less at a time.'),
  view_backlog: passing(503, 'Writes are ahead of the view', 'Wait a moment.'),
  view_behind: passing(503, 'The view is behind the log', 'Wait a moment.'),
  disk_reserve: passing(503, 'The disk is nearly full', 'An operator must free space; reads go on.', 30),
  read_only: passing(503, 'The service is read-only', 'An operator must free space and restart it.', 30),
  storage_failed: passing(503, 'The log has failed', 'The service restarts; repeat with the same key.', 5),
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
  readonly retryAfterSeconds?: number
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
