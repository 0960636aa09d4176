/** Checks answers against the service's own `/openapi.json`: anything that it does not document is a fault. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export interface Answered {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly contentType: string
  /** Lower-case names of the answer's headers; absent: not checked. */
  readonly headers?: readonly string[]
  /** Parsed if it is JSON; undefined without a body. */
  readonly body: unknown
}

interface Known {
  readonly pattern: RegExp
  readonly path: string
  readonly paramCount: number
}

const known = new Map<string, Documented>()

/**
 * Cached by the document's text: all services of a process serve the same, and its validators take a second to make.
 */
export function documentedBy(text: string): Documented {
  const documented = known.get(text) ?? new Documented(JSON.parse(text))
  known.set(text, documented)
  return documented
}

export class Documented {
  readonly openApi: any
  // lint.test.ts checks the document itself, and each validator runs only a few times: skip validation and optimizing.
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } })
  readonly #validators = new Map<string, ValidateFunction>()
  readonly #paths: readonly Known[]

  constructor(openApi: any) {
    this.openApi = openApi
    formats.default(this.#ajv)
    const components = closed(openApi.components)
    // Open for clients, which must ignore unknown members; this service sends none that are not documented.
    components.schemas.Problem.additionalProperties = false
    this.#ajv.addSchema({ ...openApi, components, $id: 'openapi' })
    this.#paths = Object.keys(openApi.paths)
      .map((path) => ({
        path,
        pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
        paramCount: path.split('{').length,
      }))
      .sort((a, b) => a.paramCount - b.paramCount)
  }

  /** The documented path template that matches the path and has the method. */
  pathOf(method: string, path: string): string | undefined {
    return this.#paths.find(
      (known) => known.pattern.test(path) && this.openApi.paths[known.path][method.toLowerCase()] !== undefined,
    )?.path
  }

  /** What is wrong with the answer; undefined if it is as documented. */
  faultOf({ method, path, status, contentType, headers, body }: Answered): string | undefined {
    const known = this.pathOf(method, path)
    if (known === undefined) {
      return status === 404 || status === 405 ? undefined : `${method} ${path} is not documented`
    }
    const { responses } = this.openApi.paths[known][method.toLowerCase()]
    const described = this.answerOf(responses[status])
    if (described === undefined) {
      return `${method} ${known}: status ${status} is not documented: ${JSON.stringify(body)}`
    }
    const untold = undocumentedHeader(described, headers)
    if (untold !== undefined) return `${method} ${known}: ${status}: the header ${untold} is not documented`
    const missing = missingHeader(described, headers)
    if (missing !== undefined) return `${method} ${known}: ${status}: the header ${missing} is missing`
    const type = contentType.split(';')[0]!
    if (described.content?.[type] === undefined) {
      return body === undefined ? undefined : `${method} ${known}: ${status} ${type} is not documented`
    }
    if (!type.includes('json')) return undefined
    const shared = responses[status].$ref?.split('/').slice(1)
    const place = shared ?? ['paths', known, method.toLowerCase(), 'responses', String(status)]
    return this.validate([...place, 'content', type], body)
  }

  /** The answer itself, resolved if it refers to one shared by several routes. */
  answerOf(answer: any): any {
    return answer?.$ref === undefined ? answer : this.openApi.components.responses[answer.$ref.split('/').at(-1)]
  }

  /** Validates a value against the schema of the media type at that place in the document. */
  validate(place: readonly string[], value: unknown): string | undefined {
    const steps = [...place, 'schema'].map((step) =>
      encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    const reference = `openapi#/${steps.join('/')}`
    let validate = this.#validators.get(reference)
    if (validate === undefined) {
      validate = this.#ajv.compile({ $ref: reference })
      this.#validators.set(reference, validate)
    }
    if (validate(value)) return undefined
    return `${place.slice(1, 5).join(' ')}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`
  }
}

/** The schemas as generators of types read them: an object with listed members has no others. */
function closed(schema: any): any {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]))
  const isWhole =
    schema.type === 'object' && schema.properties !== undefined && schema.additionalProperties === undefined
  return isWhole ? { ...parts, additionalProperties: false } : parts
}

/** Headers that any answer may have, documented once for all or by HTTP itself. */
const OF_EVERY_ANSWER = new Set([
  'api-version',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'uwebsockets',
])

/** A header that every such answer has, as documented, and this one has not. */
function missingHeader(described: any, headers: readonly string[] | undefined): string | undefined {
  if (headers === undefined) return undefined
  const required = Object.entries<any>(described.headers ?? {}).filter(([, header]) => header.required === true)
  return required.map(([name]) => name.toLowerCase()).find((name) => !headers.includes(name))
}

/** A header that is not documented for the answer. A problem may follow after watch-cursor was set. */
function undocumentedHeader(described: any, headers: readonly string[] = []): string | undefined {
  const told = new Set(Object.keys(described.headers ?? {}).map((name) => name.toLowerCase()))
  const isProblem = described.content?.['application/problem+json'] !== undefined
  return headers.find(
    (name) => !OF_EVERY_ANSWER.has(name) && !told.has(name) && !(isProblem && name === 'watch-cursor'),
  )
}
