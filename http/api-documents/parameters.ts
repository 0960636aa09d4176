/** The parameters of a route in OpenAPI 3.1: those of its path, its query, and the headers it reads. */
import { PROMPT_PHASES } from '../../machines/documents/compiled-brief.ts'
import { IDEMPOTENCY_KEY_LENGTH_MAX } from '../../machines/documents/fields.ts'
import type { TSchema } from '../../machines/schema.ts'
import { IF_MATCH_HEADER } from '../preconditions.ts'
import type { Route } from '../route.ts'
import { BRIEF_ID, BY, EVENT_ID, ITEM_ID, REQUEST_ID, RUN_ID, TRACE_ID } from './examples/constants.ts'

/** What a path parameter names, by the segment before it. */
const NAMED: Readonly<Record<string, string>> = {
  projects: 'The project, by its id or its key.',
  'intent-records': 'The intent record, by its id or its key.',
  relationships: 'The id of the relationship, as listed in the record.',
  discoveries: 'The discovery.',
  hypotheses: 'The hypothesis.',
  drift: 'The intent record, by its id, its key or its slug.',
  'formation-briefs': 'The formation brief.',
  prompts: 'The phase of the prompt.',
  'run-requests': 'The run request.',
  'engine-capabilities': 'The manifest, by its id.',
  'engine-runs': 'The engine run.',
  runners: 'The runner.',
  'work-items': 'The work item.',
  campaigns: 'The campaign.',
  sentinels: 'The sentinel.',
  initiatives: 'The initiative.',
  'agent-sessions': 'The agent session.',
  events: 'The event.',
  traces: 'The trace.',
  tokens: 'The token, by its id.',
  problems: 'The code of the problem.',
  backups: 'The name of the backup.',
}

/** An example value of such a parameter. */
const EXAMPLES: Readonly<Record<string, string>> = {
  projects: 'shop',
  'intent-records': 'shop.intent.pay_by_invoice',
  relationships: 'rel_1',
  discoveries: 'disc_0a1b2c3d4e5f60718293a4b5',
  hypotheses: 'hyp_0a1b2c3d4e5f60718293a4b5',
  drift: 'pay_by_invoice',
  'formation-briefs': BRIEF_ID,
  prompts: PROMPT_PHASES[0],
  'run-requests': REQUEST_ID,
  'engine-runs': RUN_ID,
  runners: 'build-1',
  'work-items': ITEM_ID,
  campaigns: 'pay_by_invoice',
  sentinels: 'nightly',
  initiatives: 'checkout-flow',
  'agent-sessions': '6f1c2a9e-0d4b-4c1e-9a57-3b1f0e8d7c21',
  events: EVENT_ID,
  traces: TRACE_ID,
  tokens: BY.id,
  problems: 'not_found',
  backups: '2030-01-31T02-00-00-000Z',
}

/** The values of such a parameter, if there are only a few. */
const WORDS: Readonly<Record<string, readonly string[]>> = { prompts: PROMPT_PHASES }

const HEADERS: Readonly<Record<string, string>> = {
  'idempotency-key': `A repeated request with this key gets the first answer again, for 24 hours. 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters.`,
  prefer: '`return=minimal`: answer only the status of the run request (RFC 7240).',
  traceparent: 'The caller’s current span (W3C Trace Context).',
  'last-event-id': 'The cursor to resume after.',
  'if-match': 'The ETag that was read: refuse the change if the document has changed since.',
}

export function parameters(route: Route): readonly object[] {
  return [...inPath(route), ...inQuery(route), ...inHeaders(route)]
}

function inPath({ path }: Route): object[] {
  return [...path.matchAll(/([^/]+)\/:(\w+)/g)].map(([, segment = '', name]) => ({
    name,
    in: 'path',
    required: true,
    ...described(NAMED[segment]),
    ...(EXAMPLES[segment] === undefined ? {} : { example: EXAMPLES[segment] }),
    schema: { type: 'string', ...(WORDS[segment] === undefined ? {} : { enum: WORDS[segment] }) },
  }))
}

type QuerySchema = TSchema & { readonly description?: string; readonly type?: string }

function inQuery(route: Route): object[] {
  const { properties = {} } = (route.query ?? {}) as { properties?: Record<string, QuerySchema> }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    ...described(description),
    // Lists are separated by commas.
    ...(schema.type === 'array' ? { style: 'form', explode: false } : {}),
    schema,
  }))
}

function inHeaders({ headers = [], problems = [] }: Route): object[] {
  const shown = headers.filter((name) => Object.hasOwn(HEADERS, name))
  return shown.map((name) => ({
    name,
    in: 'header',
    // Without the header the answer is 428.
    required: name === IF_MATCH_HEADER && problems.includes('precondition_required'),
    ...described(HEADERS[name]),
    schema: { type: 'string' },
  }))
}

function described(description: string | undefined): object {
  return description === undefined ? {} : { description }
}
