/** `/openapi.json`: the route list and its schemas as OpenAPI 3.1, nothing described twice. */
import { Type } from '../machines/schema.ts'
import { type Example, examples } from './examples.ts'
import { parameters } from './parameters.ts'
import { PROBLEM_CODES, type ProblemCode, problemTable } from './problems.ts'
import type { Route, RouteUpload } from './route.ts'
import { Components } from './schemas.ts'

/** Body of every problem answer (RFC 9457). */
export const problemSchema = Type.Object(
  {
    type: Type.String({ description: 'Reference to what the problem type means.' }),
    title: Type.String({ description: 'The problem type in a few words.' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    detail: Type.String({ description: 'What was wrong with this request.' }),
    code: Type.Unsafe<ProblemCode>({
      type: 'string',
      enum: [...PROBLEM_CODES],
      description: 'The problem type in a word.',
    }),
    action: Type.String({ description: 'What to do about it.' }),
    retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
    instance: Type.Optional(Type.String({ description: 'The path that was asked for.' })),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'JSON pointer into the body; for the query `/name`.' }),
          detail: Type.String({ description: 'What was wrong there.' }),
        }),
      ),
    ),
    state: Type.Optional(Type.String({ description: 'State of the entity.' })),
    allowed: Type.Optional(Type.Array(Type.String(), { description: 'Messages that the entity would take.' })),
    oldest: Type.Optional(Type.String({ description: 'Of a cursor that is refused: the oldest one that works.' })),
  },
  { title: 'Problem', additionalProperties: true },
)

const EVERY_ROUTE: readonly ProblemCode[] = [
  'malformed_path',
  'invalid_header',
  'invalid_query',
  'unsupported_api_version',
  'not_acceptable',
  'headers_too_large',
  'internal_error',
  'stopping',
]
/** Whoever is let in may meet a record that cannot be read, or a view that is behind. */
const WITH_TOKEN: readonly ProblemCode[] = [
  'unauthenticated',
  'forbidden',
  'view_behind',
  'quarantined',
  'storage_failed',
]
const WITH_BODY: readonly ProblemCode[] = [
  'malformed_body',
  'body_too_deep',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'invalid_body',
  'bodies_in_flight',
]
const WITH_UPLOAD: readonly ProblemCode[] = [
  'malformed_body',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
  'bodies_in_flight',
]
const WITH_CHANGE: readonly ProblemCode[] = [
  'too_many_in_flight',
  'overloaded',
  'view_backlog',
  'disk_reserve',
  'read_only',
]

/** Every problem that the route may answer with. */
export function problemsOf(route: Route): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(EVERY_ROUTE)
  if (route.access.right !== 'none') for (const code of WITH_TOKEN) codes.add(code)
  if (route.access.right === 'runner' || route.access.runner === 'own') codes.add('not_the_runner')
  if (route.body !== undefined) for (const code of WITH_BODY) codes.add(code)
  if (route.upload !== undefined) for (const code of WITH_UPLOAD) codes.add(code)
  if (route.method !== 'GET') for (const code of WITH_CHANGE) codes.add(code)
  else if (Object.hasOwn((route.query as { properties?: object } | undefined)?.properties ?? {}, 'cursor')) {
    codes.add('invalid_cursor')
  }
  for (const code of route.problems ?? []) codes.add(code)
  return PROBLEM_CODES.filter((code) => codes.has(code))
}

/** What each area is about, in one sentence. */
const AREAS: Readonly<Record<string, string>> = {
  projects: 'What all else belongs to.',
  'intent records': 'What a project means to keep.',
  'discoveries and hypotheses': 'What inspections have seen, and what they believe that it means.',
  drift: 'Whether the code still is what the records say.',
  'formation briefs': 'What a run is to achieve and to protect.',
  'work items': 'The ledger: work that is wanted, what came of it, what is still owed.',
  initiatives: 'Shared outcomes: their members, what steering decided, what was found, what owners said.',
  pacing: 'What may start, and what may not.',
  campaigns: 'Missions that are worked off one task at a time, until their evidence holds.',
  'run requests': 'Work on its way to a runner and back.',
  'engine capabilities': 'What the engines of a project say they can do.',
  'engine runs': 'What one attempt did inside the engine.',
  'agent sessions': 'What coding agents do now and did: as their engines report it.',
  runners: 'Who may take work.',
  events: 'What happened: stated, listed, followed.',
  attention: 'What needs a person.',
  access: 'Tokens of people and programs.',
  service: 'The service about itself.',
}

/** The document. Throws if two different schemas have one title: a test makes it. */
export function openApiDocument(routes: readonly Route[], version: string): Record<string, unknown> {
  const components = new Components()
  components.refer(problemSchema)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operation(route, components)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Intendant',
      version,
      description: 'The control plane for fleets of coding-agent runners.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ area }) => area))].map((name) => ({ name, description: AREAS[name] ?? name })),
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token of the service.' } },
    },
  }
}

function operation(route: Route, components: Components): Record<string, unknown> {
  const { right, runner } = route.access
  const example = examples[`${route.method} ${route.path}`]
  return {
    operationId: operationId(route),
    tags: [route.area],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(right === 'none' ? { security: [] } : {}),
    'x-right': right,
    ...(runner === undefined ? {} : { 'x-runner': runner }),
    parameters: parameters(route),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route, components, example?.body) }),
    ...(route.upload === undefined ? {} : { requestBody: uploadBody(route.upload, components, example) }),
    responses: { ...responses(route, components, example?.answer), ...problems(route) },
  }
}

/** `POST /api/run-requests/:id/accepted` is `postRunRequestsByIdAccepted`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/^\/api(?=\/)/, '')
    .split(/[/\-_.]+/)
    .filter((word) => word !== '')
  const named = words.map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word)))
  // The paths that SPEC names without `/api` have twins beneath it.
  const prefix = /^\/(formation-briefs|projects|hypotheses)\//.test(`${path}/`) ? 'Intent' : ''
  return method.toLowerCase() + prefix + named.join('')
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

function requestBody(route: Route, components: Components, example: unknown): object {
  const schema = components.refer(route.body!.schema)
  return {
    required: route.body!.optional !== true,
    content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
  }
}

/** Each content type with its own example. */
function uploadBody(upload: RouteUpload, components: Components, example: Example | undefined): object {
  const contents = Object.entries(upload.contents).map(([type, schema]) => {
    const shown = example?.uploads?.[type]
    return [type, { schema: components.refer(schema), ...(shown === undefined ? {} : { example: shown }) }] as const
  })
  return { required: true, content: Object.fromEntries(contents) }
}

const WATCH_CURSOR = {
  'Watch-Cursor': 'The point in the log that the answer is true for: what comes later is watched from there.',
}

/** Whether answers of the route say which point of the log they are true for: not those about the service itself, polls and streams. */
function isMarked({ area, method, access, endless }: Route): boolean {
  return area !== 'service' && endless !== true && !(method === 'GET' && access.right === 'runner')
}

/** As OpenAPI tells of headers. */
function headersOf(described: Readonly<Record<string, string>>): object {
  const headers = Object.entries(described).map(
    ([name, description]) => [name, { description, schema: { type: 'string' } }] as const,
  )
  return headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }
}

function responses(route: Route, components: Components, answerExample: unknown): Record<string, object> {
  const described: Record<string, object> = {}
  const ofAll = isMarked(route) ? WATCH_CURSOR : {}
  for (const [status, answer] of Object.entries(route.answers)) {
    const example = answer.example ?? (Number(status) < 300 ? answerExample : undefined)
    // A body without a schema (a stream) still has its type.
    const isEmpty = answer.schema === undefined && answer.contentType === undefined
    const schema = answer.schema === undefined ? {} : { schema: components.refer(answer.schema) }
    const content = isEmpty ? undefined : { ...schema, ...(example === undefined ? {} : { example }) }
    described[status] = {
      description: answer.description,
      ...headersOf({ ...ofAll, ...answer.headers }),
      ...(content === undefined ? {} : { content: { [answer.contentType ?? 'application/json']: content } }),
    }
  }
  return described
}

/** One response a status, naming the codes that it may carry. */
function problems(route: Route): Record<string, object> {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of problemsOf(route)) {
    const { status } = problemTable[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const described = [...byStatus].map(([status, codes]) => {
    const description = codes.map((code) => `\`${code}\`: ${problemTable[code].title}.`).join(' ')
    const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
    return [String(status), { description, ...headersOf(headersOfProblems(status, codes)), content }] as const
  })
  return Object.fromEntries(described)
}

function headersOfProblems(status: number, codes: readonly ProblemCode[]): Readonly<Record<string, string>> {
  const isPassing = codes.some((code) => problemTable[code].retryAfterSeconds !== undefined)
  return {
    ...(codes.includes('unsupported_content_encoding')
      ? { 'Accept-Encoding': '`identity`, where the body was compressed.' }
      : {}),
    ...(status === 401 ? { 'WWW-Authenticate': '`Bearer`' } : {}),
    ...(isPassing ? { 'Retry-After': 'Seconds after which to ask again, where that may help.' } : {}),
  }
}
