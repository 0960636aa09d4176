/**
 * From the schemas in use to the shared components of a document: a schema with a title is written once, under its
 * title, and named elsewhere. What ajv checks and what the document says are the same objects.
 */
export class Components {
  readonly schemas: Record<string, Record<string, unknown>> = {}
  /** Answers that several routes share, by name. */
  readonly responses: Record<string, object> = {}
  readonly #prefix: string
  /** The schema that each title was first met in. */
  readonly #titled = new Map<string, object>()

  constructor(prefix = '#/components/schemas/') {
    this.#prefix = prefix
  }

  /** The schema with every titled part of it replaced by a reference. Throws if two titles mean different things. */
  refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((part) => this.refer(part))
    if (typeof schema !== 'object' || schema === null) return schema
    const { type, ...rest } = schema as { title?: unknown; type?: unknown }
    const { title } = rest
    if (typeof title !== 'string') return this.#walk(schema)
    // What has a name, or null (`nullable` in machines/schema.ts): the name is of what it is when it is not null.
    if (Array.isArray(type)) return { anyOf: [this.refer({ type: type[0], ...rest }), { type: 'null' }] }
    if (this.#titled.get(title) === schema) return { $ref: this.#prefix + title }
    const before = this.schemas[title]
    // Taken first, so that a schema that holds itself ends.
    if (before === undefined) {
      this.schemas[title] = {}
      this.#titled.set(title, schema)
    }
    const whole = this.#walk(schema)
    const $ref = this.#prefix + title
    if (before === undefined) {
      this.schemas[title] = whole
      return { $ref }
    }
    // What it is called may depend on where it stands.
    const { description } = whole
    if (JSON.stringify({ ...before, description }) !== JSON.stringify({ ...whole, description })) {
      throw new Error(`two schemas are called ${title}`)
    }
    return { $ref, ...(description === before.description ? {} : { description }) }
  }

  /** An answer that is shared under this name. Throws if two answers have it. */
  answer(name: string, answer: object): void {
    const before = this.responses[name]
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(answer)) {
      throw new Error(`two answers are called ${name}`)
    }
    this.responses[name] = answer
  }

  #walk(schema: object): Record<string, unknown> {
    const walked: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(schema)) walked[key] = key === 'enum' ? value : this.refer(value)
    return walked
  }
}
