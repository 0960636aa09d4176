/** `/openapi.json`: the route list and its schemas as OpenAPI 3.1, without describing anything twice. */

import { NAMES_MAX, valuesMax } from '../bodies/json-text.ts'
import { PROBLEM_CODES, type ProblemCode, problemTable } from '../problems.ts'
import type { Route, RouteAnswer, RouteUpload } from '../route.ts'
import { type Example, examples } from './examples.ts'
import { parameters } from './parameters.ts'
import { problemSchema } from './problem-schema.ts'
import { Components } from './schemas.ts'

interface Group {
  readonly codes: readonly ProblemCode[]
  of(route: Route): boolean
}

/**
 * Groups of problems that many routes may answer with. A group's name becomes part of the names of shared responses.
 */
const GROUPS: Readonly<Record<string, Group>> = {
  Any: {
    codes: [
      'malformed_path',
      'invalid_header',
      'invalid_query',
      'unsupported_api_version',
      'not_acceptable',
      'headers_too_large',
      'internal_error',
      'stopping',
    ],
    of: () => true,
  },
  /** Any request past the token check may meet an unreadable record or a view that is behind. */
  Token: {
    codes: ['unauthenticated', 'forbidden', 'view_behind', 'quarantined', 'storage_failed'],
    of: ({ access }) => access.right !== 'none',
  },
  Body: {
    codes: [
      'malformed_body',
      'body_too_large',
      'unsupported_media_type',
      'unsupported_content_encoding',
      'bodies_in_flight',
    ],
    of: ({ body, upload }) => body !== undefined || upload !== undefined,
  },
  /** Requests that take time: the token may be revoked or expire meanwhile. */
  Ended: {
    codes: ['token_expired', 'token_revoked'],
    of: ({ body, upload, query }) =>
      body !== undefined || upload !== undefined || Object.hasOwn(parametersOf(query), 'wait'),
  },
  /** Only bodies read as a whole: an upload is read in pieces, and each piece has faults of its own. */
  Whole: { codes: ['body_too_deep', 'body_too_wide', 'invalid_body'], of: ({ body }) => body !== undefined },
  Change: {
    codes: ['too_many_in_flight', 'overloaded', 'view_backlog', 'disk_reserve', 'read_only'],
    of: ({ method }) => method !== 'GET',
  },
  Cursor: {
    codes: ['invalid_cursor'],
    of: ({ method, query }) => {
      const asked = parametersOf(query)
      return method === 'GET' && (Object.hasOwn(asked, 'cursor') || Object.hasOwn(asked, 'since'))
    },
  },
}

interface Shape {
  readonly properties?: object
}

function parametersOf(query: Route['query']): object {
  return (query as Shape | undefined)?.properties ?? {}
}

/** Every problem that a route of these groups may answer with. */
function problemsOf(route: Route, groups: readonly string[]): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(route.problems)
  for (const name of groups) for (const code of GROUPS[name]!.codes) codes.add(code)
  if (route.access.right === 'runner' || route.access.runner === 'own') codes.add('not_the_runner')
  return PROBLEM_CODES.filter((code) => codes.has(code))
}

/** What each area is about, in one sentence. */
const AREAS: Readonly<Record<string, string>> = {
  projects: 'Projects: everything else belongs to one.',
  'intent records': 'What a project intends to keep true.',
  'discoveries and hypotheses': 'What inspections observed, and what they infer from it.',
  drift: 'Whether the code still matches the intent records.',
  'formation briefs': 'What a run should achieve and protect.',
  'work items': 'The ledger: requested work, its outcome, and what is still owed.',
  initiatives: 'Shared outcomes: members, steering decisions, findings, and owner decisions.',
  pacing: 'Which lanes may start work, how many runs with a label may be under way, and the weights of projects.',
  campaigns: 'Missions pursued one task at a time until their done-evidence holds.',
  sentinels: 'Work that is submitted again and again, by the clock.',
  'run requests': 'Units of work handed to runners, and their results.',
  'engine capabilities': 'What a project’s engines declare they can do.',
  'engine runs': 'What one attempt did inside its engine.',
  'agent sessions': 'What coding agents are doing and have done, as their engines report it.',
  runners: 'The processes that take and execute work.',
  events: 'What happened: emit, list and watch events.',
  attention: 'What needs a person’s attention.',
  access: 'Access tokens of people and programs.',
  service: 'Health, version, metrics, documents and console of the service itself.',
}

/** Builds the document. Throws if two different schemas have one title; a test builds it. */
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
      description:
        'The control plane for fleets of coding-agent runners. Errors are answered as problems (RFC 9457): tell them ' +
        'apart by `code`. A list continues at `next_cursor`, until a page has none. `/api/watch` streams events, from the ' +
        '`Watch-Cursor` of any answer; `/asyncapi.json` describes them. Each answer has `API-Version: 1`, which a ' +
        'request may send too.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ area }) => area))].map((name) => ({ name, description: AREAS[name] ?? name })),
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components.schemas,
      responses: components.responses,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token issued by the service.' } },
    },
  }
}

function operation(route: Route, components: Components): Record<string, unknown> {
  const { right, runner, isClosedToRuns } = route.access
  const example = examples[`${route.method} ${route.path}`]
  return {
    operationId: operationId(route),
    tags: [route.area],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(right === 'none' ? { security: [] } : {}),
    'x-right': right,
    ...(runner === undefined ? {} : { 'x-runner': runner }),
    ...(isClosedToRuns === undefined ? {} : { 'x-closed-to-runs': isClosedToRuns }),
    parameters: parameters(route),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route, components, example?.body) }),
    ...(route.upload === undefined ? {} : { requestBody: uploadBody(route.upload, components, example) }),
    responses: { ...responses(route, components, example?.answer), ...problems(route, components) },
  }
}

/** Paths that SPEC names without `/api`, and that are also served beneath it. */
const BESIDE_A_TWIN = /^\/(formation-briefs|projects|hypotheses)(\/|$)/

/**
 * `acceptRunRequest`. If an operation has two paths, the one that is not beneath `/api` is `acceptHypothesisAtRoot`.
 */
function operationId({ operation, path }: Route): string {
  return BESIDE_A_TWIN.test(path) ? `${operation}AtRoot` : operation
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

function requestBody(route: Route, components: Components, example: unknown): object {
  const schema = components.refer(route.body!.schema)
  const most = valuesMax[route.body!.limit ?? 'body']
  return {
    description: `At most ${most} members of objects and elements of arrays at all depths, and ${NAMES_MAX} different names of members.`,
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
  'Watch-Cursor': 'The point in the log that the answer reflects: watch from there to see what follows.',
}

/**
 * Whether the route's answers carry the log position for which they are true: all but those about the service itself,
 * polls and streams.
 */
function isMarked({ area, method, access, endless }: Route): boolean {
  return area !== 'service' && endless !== true && !(method === 'GET' && access.right === 'runner')
}

type Headers = NonNullable<RouteAnswer['headers']>

/** Headers in the form of OpenAPI: those that every such answer has, and those that only some have. */
function headersOf(always: Headers, optional: Headers = {}): object {
  const schema = { type: 'string' }
  const headers = [
    ...Object.entries(always).map(([name, description]) => [name, { description, required: true, schema }] as const),
    ...Object.entries(optional).map(([name, description]) => [name, { description, schema }] as const),
  ]
  return headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }
}

function responses(route: Route, components: Components, answerExample: unknown): Record<string, object> {
  const described: Record<string, object> = {}
  const ofAll = isMarked(route) ? WATCH_CURSOR : {}
  for (const [status, answer] of Object.entries(route.answers)) {
    const example = answer.example ?? (Number(status) < 300 ? answerExample : undefined)
    // A body without a schema (a stream) still has a content type.
    const isEmpty = answer.schema === undefined && answer.contentType === undefined
    const schema = answer.schema === undefined ? {} : { schema: components.refer(answer.schema) }
    const content = isEmpty ? undefined : { ...schema, ...(example === undefined ? {} : { example }) }
    described[status] = {
      description: answer.description,
      ...headersOf({ ...ofAll, ...answer.headers }, answer.optionalHeaders),
      ...(content === undefined ? {} : { content: { [answer.contentType ?? 'application/json']: content } }),
    }
  }
  return described
}

/** One response per status, which lists its possible codes. Routes with the same codes share it. */
function problems(route: Route, components: Components): Record<string, object> {
  const groups = Object.keys(GROUPS).filter((name) => GROUPS[name]!.of(route))
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of problemsOf(route, groups)) {
    const { status } = problemTable[code]
    const codes = byStatus.get(status)
    if (codes === undefined) byStatus.set(status, [code])
    else codes.push(code)
  }
  const described = [...byStatus].map(([status, codes]) => {
    const { name, response } = sharedProblem(groups, status, codes)
    components.answer(name, response)
    return [String(status), { $ref: `#/components/responses/${name}` }] as const
  })
  return Object.fromEntries(described)
}

interface SharedProblem {
  readonly name: string
  readonly response: object
}

/** By groups and codes: the responses of all routes are some hundreds of different ones. */
const sharedProblems = new Map<string, SharedProblem>()

function sharedProblem(groups: readonly string[], status: number, codes: readonly ProblemCode[]): SharedProblem {
  const named = groups.filter((name) => GROUPS[name]!.codes.some((code) => problemTable[code].status === status))
  const key = `${named.join()} ${codes.join()}`
  let shared = sharedProblems.get(key)
  if (shared === undefined) {
    shared = { name: nameOfProblems(named, status, codes), response: problemResponse(status, codes) }
    sharedProblems.set(key, shared)
  }
  return shared
}

/** Generators derive file and type names from it. */
const NAME_CHARS_MAX = 100

/**
 * `Problem409AnyIllegalMove`: the status, the groups with codes of that status, and the remaining codes, as many as
 * fit.
 */
function nameOfProblems(groups: readonly string[], status: number, codes: readonly ProblemCode[]): string {
  const known = new Set(groups.flatMap((name) => GROUPS[name]!.codes))
  const further = codes.filter((code) => !known.has(code)).map((code) => code.split('_').map(capital).join(''))
  const named = (count: number): string => {
    const rest = count === further.length ? [] : [`And${further.length - count}More`]
    return ['Problem', status, ...groups, ...further.slice(0, count), ...rest].join('')
  }
  let count = further.length
  while (count > 0 && named(count).length > NAME_CHARS_MAX) count -= 1
  return named(count)
}

function problemResponse(status: number, codes: readonly ProblemCode[]): object {
  const described = codes.map((code) => `\`${code}\`: ${problemTable[code].title}.`).join(' ')
  const schema = {
    allOf: [{ $ref: '#/components/schemas/Problem' }],
    properties: { status: { const: status }, code: { enum: codes } },
  }
  const content = { 'application/problem+json': { schema } }
  const always = status === 401 ? { 'WWW-Authenticate': '`Bearer`' } : {}
  return { description: described, ...headersOf(always, optionalHeadersOfProblems(codes)), content }
}

function optionalHeadersOfProblems(codes: readonly ProblemCode[]): Headers {
  const isPassing = codes.some((code) => problemTable[code].retryAfterSeconds !== undefined)
  return {
    ...(codes.includes('unsupported_content_encoding')
      ? { 'Accept-Encoding': '`identity`, if the body was compressed.' }
      : {}),
    ...(isPassing ? { 'Retry-After': 'Seconds to wait before retrying, if that may help.' } : {}),
  }
}
