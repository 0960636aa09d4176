/**
 * Turns the schemas in use into the shared components of a document: a schema with a title is written once, under its
 * title, and referenced elsewhere. The schemas that ajv checks and those in the document are the same objects.
 */
export class Components {
  readonly schemas: Record<string, Record<string, unknown>> = {}
  /** Responses that several routes share, by name. */
  readonly responses: Record<string, object> = {}
  readonly #prefix: string
  /** The schema object first seen with each title. */
  readonly #titled = new Map<string, object>()

  constructor(prefix = '#/components/schemas/') {
    this.#prefix = prefix
  }

  /** The schema with every titled part replaced by a reference. Throws if two different schemas have the same title. */
  refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((part) => this.refer(part))
    if (typeof schema !== 'object' || schema === null) return schema
    const { type, ...rest } = schema as { title?: unknown; type?: unknown }
    const { title } = rest
    if (typeof title !== 'string') return this.#walk(schema)
    // A titled type or null (`nullable` in machines/schema.ts): the title belongs to the non-null type.
    if (Array.isArray(type)) return { anyOf: [this.refer({ type: type[0], ...rest }), { type: 'null' }] }
    if (this.#titled.get(title) === schema) return { $ref: this.#prefix + title }
    const before = this.schemas[title]
    // Registered before the walk, so that a recursive schema terminates.
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
    // The description may differ from place to place.
    const { description } = whole
    if (JSON.stringify({ ...before, description }) !== JSON.stringify({ ...whole, description })) {
      throw new Error(`two schemas are called ${title}`)
    }
    return { $ref, ...(description === before.description ? {} : { description }) }
  }

  /** Registers a shared response under this name. Throws if a different response has it. */
  answer(name: string, answer: object): void {
    const before = this.responses[name]
    if (before === answer) return
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
