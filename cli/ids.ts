/**
 * Abbreviated ids, like those of git commits, resolved through the service's lists, newest first. Invariant: a full id
 * costs no call, and an id that is not found is sent as it was given, so that the service reports it.
 */
import { Argument, type Command, Option } from 'commander'
import type { Client } from '../engine/client.ts'
import { ServiceRefused } from '../engine/errors.ts'
import { ID_DIGITS } from '../machines/ids.ts'
import { collect, ORIGIN } from './arguments.ts'
import { CliFailure } from './exit.ts'
import { list } from './lists.ts'

/** Entities with an id of their own, in one list or in one for each project. */
export interface Kind {
  /** Prefix of their ids; undefined if people or engines choose the ids. */
  readonly prefix?: string
  /** What an id with the prefix names, and the command that shows it. */
  readonly noun?: string
  readonly show?: string
  /** The list's path, and the prefix of an id's path; with `perProject`, the part after a project's path. */
  readonly path: string
  readonly perProject?: true
  /** The document member that holds the id. Default: `id`. */
  readonly member?: string
}

export const RUN_REQUEST: Kind = {
  prefix: 'runreq_',
  noun: 'a run request',
  show: 'run-request show',
  path: '/api/run-requests',
}
export const WORK_ITEM: Kind = { prefix: 'wi_', noun: 'a work item', show: 'queue show', path: '/api/work-items' }
export const TOKEN: Kind = { prefix: 'tok_', noun: 'a token', show: 'token list', path: '/api/tokens' }
export const BRIEF: Kind = {
  prefix: 'brief_',
  noun: 'a formation brief',
  show: 'brief show',
  path: '/formation-briefs',
  perProject: true,
}
export const DISCOVERY: Kind = {
  prefix: 'disc_',
  noun: 'a discovery',
  show: 'discovery show',
  path: '/discoveries',
  perProject: true,
}
export const HYPOTHESIS: Kind = {
  prefix: 'hyp_',
  noun: 'a hypothesis',
  show: 'hypothesis show',
  path: '/hypotheses',
  perProject: true,
}
export const INTENT_RECORD: Kind = {
  prefix: 'ir_',
  noun: 'an intent record',
  show: 'intent show',
  path: '/intent-records',
  perProject: true,
}
export const SESSION: Kind = { path: '/api/agent-sessions', member: 'session_id' }
export const CAMPAIGN: Kind = { path: '/api/campaigns', member: 'name' }
export const RUNNER: Kind = { path: '/api/runners' }
export const SENTINEL: Kind = { path: '/api/sentinels', member: 'name' }
export const INITIATIVE: Kind = { path: '/api/initiatives', member: 'name' }

const WITH_PREFIX = [RUN_REQUEST, WORK_ITEM, TOKEN, BRIEF, DISCOVERY, HYPOTHESIS, INTENT_RECORD]

/** Fewest characters after the prefix that count as an abbreviation. */
const CHARS_MIN = 6
const SHORT = new RegExp(`^[0-9a-f]{${CHARS_MIN},${ID_DIGITS - 1}}$`)
const TOO_SHORT = new RegExp(`^[0-9a-f]{1,${CHARS_MIN - 1}}$`)
const DIGITS = new RegExp(`^[0-9a-f]{1,${ID_DIGITS}}$`)
/** Entities searched in each list: older ones need their full id. */
const LOOKED_AT_MAX = 10_000
const CANDIDATES_SHOWN = 5

/** An operand that is the id of such an entity, or an abbreviation of it. */
export class IdArgument extends Argument {
  readonly kinds: readonly Kind[]

  constructor(flags: string, help: string, ...kinds: readonly Kind[]) {
    super(flags, help)
    this.kinds = kinds
  }
}

/** The same as an option. */
export class IdOption extends Option {
  readonly kinds: readonly Kind[]

  constructor(flags: string, help: string, ...kinds: readonly Kind[]) {
    super(flags, help)
    this.kinds = kinds
  }
}

/** For commands that create work items which depend on others. */
export function afterOption(): Option {
  return new IdOption('--after <id>', 'Start only when this item has landed. May be repeated.', WORK_ITEM).argParser(
    collect,
  )
}

/** The command's operands with full ids; the ids in its options are replaced in place. */
export async function withWholeIds(
  client: () => Client,
  command: Command,
  operands: readonly any[],
  options: Record<string, any>,
): Promise<readonly any[]> {
  const lists: Lists = new Map()
  for (const option of command.options) {
    const name = option.attributeName()
    if (option instanceof IdOption) options[name] = await whole(client, option.kinds, options[name], lists)
  }
  const found: any[] = []
  for (const [n, operand] of operands.entries()) {
    const argument = command.registeredArguments[n]
    found.push(argument instanceof IdArgument ? await whole(client, argument.kinds, operand, lists) : operand)
  }
  return found
}

/** The ids of each kind, read once for all abbreviations of a command. */
type Lists = Map<Kind, Promise<readonly string[]>>

async function whole(client: () => Client, kinds: readonly Kind[], given: any, lists: Lists): Promise<any> {
  if (Array.isArray(given)) return await Promise.all(given.map((one) => whole(client, kinds, one, lists)))
  if (given === undefined) return given
  const kind = kinds.find(({ prefix }) => prefix !== undefined && given.startsWith(prefix))
  if (kind === undefined) assertNoOther(kinds, given)
  if (kind === undefined || !SHORT.test(given.slice(kind.prefix!.length))) return given
  const listed = lists.get(kind) ?? idsOf(client(), kind)
  lists.set(kind, listed)
  const found = (await listed).filter((id) => id.startsWith(given))
  return onlyOne(given, found) ?? given
}

/** Adds to a refusal that the id was too short to be searched as an abbreviation. */
function tellIfTooShort(
  kinds: readonly Kind[],
  given: string,
  { method, path, problem, message }: ServiceRefused,
): void {
  const kind = kinds.find(({ prefix }) => prefix !== undefined && given.startsWith(prefix))
  if (kind === undefined || !TOO_SHORT.test(given.slice(kind.prefix!.length))) return
  const detail = `${message} An abbreviated id needs at least ${CHARS_MIN} characters after ${kind.prefix}.`
  throw new ServiceRefused(method, path, { ...problem, detail })
}

/**
 * Refuses the id of another kind of entity, which belongs to another command. Names that people choose may look like
 * ids.
 */
function assertNoOther(kinds: readonly Kind[], given: string): void {
  if (kinds.some(({ prefix }) => prefix === undefined)) return
  const other = WITH_PREFIX.find(({ prefix }) => given.startsWith(prefix!) && DIGITS.test(given.slice(prefix!.length)))
  if (other === undefined) return
  const wanted = kinds.map(({ noun, prefix }) => `${noun} (${prefix}...)`).join(' or ')
  throw new CliFailure(`${given} names ${other.noun}, but ${wanted} is expected here. See: intendant ${other.show}`)
}

/**
 * Resolves abbreviated names, after the service has answered that no such name exists: any text may be a full name, so
 * it is sent as it is first. Returns undefined if no name begins with it. A command that changes something is not
 * carried out: it fails and lists the names, because the text may just be a mistyped name.
 */
export async function withWholeNames(
  client: () => Client,
  command: Command,
  operands: readonly any[],
  error: unknown,
): Promise<readonly any[] | undefined> {
  if (!(error instanceof ServiceRefused) || error.problem.status !== 404) return undefined
  for (const [n, given] of operands.entries()) {
    const argument = command.registeredArguments[n]
    if (!(argument instanceof IdArgument)) continue
    for (const one of [given].flat()) tellIfTooShort(argument.kinds, one, error)
    const kind = argument.kinds[0]!
    if (kind.prefix !== undefined || given.length < CHARS_MIN) continue
    const path = `${kind.path}/${encodeURIComponent(given)}`
    if (error.path !== path && !error.path.startsWith(`${path}/`)) continue
    const names = (await idsOf(client(), kind)).filter((name) => name.startsWith(given))
    if (names.length > 0 && command.options.some(({ flags }) => flags === ORIGIN[0])) {
      const detail = `${error.message} ${given} is the beginning of ${shown(names)}: a change needs the whole name.`
      throw new ServiceRefused(error.method, error.path, { ...error.problem, detail })
    }
    const name = onlyOne(given, names)
    return name === undefined ? undefined : operands.with(n, name)
  }
  return undefined
}

function onlyOne(given: string, found: readonly string[]): string | undefined {
  if (found.length > 1) throw new CliFailure(`${given} is the beginning of ${shown(found)}: give more characters.`)
  return found[0]
}

function shown(found: readonly string[]): string {
  const more = found.length - CANDIDATES_SHOWN
  return `${found.slice(0, CANDIDATES_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

async function idsOf(client: Client, kind: Kind): Promise<readonly string[]> {
  const { path, perProject, member = 'id' } = kind
  const paths = perProject === true ? await ofProjects(client, path) : [path]
  const found = new Set<string>()
  for (const one of paths) {
    const { items } = await list(client, one, LOOKED_AT_MAX)
    for (const { [member]: id } of items) if (typeof id === 'string') found.add(id)
  }
  return [...found]
}

async function ofProjects(client: Client, path: string): Promise<string[]> {
  const { items } = await list(client, '/api/projects', LOOKED_AT_MAX)
  return items.map(({ id }) => `/api/projects/${id}${path}`)
}
