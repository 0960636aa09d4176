/**
 * Drives the service over many connections at once: stories that reach states, and between them calls of every
 * operation, valid and invalid. Every answer is checked; the first faults end the run, each reported with its request.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Documented } from '../http/documented.ts'
import { Random } from '../random.ts'
import { type Call, requestOf, wrongRequestOf } from './call.ts'
import { check } from './checks.ts'
import { Connection, type Outcome } from './connection.ts'
import { markerOf } from './markers.ts'
import { collectionOfParameter, fieldOfCollection, type Operation, operationsOf } from './operations.ts'
import { bytesOf, curlOf, type Request } from './request.ts'
import type { Stage, Step, StepAnswer, Walk } from './story.ts'
import { Values } from './values.ts'
import { WALKS } from './walks.ts'
import { type Caller, type Tenant, World } from './world.ts'

export interface FuzzOptions {
  readonly port: number
  readonly adminToken: string
  readonly requests: number
  readonly seed: number
  readonly connections: number
  /** Number of requests after which all callers are replaced. */
  readonly worldRequests: number
  /** Where bodies are stored that are too long for a line of curl. */
  readonly folder: string
  /** Called from time to time, while no request is in flight on its connection. */
  readonly onProgress?: (done: number) => Promise<void>
  readonly progressEvery?: number
}

export interface FuzzReport {
  readonly requests: number
  readonly seconds: number
  /** Number of answers by operation and status. */
  readonly answered: ReadonlyMap<string, ReadonlyMap<number, number>>
  readonly faults: readonly string[]
  /** Operations for which no request was sent. */
  readonly uncalled: readonly string[]
  readonly slowestMs: number
  readonly closed: number
}

const TIMEOUT_MS = 40_000
/** Tries of a request on which the others depend, as the service may be too busy and answer 503. */
const TRIES_MAX = 20
const TRY_AGAIN_MS = 1_000
const FAULTS_MAX = 10
/** How many successful calls a run makes of operations that are costly and reveal little. */
const GOOD_CALLS_MAX: Readonly<Record<string, number>> = { 'POST /api/backups': 2 }
/** Operations with long or unchanging answers are called less often. */
const RARE = new Set(['GET /openapi.json', 'GET /asyncapi.json', 'GET /metrics', 'POST /api/backups', 'GET /api/watch'])
/** How often every operation is called before they are chosen at random: some calls are cut off without an answer. */
const TRIES_FIRST = 3
const STORY_CHANCE = 0.35
const WRONG_CHANCE = 0.55

export class Fuzzer {
  readonly #options: FuzzOptions
  readonly #random: Random
  readonly #documented: Documented
  readonly #operations: readonly Operation[]
  readonly #untried: Operation[]
  readonly #byName: ReadonlyMap<string, Operation>
  readonly #values: Values
  readonly #answered = new Map<string, Map<number, number>>()
  readonly #faults: string[] = []
  readonly #faultKinds = new Set<string>()
  readonly #previous = new WeakMap<Connection, Request>()
  readonly #protected = new Set<string>()
  readonly #goodCalls = new Map<string, number>()
  readonly #operationChoices: readonly Operation[]
  #world!: World
  #root: Connection | undefined
  #done = 0
  #closed = 0
  #slowestMs = 0
  #nextProgress: number
  /** Set while the connections must wait: the world is being replaced, or the process measured. */
  #pause: Promise<void> | undefined

  constructor(options: FuzzOptions, openApi: any) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#documented = new Documented(openApi)
    this.#operations = operationsOf(openApi)
    this.#byName = new Map(this.#operations.map((operation) => [operation.name, operation]))
    this.#operationChoices = this.#operations.flatMap((one) => (RARE.has(one.name) ? [one] : Array(10).fill(one)))
    this.#untried = Array.from({ length: TRIES_FIRST }, () => this.#operations).flat()
    this.#values = new Values(openApi, options.seed)
    this.#nextProgress = options.progressEvery ?? Number.POSITIVE_INFINITY
  }

  async run(): Promise<FuzzReport> {
    const begunMs = performance.now()
    const tokens = await this.#ask('GET', '/api/tokens')
    for (const { id } of tokens.items) this.#protected.add(id)
    this.#world = await World.make(0, (...call) => this.#ask(...call), this.#protected)
    const lanes = Array.from({ length: this.#options.connections }, (_, n) => this.#lane(this.#random.fork(n + 1)))
    await Promise.all(lanes)
    await this.#world.retire((...call) => this.#ask(...call))
    this.#root?.close()
    return {
      requests: this.#done,
      seconds: (performance.now() - begunMs) / 1_000,
      answered: this.#answered,
      faults: this.#faults,
      uncalled: this.#operations.filter(({ name }) => !this.#answered.has(name)).map(({ name }) => name),
      slowestMs: this.#slowestMs,
      closed: this.#closed,
    }
  }

  get #isOver(): boolean {
    return this.#done >= this.#options.requests || this.#faults.length >= FAULTS_MAX
  }

  async #lane(random: Random): Promise<void> {
    let connection: Connection | undefined
    let walk: Walk | undefined
    let walkWorld: World | undefined
    let answer: StepAnswer | undefined
    const send = async (request: Request): Promise<StepAnswer> => {
      if (connection?.isOpen !== true) connection = await Connection.open(this.#options.port)
      return this.#send(connection, request)
    }
    while (!this.#isOver) {
      await this.#beBetween()
      if (walk === undefined && random.chance(STORY_CHANCE)) {
        walk = random.pick(WALKS)(this.#stage(random))
        walkWorld = this.#world
        answer = undefined
      }
      if (walk === undefined) {
        const call = this.#randomCall(random)
        const isWrong = random.chance(WRONG_CHANCE) || this.#isSpent(call.operation)
        await send(isWrong ? wrongRequestOf(call, this.#world, random) : requestOf(call))
        continue
      }
      const next = walk.next(answer as StepAnswer)
      if (next.done === true || walkWorld !== this.#world) {
        walk = undefined
        continue
      }
      const call = this.#callOf(next.value, random)
      if (random.chance(0.15)) await send(wrongRequestOf(call, this.#world, random))
      answer = await send(requestOf(call))
    }
    connection?.close()
  }

  async #beBetween(): Promise<void> {
    while (this.#pause !== undefined) await this.#pause
    const isNewWorld = this.#done >= (this.#world.number + 1) * this.#options.worldRequests
    if (!isNewWorld && this.#done < this.#nextProgress) return
    this.#pause = (async () => {
      if (isNewWorld) {
        const root = (method: string, path: string, body?: unknown) => this.#ask(method, path, body)
        const old = this.#world
        this.#world = await World.make(old.number + 1, root, this.#protected)
        await old.retire(root)
      }
      if (this.#done >= this.#nextProgress) {
        this.#nextProgress += this.#options.progressEvery!
        await this.#options.onProgress?.(this.#done)
      }
    })()
    try {
      await this.#pause
    } finally {
      this.#pause = undefined
    }
  }

  async #send(connection: Connection, request: Request): Promise<StepAnswer> {
    const endlessType = this.#byName.get(request.operation)?.endlessType
    const { caller } = request
    if (caller !== undefined)
      this.#world.named(`${request.target} ${request.body?.toString('latin1') ?? ''}`, caller.tenant)
    const previous = this.#previous.get(connection)
    this.#previous.set(connection, request)
    const outcome = await connection.ask(bytesOf(request), {
      isHead: request.method === 'HEAD',
      timeoutMs: TIMEOUT_MS,
      ...(endlessType === undefined ? {} : { endlessType }),
    })
    this.#done++
    if (outcome.ms > this.#slowestMs) this.#slowestMs = outcome.ms
    const { faults, body } = check(request, outcome, this.#documented, this.#world)
    for (const fault of faults) this.#noteFault(fault, request, outcome, previous)
    if (outcome.kind !== 'answer') {
      this.#closed++
      return { status: 0, body: undefined }
    }
    this.#count(request.operation, outcome.status)
    if (outcome.status < 300 && body !== undefined) this.#learn(request, outcome.status, body)
    return { status: outcome.status, body }
  }

  #learn(request: Request, status: number, body: any): void {
    const { caller } = request
    const operation = this.#byName.get(request.operation)!
    if (operation.method !== 'GET') this.#goodCalls.set(operation.name, (this.#goodCalls.get(operation.name) ?? 0) + 1)
    if (caller === undefined || operation.right === 'none') return
    this.#world.learn(body, operation, caller)
    if (status !== 201 || typeof body.token !== 'string') return
    if (typeof body.id === 'string') this.#world.addStray(body, caller)
    // A runner that has rotated its own token continues with the new one.
    else if (caller.runnerId !== undefined && request.target.includes(`/${caller.runnerId}/`)) caller.token = body.token
  }

  #count(operation: string, status: number): void {
    const byStatus = this.#answered.get(operation) ?? new Map<number, number>()
    this.#answered.set(operation, byStatus)
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  #noteFault(fault: string, request: Request, outcome: Outcome, previous: Request | undefined): void {
    // A fault that was already found is not reported again.
    const kind = `${request.operation} ${fault.replaceAll(/[0-9a-f]{6,}|MARK\w+|\d+/g, '#')}`
    if (this.#faults.length >= FAULTS_MAX || this.#faultKinds.has(kind)) return
    this.#faultKinds.add(kind)
    const keep = (body: Buffer): string => {
      mkdirSync(this.#options.folder, { recursive: true })
      const file = join(this.#options.folder, `body-${this.#faults.length}.bin`)
      writeFileSync(file, body)
      return file
    }
    const came =
      outcome.kind === 'answer'
        ? `${outcome.status} ${outcome.body.toString('utf8')}`
        : `${outcome.kind} ${outcome.received}`
    const { segments = 1 } = request
    const lines = [`${request.operation}: ${fault.slice(0, 1_000)}${segments > 1 ? ` (in ${segments} segments)` : ''}`]
    lines.push(`  request: ${curlOf(request, this.#options.port, keep)}`, `  answer: ${came.slice(0, 1_000)}`)
    // The rest of the previous request may have been read as this one.
    if (previous !== undefined)
      lines.push(`  before it on the connection: ${curlOf(previous, this.#options.port, keep)}`)
    this.#faults.push(lines.join('\n'))
  }

  #isSpent({ name }: Operation): boolean {
    return (this.#goodCalls.get(name) ?? 0) >= (GOOD_CALLS_MAX[name] ?? Number.POSITIVE_INFINITY)
  }

  #stage(random: Random): Stage {
    const world = this.#world
    const tenant = random.pick(world.tenants)
    const keys = world.tenants.flatMap(({ key }) => (key === undefined ? [] : [key]))
    const { callers } = tenant
    return {
      random,
      tenant,
      project: tenant.key ?? random.pick(keys),
      text: () => textOf(tenant, random),
      person: (right) => random.pick(callers.filter(({ rights }) => rights.has(right))),
      runner: () => random.pick(callers.filter(({ kind }) => kind === 'runner')),
    }
  }

  #callOf(step: Step, random: Random): Call {
    const operation = this.#byName.get(step.operation)
    if (operation === undefined) throw new Error(`a story tells of ${step.operation}, which is not in /openapi.json`)
    const { caller } = step
    const body =
      operation.body === undefined
        ? undefined
        : step.exact === true
          ? step.body
          : { ...(this.#body(operation, caller.tenant, random) as object), ...step.body }
    return { operation, caller, params: step.params ?? [], query: step.query ?? {}, headers: step.headers ?? {}, body }
  }

  /** A call of any operation by a caller who may make it, valid as far as random values can be. */
  #randomCall(random: Random): Call {
    const operation = this.#untried.pop() ?? random.pick(this.#operationChoices)
    const caller = this.#callerFor(operation, random)
    const tenant = caller?.tenant ?? random.pick(this.#world.tenants)
    const query: Record<string, string> = {}
    for (const { name, schema } of operation.query) {
      if (!random.chance(0.25)) continue
      const value = this.#values.make(schema, name, this.#context(tenant, random))
      query[name] = name === 'wait' ? String(random.pick([0, 0, 0, 1])) : String(value)
    }
    const headers: Record<string, string> = {}
    if (operation.headers.includes('idempotency-key') && random.chance(0.3))
      headers['Idempotency-Key'] = `k${random.between(0, 500)}`
    if (operation.headers.includes('traceparent') && random.chance(0.2))
      headers.traceparent = `00-${random.hex(32)}-${random.hex(16)}-01`
    const hasBody = operation.body !== undefined && (operation.isBodyRequired || random.chance(0.8))
    const body = hasBody ? this.#body(operation, tenant, random) : undefined
    return { operation, caller, params: this.#params(operation, caller, tenant, random), query, headers, body }
  }

  #callerFor(operation: Operation, random: Random): Caller | undefined {
    const { right, runner } = operation
    const { callers, strays } = this.#world
    if (right === 'none') return random.chance(0.5) ? undefined : random.pick(callers)
    if (strays.length > 0 && random.chance(0.05)) return random.pick(strays)
    const isRunner = right === 'runner' || (runner !== undefined && random.chance(0.3))
    const fit = callers.filter((one) => (isRunner ? one.kind === 'runner' : right === 'any' || one.rights.has(right)))
    return random.chance(0.95) ? random.pick(fit) : random.pick(callers)
  }

  #params({ segments }: Operation, caller: Caller | undefined, tenant: Tenant, random: Random): string[] {
    return segments.flatMap((segment, at) => {
      if (!segment.startsWith('{')) return []
      const name = segment.slice(1, -1)
      const collection = collectionOfParameter(segments, at)
      if (collection === 'runners' && caller?.runnerId !== undefined && random.chance(0.9)) return [caller.runnerId]
      for (const known of [`${collection}/`, fieldOfCollection(collection), name === 'id' ? '' : name]) {
        const value = this.#world.known(known, tenant, random)
        if (value !== undefined) return [String(value)]
      }
      return [`none-${random.hex(4)}`]
    })
  }

  #body(operation: Operation, tenant: Tenant, random: Random): unknown {
    const { bodyExample, body } = operation
    if (bodyExample !== undefined && random.chance(0.1)) return structuredClone(bodyExample)
    return this.#values.make(body, '', this.#context(tenant, random))
  }

  #context(tenant: Tenant, random: Random) {
    return {
      random,
      known: (name: string) => this.#world.known(name, tenant, random),
      text: () => textOf(tenant, random),
    }
  }

  /** Sent with the admin token, not counted among the requests; must succeed, after several tries on a busy machine. */
  async #ask(method: string, path: string, body?: unknown, triesLeft = TRIES_MAX): Promise<any> {
    if (this.#root?.isOpen !== true) this.#root = await Connection.open(this.#options.port)
    const text = body === undefined ? '' : JSON.stringify(body)
    const type =
      body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
    const head = `${method} ${path} HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer ${this.#options.adminToken}\r\n${type}\r\n`
    const outcome = await this.#root.ask([Buffer.from(head + text)], { isHead: false, timeoutMs: TIMEOUT_MS })
    if (outcome.kind !== 'answer') throw new Error(`${method} ${path}: ${outcome.kind}`)
    const said = outcome.body.toString()
    if (outcome.status === 503 && triesLeft > 1) {
      await sleep(TRY_AGAIN_MS)
      return this.#ask(method, path, body, triesLeft - 1)
    }
    const isGone = method === 'DELETE' && outcome.status === 404
    if (outcome.status >= 300 && !isGone) throw new Error(`${method} ${path}: ${outcome.status} ${said}`)
    return said === '' ? undefined : JSON.parse(said)
  }
}

/** Free text of a tenant; those who see everything leave no marker in it. */
function textOf({ key }: Tenant, random: Random): string {
  const word = random.pick(['greeting', 'a note', 'Ünïcödé ✓', 'line\nbreak', 'x', 'the quick brown fox'])
  return key === undefined ? `${word} ${random.hex(6)}` : `${markerOf(key, random.hex(8))} ${word}`
}
