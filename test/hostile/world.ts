/**
 * The callers of the fuzzer, and what it knows: projects side by side that may not see each other, each with people of
 * every role and its own runners, and in addition callers who see everything. Whatever a project's people write
 * contains the project's marker, so that a marker in an answer to somebody else is a leak.
 */
import { ROLES } from '../../machines/rights.ts'
import { ROLE_RIGHTS } from '../../runtime/access/rights.ts'
import type { Random } from '../random.ts'
import { markerOf, markersIn } from './markers.ts'
import type { Operation } from './operations.ts'
import { Pool, type Scalar } from './pool.ts'

export interface Caller {
  readonly name: string
  /** Changes when a runner's token is rotated. */
  token: string
  readonly kind: 'person' | 'runner'
  /** Keys of the projects that it may see. Undefined if others may change that, so that it is not known. */
  readonly sees: '*' | ReadonlySet<string> | undefined
  /** The name that its creator gave it and that it may read, although it may not see anything else of the creator. */
  readonly called?: string
  readonly rights: ReadonlySet<string>
  readonly runnerId?: string
  readonly tenant: Tenant
}

/** A project with its people; or, without a key, the callers who see everything. */
export interface Tenant {
  readonly key: string | undefined
  readonly pool: Pool
  readonly callers: Caller[]
  /** Ids of others' entities that its own requests named: they may be repeated in answers. */
  readonly namedForeign: Set<string>
}

/** A call with the admin token that must succeed. */
export type Root = (method: string, path: string, body?: unknown) => Promise<any>

const TENANTS = 3
const RUNNER_CAPACITIES = [1, 4, 50]
const LABELS = ['linux', 'gpu']
/** Ids of entities that belong to one project. */
export const OWNED_ID = /\b[a-z]{2,8}_[0-9a-f]{24,40}\b|\b[0-9a-f]{32}\b/g
const NAMED_FOREIGN_MAX = 100_000
/** Stands for entities that belong to no single project; not a key. */
const NOBODY = ''
const OWNERS_MAX = 200_000

export class World {
  readonly number: number
  readonly tenants: Tenant[] = []
  readonly callers: Caller[] = []
  /** Tokens that were created or rotated meanwhile: it is not known whether they are still valid. */
  readonly strays: Caller[] = []
  /** Values seen by any tenant. */
  readonly shared = new Pool()
  /** Markers in documents that several projects may see. */
  readonly sharedMarkers = new Set<string>()
  readonly made = { tokens: [] as string[], runners: [] as string[] }
  /** Ids that no random request may name, so that the callers stay as they are. */
  readonly #protected: Set<string>
  readonly #owners = new Map<string, string>()
  /** For each id, the answer that told its owner. */
  readonly #teachers = new Map<string, string>()

  private constructor(number: number, protectedIds: Set<string>) {
    this.number = number
    this.#protected = protectedIds
  }

  /** @param protectedIds ids of earlier worlds and of the admin; those of this world are added. */
  static async make(number: number, root: Root, protectedIds: Set<string>): Promise<World> {
    const world = new World(number, protectedIds)
    for (let n = 0; n < TENANTS; n++) await world.#addTenant(root, `w${number}t${n}`)
    await world.#addTenant(root, undefined)
    return world
  }

  /** Deletes what it created and the service keeps in memory. */
  async retire(root: Root): Promise<void> {
    for (const { key } of this.tenants) {
      if (key === undefined) continue
      for (let more = true; more; ) more = (await root('POST', '/api/run-requests/cancel', { project: key })).more
      await root('PATCH', `/api/projects/${key}`, { archived: true })
    }
    for (const id of this.made.tokens) await root('DELETE', `/api/tokens/${id}`)
    for (const id of this.made.runners) await root('DELETE', `/api/runners/${id}`)
  }

  async #addTenant(root: Root, key: string | undefined): Promise<void> {
    const tenant: Tenant = { key, pool: new Pool(), callers: [], namedForeign: new Set() }
    this.tenants.push(tenant)
    const sees = key === undefined ? ('*' as const) : new Set([key])
    const label = key ?? `w${this.number}all`
    if (key !== undefined) {
      const project = await root('POST', '/api/projects', { key, name: markerOf(key, '00000000') })
      tenant.pool.put('project', key)
      tenant.pool.put('projects', key)
      tenant.pool.put('allowed_projects', key)
      tenant.pool.put('projects/', key)
      tenant.pool.put('projects/', project.id)
      this.#owners.set(project.id, key)
    }
    for (const role of ROLES) {
      const name = `${label}-${role}`
      const made = await root('POST', '/api/tokens', {
        name,
        roles: [role],
        ...(key === undefined ? {} : { projects: [key] }),
      })
      this.#protected.add(made.id)
      this.made.tokens.push(made.id)
      const rights = new Set<string>(ROLE_RIGHTS[role])
      this.#addCaller({ name, token: made.token, kind: 'person', sees, rights, tenant })
    }
    for (const capacity of RUNNER_CAPACITIES) {
      const id = `${label}-r${capacity}`
      const grants = { allowed_projects: [key ?? '*'], capacity, labels: LABELS, trusted: capacity > 1 }
      const made = await root('POST', '/api/runners', { id, ...grants })
      this.#protected.add(id)
      this.made.runners.push(id)
      this.#addCaller({ name: id, token: made.token, kind: 'runner', sees, rights: new Set(), runnerId: id, tenant })
    }
    for (const word of LABELS) tenant.pool.put('labels', word)
  }

  #addCaller(caller: Caller): void {
    this.callers.push(caller)
    caller.tenant.callers.push(caller)
  }

  /** A value that the tenant knows by that name, sometimes one that another tenant knows. */
  known(name: string, tenant: Tenant, random: Random): Scalar | undefined {
    return (random.chance(0.15) ? this.shared : tenant.pool).pick(name, random)
  }

  /** Notes ids in a request of the tenant that are not its own, as they may be repeated in answers. */
  named(text: string, tenant: Tenant): void {
    const tenants = tenant.key === undefined ? this.tenants : [tenant]
    for (const [id] of text.matchAll(OWNED_ID)) {
      if (tenant.key !== undefined && this.#owners.get(id) === tenant.key) continue
      for (const { namedForeign } of tenants) if (namedForeign.size < NAMED_FOREIGN_MAX) namedForeign.add(id)
    }
  }

  /** Key of the project that the id belongs to, as far as it is known. */
  ownerOf(id: string): string | undefined {
    const owner = this.#owners.get(id)
    return owner === NOBODY ? undefined : owner
  }

  /** The operation and the document that told the owner of the id. */
  teacherOf(id: string): string {
    return this.#teachers.get(id) ?? 'the set-up'
  }

  /** Learns from a successful answer: ids of the collection, values by name, owners of ids. */
  learn(body: unknown, operation: Pick<Operation, 'name' | 'collection'>, caller: Caller): void {
    this.#noteShared(body, caller)
    const { tenant } = caller
    const note = (name: string, value: Scalar): void => {
      if (typeof value === 'string') {
        if (value.length === 0 || value.length > 200 || !/^[\x21-\x7e]+$/.test(value)) return
        if (this.#protected.has(value) || value.includes('MARK') || /^i(td|rt)_/.test(value)) return
      }
      tenant.pool.put(name, value)
      this.shared.put(name, value)
    }
    let left = 400
    const walk = (value: unknown, name: string): void => {
      if (left-- <= 0) return
      if (typeof value === 'object' && value !== null) {
        if (Array.isArray(value)) for (const one of value) walk(one, name)
        else for (const [key, one] of Object.entries(value)) if (key !== 'payload' && key !== 'token') walk(one, key)
      } else if (value !== null && value !== undefined) note(name, value as Scalar)
    }
    walk(body, '')
    this.#noteOwners(body, operation.name)
    const items = (body as { items?: unknown[] } | undefined)?.items
    for (const one of Array.isArray(items) ? items.slice(0, 20) : [body]) {
      const { id, key, name } = (one ?? {}) as { id?: unknown; key?: unknown; name?: unknown }
      if (typeof id === 'string') note(`${operation.collection}/`, id)
      if (typeof key === 'string') note(`${operation.collection}/`, key)
      // Campaigns and initiatives are identified by their names.
      if (id === undefined && key === undefined && typeof name === 'string') note(`${operation.collection}/`, name)
    }
  }

  /** Adds a token that was just created. */
  addStray(document: any, caller: Caller): void {
    const isRunner = document.allowed_projects !== undefined
    if (isRunner) this.made.runners.push(document.id)
    else if (typeof document.id === 'string') this.made.tokens.push(document.id)
    const stray: Caller = {
      name: String(document.id),
      ...(typeof document.name === 'string' ? { called: document.name } : {}),
      token: document.token,
      kind: isRunner ? 'runner' : 'person',
      sees: isRunner
        ? undefined
        : document.projects === '*' || document.projects.includes('*')
          ? '*'
          : new Set<string>(document.projects),
      rights: new Set(),
      ...(isRunner ? { runnerId: document.id } : {}),
      tenant: caller.tenant,
    }
    if (this.strays.length < 200) this.strays.push(stray)
    else this.strays[this.made.tokens.length % 200] = stray
  }

  /** A document that names several projects may be seen by all of them, with everything its author wrote. */
  #noteShared(body: unknown, { sees }: Caller): void {
    if (sees !== '*' && sees !== undefined) return
    const text = JSON.stringify(body) ?? ''
    if (text.includes('projects"')) this.share(text)
  }

  /** Notes that the markers in the text may also appear in answers to others. */
  share(text: string): void {
    for (const { marker } of markersIn(text)) this.sharedMarkers.add(marker)
  }

  /** Only for documents made by the service itself: nested ones may contain what callers wrote, and ids of others. */
  #noteOwners(body: unknown, operation: string): void {
    const { items } = (body ?? {}) as { items?: unknown }
    for (const one of [body, ...(Array.isArray(items) ? items : [])]) {
      if (typeof one !== 'object' || one === null) continue
      const { run_request: request } = one as { run_request?: Record<string, unknown> }
      this.#noteOwner(one as Record<string, unknown>, operation)
      if (request !== undefined) this.#noteOwner(request, operation)
    }
  }

  /** An id in documents of several projects belongs to none of them. */
  #noteOwner(document: Record<string, unknown>, operation: string): void {
    const { id, project, projects, trace_id, event_type } = document
    // A token that is restricted to one project belongs to it.
    if (Array.isArray(projects) && projects.length === 1 && projects[0] !== '*' && typeof id === 'string') {
      this.#owners.set(id, String(projects[0]))
    }
    if (typeof project !== 'string' || this.#owners.size > OWNERS_MAX) return
    // Of the service's own events, those about paused lanes may be seen by everybody.
    if (project === 'system' && String(event_type).startsWith('pacing_')) return
    // The work item of an assessment belongs to a project, is on the trace of its request, and names that as its cause.
    if (project === 'system' && String(event_type).startsWith('initiative_')) return
    const note = (owned: string): void => {
      const owner = this.#owners.get(owned)
      if (owner === undefined) {
        this.#owners.set(owned, project)
        this.#teachers.set(owned, `${operation}: ${JSON.stringify(document).slice(0, 300)}`)
      }
      if (owner !== undefined && owner !== project) this.#owners.set(owned, NOBODY)
    }
    // Some documents accept arbitrary members, so `evt_` ids count only in events.
    const isNamed = typeof id === 'string' && (event_type !== undefined || !id.startsWith('evt_'))
    if (isNamed && /^[a-z]+_[0-9a-f]{24,}$/.test(id)) note(id)
    if (typeof trace_id === 'string' && /^[0-9a-f]{32}$/.test(trace_id)) note(trace_id)
  }
}
