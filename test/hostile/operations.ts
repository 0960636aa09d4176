/** The operations of `/openapi.json`, with the schemas from which their requests are made. */

export type Schema = any

export interface Parameter {
  readonly name: string
  readonly schema: Schema
}

export interface Operation {
  /** Method and path: `POST /api/projects/{id}`. */
  readonly name: string
  readonly method: string
  readonly path: string
  /** Static segments unchanged, parameters as `{name}`. */
  readonly segments: readonly string[]
  readonly query: readonly Parameter[]
  /** The headers that the operation reads. */
  readonly headers: readonly string[]
  readonly body: Schema | undefined
  readonly isBodyRequired: boolean
  readonly bodyExample: unknown
  /** The right that the operation requires; or `none`, `any` or `runner` as in the documents. */
  readonly right: string
  /** What a runner's token may do with it. */
  readonly runner: string | undefined
  /** The media type of its answer if the answer never ends. */
  readonly endlessType: string | undefined
  /** What the answers are about: the last static segment of the path. Ids in its answers are ids of that collection. */
  readonly collection: string
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

export function operationsOf(openApi: any): readonly Operation[] {
  const operations: Operation[] = []
  for (const [path, item] of Object.entries<any>(openApi.paths)) {
    for (const method of METHODS) {
      if (item[method] !== undefined) operations.push(operationOf(method.toUpperCase(), path, item[method]))
    }
  }
  return operations
}

function operationOf(method: string, path: string, described: any): Operation {
  const segments = path.split('/').slice(1)
  const parameters: any[] = described.parameters ?? []
  const content = described.requestBody?.content?.['application/json']
  const answers = described.responses['200']?.content ?? {}
  return {
    name: `${method} ${path}`,
    method,
    path,
    segments,
    query: parameters.filter((one) => one.in === 'query').map(({ name, schema }) => ({ name, schema })),
    headers: parameters.filter((one) => one.in === 'header').map(({ name }) => name),
    body: content?.schema,
    isBodyRequired: described.requestBody?.required === true,
    bodyExample: content?.example,
    right: described['x-right'],
    runner: described['x-runner'],
    endlessType: 'text/event-stream' in answers ? 'text/event-stream' : undefined,
    collection: segments.filter((segment) => !segment.startsWith('{')).at(-1)!,
  }
}

/** The collection to which a parameter's ids belong: the static segment before it. */
export function collectionOfParameter(segments: readonly string[], at: number): string {
  return segments[at - 1] ?? ''
}

/** The member name for an id of the collection: `engine-runs` gives `engine_run_id`, `traces` gives `trace_id`. */
export function fieldOfCollection(collection: string): string {
  const word = collection.replaceAll('-', '_')
  const one = word.endsWith('ies')
    ? `${word.slice(0, -3)}y`
    : word.endsWith('ses')
      ? `${word.slice(0, -2)}is`
      : word.replace(/s$/, '')
  return `${one}_id`
}
