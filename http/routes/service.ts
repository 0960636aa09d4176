/** The service about itself: whether it is alive and takes work, what it is, and what API it has. */
import { anyObject, mapOf, stringEnum, Type } from '../../machines/schema.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { noWrites } from '../../runtime/answers.ts'
import type { Settings } from '../../runtime/settings.ts'
import { maySee } from '../access.ts'
import { asyncApiDocument } from '../api-documents/asyncapi.ts'
import { openApiDocument } from '../api-documents/openapi.ts'
import { NAMES_MAX, valuesMax } from '../bodies/json-text.ts'
import { codeOfRefusal, PROBLEM_CODES, type ProblemCode, problemTable } from '../problems.ts'
import { BACKGROUND_FAILURES, passedOverCount } from '../resources/background-parts.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

/** What these routes need beyond the parts of the service. */
export interface About {
  readonly version: string
  /** All routes, including these. */
  readonly routes: () => readonly Route[]
  readonly isClosing: () => boolean
  /** The port it listens on. */
  readonly port: () => number
}

const AREA = 'service'
const OPEN = { right: 'none' } as const

const healthDocument = Type.Object({ status: stringEnum(['ok']) }, { title: 'Health' })
const readinessDocument = Type.Object(
  {
    status: stringEnum(['ready']),
    quarantined: Type.Integer({ description: 'Entities whose record cannot be read; the service log names them.' }),
    set_aside: Type.Integer({
      description: 'Internal messages whose step failed; retried, and named in the service log each time.',
    }),
    passed_over: Type.Integer({
      description: `Entities on which ${BACKGROUND_FAILURES}; retried with growing delays. The service log names up to a hundred failures of each part per minute, and counts the rest.`,
    }),
  },
  { title: 'Readiness' },
)
const versionDocument = Type.Object(
  {
    name: Type.String(),
    version: Type.String(),
    api_version: Type.Integer({ description: 'Supported values of `API-Version`.' }),
    node: Type.String({ description: 'Version of Node.js.' }),
    limits: mapOf(Type.Number(), 'Limits; each name ends in its unit.'),
    settings: anyObject(
      'The settings in force, without secrets. `home`, `host` and `port` are shown only to a token for all projects that is not a runner’s.',
    ),
  },
  { title: 'Version' },
)
const problemTypeDocument = Type.Object(
  {
    code: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    action: Type.String({ description: 'What to do about it.' }),
    retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
  },
  { title: 'ProblemType' },
)

export function serviceRoutes(service: ServiceContext, about: About): readonly Route[] {
  return [...probeRoutes(service, about), ...documentRoutes(about), ...operatorRoutes(service, about)]
}

function probeRoutes(service: ServiceContext, about: About): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/healthz',
      readsNothing: true,
      operation: 'readLiveness',
      area: AREA,
      summary: 'Whether the process is alive.',
      access: OPEN,
      answers: { 200: { description: 'It does.', schema: healthDocument } },
      handle: (exchange) => exchange.answer(200, '{"status":"ok"}'),
    },
    {
      method: 'GET',
      path: '/readyz',
      operation: 'readReadiness',
      area: AREA,
      summary: 'Whether the service accepts work; a 503 says why not.',
      access: OPEN,
      answers: { 200: { description: 'It does.', schema: readinessDocument } },
      problems: ['stopping', 'disk_reserve', 'read_only', 'view_backlog', 'storage_failed'],
      handle: (exchange) => ready(service, about, exchange),
    },
  ]
}

function ready(service: ServiceContext, about: About, exchange: Exchange): void {
  if (about.isClosing()) {
    exchange.problem('stopping', 'The service is stopping.')
    return
  }
  const { runtime } = service
  const reason = runtime.journal.refuses()
  if (reason !== undefined) {
    exchange.problem(codeOfRefusal(reason), noWrites(reason))
    return
  }
  exchange.answer(200, {
    status: 'ready',
    quarantined: runtime.quarantined().length,
    set_aside: runtime.setAside.count,
    passed_over: passedOverCount(service),
  })
}

function documentRoutes(about: About): readonly Route[] {
  // Built on first use: that walks a hundred schemas, and nothing changes while the service runs.
  let openApi: string | undefined
  let asyncApi: string | undefined
  const anyDocument = anyObject()
  return [
    {
      method: 'GET',
      path: '/openapi.json',
      operation: 'readOpenApi',
      area: AREA,
      summary: 'This interface as OpenAPI 3.1.',
      access: OPEN,
      answers: { 200: { description: 'The document.', schema: anyDocument } },
      handle: (exchange) => {
        openApi ??= JSON.stringify(openApiDocument(about.routes(), about.version))
        exchange.answer(200, openApi)
      },
    },
    {
      method: 'GET',
      path: '/asyncapi.json',
      operation: 'readAsyncApi',
      area: AREA,
      summary: 'The event stream as AsyncAPI 3.',
      access: OPEN,
      answers: { 200: { description: 'The document.', schema: anyDocument } },
      handle: (exchange) => {
        asyncApi ??= JSON.stringify(asyncApiDocument(about.version))
        exchange.answer(200, asyncApi)
      },
    },
    {
      method: 'GET',
      path: '/problems/:code',
      operation: 'readProblem',
      area: AREA,
      summary: 'What a problem type means and what to do about it; the `type` of every problem links here.',
      access: OPEN,
      answers: { 200: { description: 'The problem type.', schema: problemTypeDocument } },
      problems: ['not_found'],
      handle: (exchange) => {
        const code = exchange.params[0] as ProblemCode
        if (!PROBLEM_CODES.includes(code)) return exchange.problem('not_found', 'There is no such problem type.')
        const { title, status, action, retryable } = problemTable[code]
        exchange.answer(200, { code, title, status, action, retryable })
      },
    },
  ]
}

function operatorRoutes(service: ServiceContext, about: About): readonly Route[] {
  const { registry } = service.metrics
  return [
    {
      method: 'GET',
      path: '/metrics',
      operation: 'readMetrics',
      area: AREA,
      summary: 'Metrics in Prometheus format.',
      access: { right: 'view' },
      produces: ['text/plain'],
      answersOnce: true,
      answers: { 200: { description: 'The metrics.', contentType: 'text/plain', schema: Type.String() } },
      handle: (exchange) => {
        exchange.await(registry.metrics(), (text) => {
          exchange.setHeader('Content-Type', registry.contentType).answer(200, visibleLines(exchange.principal, text))
        })
      },
    },
    {
      method: 'GET',
      path: '/api/version',
      operation: 'readVersion',
      area: AREA,
      summary: 'Version, limits, and settings without secrets.',
      access: { right: 'any', runner: 'own' },
      answers: { 200: { description: 'The version.', schema: versionDocument } },
      handle: (exchange) => exchange.answer(200, versionOf(service, about, exchange.principal)),
    },
  ]
}

/** A confined token sees only the lines of its own projects, and those of no project. */
function visibleLines(principal: Principal, text: string): string {
  if (principal.projects === '*') return text
  return text
    .split('\n')
    .filter((line) => {
      const key = /\bproject="([^"]*)"/.exec(line)?.[1]
      return key === undefined || maySee(principal, key)
    })
    .join('\n')
}

function versionOf({ runtime }: ServiceContext, about: About, { kind, projects }: Principal): object {
  const settings = settingsOf({ ...runtime.settings, port: about.port() })
  // Where the service is on its machine is shown only to people who may see every project.
  if (kind === 'runner' || projects !== '*') for (const name of ['home', 'host', 'port']) delete settings[name]
  return {
    name: 'intendant',
    version: about.version,
    api_version: 1,
    node: process.version,
    limits: limitsOf(runtime.settings),
    settings,
  }
}

/** The bounds that clients run into, and those that engines must keep. */
function limitsOf(settings: Settings): Record<string, number> {
  return {
    body_bytes_max: settings.bodyBytesMax,
    events_body_bytes_max: settings.eventsBodyBytesMax,
    event_bytes_max: settings.eventBytesMax,
    body_values_max: valuesMax.body,
    events_body_values_max: valuesMax.events,
    ingest_event_values_max: valuesMax.line,
    member_names_max: NAMES_MAX,
    header_bytes_max: settings.headerBytesMax,
    bodies_in_flight_bytes_max: settings.bodiesInFlightBytesMax,
    ingest_bytes_max: settings.ingestBytesMax,
    offer_ms: settings.offerMs,
    lease_ms: settings.leaseMs,
    grace_ms: settings.graceMs,
    presence_ms: settings.presenceMs,
    major_tasks_per_project: settings.majorTasksPerProject,
    major_tasks_per_night: settings.majorTasksPerNight,
  }
}

/** Key files are named but never shown; the settings hold no other secret. */
function settingsOf({ tls, ...settings }: Settings): Record<string, unknown> {
  const shown: Record<string, unknown> = { tls: tls !== undefined }
  for (const [name, value] of Object.entries(settings)) shown[snake(name)] = value
  return shown
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
