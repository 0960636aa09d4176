/** Holds answers against the service's own `/openapi.json`: what the document does not tell of is a fault. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

export interface Answered {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly contentType: string
  /** Names of the answer's headers, lower case; absent: they are not looked at. */
  readonly headers?: readonly string[]
  /** Parsed, where it is JSON; undefined: there was none. */
  readonly body: unknown
}

interface Known {
  readonly pattern: RegExp
  readonly path: string
  readonly paramCount: number
}

const known = new Map<string, Documented>()

/** Of a document's text. Services of one process serve the same one, and its validators take a second to make. */
export function documentedBy(text: string): Documented {
  const documented = known.get(text) ?? new Documented(JSON.parse(text))
  known.set(text, documented)
  return documented
}

export class Documented {
  readonly openApi: any
  // The document is checked as one by lint.test.ts, and each validator runs a few times: neither is worth its time here.
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, code: { optimize: false } })
  readonly #validators = new Map<string, ValidateFunction>()
  readonly #paths: readonly Known[]

  constructor(openApi: any) {
    this.openApi = openApi
    formats.default(this.#ajv)
    const components = closed(openApi.components)
    // Open for clients, which must pass over what they do not know; what this service says is all told.
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

  /** The documented path that a path is of, where it takes the method. */
  pathOf(method: string, path: string): string | undefined {
    return this.#paths.find(
      (known) => known.pattern.test(path) && this.openApi.paths[known.path][method.toLowerCase()] !== undefined,
    )?.path
  }

  /** What is wrong with the answer; undefined: it is as documented. */
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
    const type = contentType.split(';')[0]!
    if (described.content?.[type] === undefined) {
      return body === undefined ? undefined : `${method} ${known}: ${status} ${type} is not documented`
    }
    if (!type.includes('json')) return undefined
    const shared = responses[status].$ref?.split('/').slice(1)
    const place = shared ?? ['paths', known, method.toLowerCase(), 'responses', String(status)]
    return this.validate([...place, 'content', type], body)
  }

  /** The answer itself, where the document refers to one that several routes share. */
  answerOf(answer: any): any {
    return answer?.$ref === undefined ? answer : this.openApi.components.responses[answer.$ref.split('/').at(-1)]
  }

  /** Hold a value against the schema of the media type at that place of the document. */
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

/** The same schemas, as whoever generates types reads them: an object whose members are told has no others. */
function closed(schema: any): any {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]))
  const isWhole =
    schema.type === 'object' && schema.properties !== undefined && schema.additionalProperties === undefined
  return isWhole ? { ...parts, additionalProperties: false } : parts
}

/** Of every answer, told once in the documents' words or by HTTP itself. */
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

/** A header that the answer has and its documentation does not tell of. A problem may come after a header was set. */
function undocumentedHeader(described: any, headers: readonly string[] = []): string | undefined {
  const told = new Set(Object.keys(described.headers ?? {}).map((name) => name.toLowerCase()))
  const isProblem = described.content?.['application/problem+json'] !== undefined
  return headers.find(
    (name) => !OF_EVERY_ANSWER.has(name) && !told.has(name) && !(isProblem && name === 'watch-cursor'),
  )
}
