/**
 * Reads the table of facts and makes payloads from it: the smallest one that a type allows, and ones in which a given
 * field has a given value with everything that this value demands.
 */
import { specTable } from './spec-table.ts'

interface Condition {
  readonly field: string
  readonly values: readonly unknown[]
}

export interface Row {
  readonly path: string
  readonly type: string
  readonly presence: 'yes' | 'no' | 'with' | 'only' | 'also'
  readonly condition?: Condition
  /** Allowed values; empty: any of the type. */
  readonly values: readonly string[]
  /** The type whose rules apply to this row, and the path at which its payload starts here. */
  readonly origin: { readonly type: string; readonly prefix: string }
}

/** Values that are chosen for some paths; everything else takes its default. */
type Choice = Readonly<Record<string, unknown>>

/** What else must hold when a field has a value: rules beyond the presence of a field. */
const COMPANIONS: Readonly<Record<string, Choice>> = {
  'task_run_completed.land_blocked=continuation_conflict': { verdict: 'runner_error' },
  'campaign_cancelled.discard_work=true': { terminated_now: true },
  'agent_session_ended.status=interrupted': { error: 'daemon restarted', bytes_written: 0 },
  'initiative_steered.success=false': { outcome: 'failed' },
  'initiative_steered.outcome=failed': { success: false },
  'initiative_steered.outcome=skipped': { prompt: '' },
}

/** Where the first allowed value would break such a rule, or the format is narrower than the type. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  'initiative_steered.success': true,
  'work_item_submitted.item_id': 'wi_0123456789abcdef01234567',
}

export const table: ReadonlyMap<string, readonly Row[]> = read()

export function defaultOf(row: Row): unknown {
  const given = DEFAULTS[`${row.origin.type}.${local(row.path, row.origin.prefix)}`]
  if (given !== undefined) return given
  const type = row.type.replace(' or null', '')
  if (type === 'strings') return [row.values[0] ?? 'x']
  if (row.values.length > 0) return row.values[0]
  if (type === 'array') return [{}]
  if (type === 'object') return {}
  if (type === 'bool') return false
  if (type === 'timestamp') return '2026-01-31T12:00:00.123456Z'
  return type === 'string' ? 'x' : 1
}

/** The smallest payload of the type in which the chosen paths have the chosen values. */
export function sample(type: string, choice: Choice = {}): Record<string, unknown> {
  const rows = table.get(type)!
  const chosen = withCompanions(rows, choice)
  const payload: Record<string, unknown> = {}
  for (const row of rows) {
    if (!has(payload, parentOf(row.path))) continue
    const isWanted = row.path in chosen || Object.keys(chosen).some((path) => below(path, row.path))
    if (isWanted || row.presence === 'yes' || isDemanded(row, rows, chosen)) {
      put(payload, row.path, row.path in chosen ? structuredClone(chosen[row.path]) : defaultOf(row))
    }
  }
  return payload
}

/** A payload in which the row is present, with the given value or its default. */
export function sampleWith(type: string, row: Row, value: unknown = defaultOf(row)): Record<string, unknown> {
  const holders = table.get(type)!.filter(({ path }) => path === row.path || below(row.path, path))
  const held = holders.flatMap(({ presence, condition }) => {
    return condition === undefined || presence === 'also' ? [] : [[condition.field, condition.values[0]]]
  })
  return sample(type, { ...Object.fromEntries(held), [row.path]: value })
}

export function put(payload: Record<string, unknown>, path: string, value: unknown): void {
  const { holder, key } = locate(payload, path)
  holder[key] = value
}

export function remove(payload: Record<string, unknown>, path: string): void {
  const { holder, key } = locate(payload, path)
  delete holder[key]
}

/** RFC 6901 pointer of a path; `[]` stands for the first element. */
export function pointerOf(path: string): string {
  return `/${path.replaceAll('[]', '.0').replaceAll('.', '/')}`
}

function read(): Map<string, Row[]> {
  const rows = new Map<string, Row[]>()
  for (const line of specTable.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [type = '', ...cells] = line.split('|').map((cell) => cell.trim())
    const known = rows.get(type) ?? []
    rows.set(type, known)
    if (cells[0] === '') continue
    const like = cells.find((cell) => cell.startsWith('like '))
    if (like === undefined) known.push(rowOf(type, cells))
    else known.push(...rows.get(like.slice(5))!.map((row) => moved(row, cells.length === 1 ? '' : `${cells[0]}.`)))
  }
  return new Map([...rows].filter(([type]) => !type.startsWith('@')))
}

function rowOf(eventType: string, [path = '', type = '', required = '', values = '']: readonly string[]): Row {
  const [presence = '', condition] = required.split(' ')
  const origin = { type: eventType, prefix: '' }
  const row = { path, type, presence: presence as Row['presence'], values: values.split(' ').filter(Boolean), origin }
  if (condition === undefined) return row
  const [field = '', allowed = ''] = condition.split('=')
  return { ...row, condition: { field, values: allowed.split(',').map((v) => (v === 'true' ? true : v)) } }
}

function moved(row: Row, prefix: string): Row {
  const origin = { type: row.origin.type, prefix: prefix + row.origin.prefix }
  const there = { ...row, path: prefix + row.path, origin }
  if (row.condition === undefined) return there
  return { ...there, condition: { ...row.condition, field: prefix + row.condition.field } }
}

function withCompanions(rows: readonly Row[], choice: Choice): Choice {
  let chosen = choice
  for (const [path, value] of Object.entries(choice)) {
    const { origin } = rows.find((row) => row.path === path)!
    const companions = COMPANIONS[`${origin.type}.${local(path, origin.prefix)}=${value}`] ?? {}
    const moved = Object.entries(companions).map(([name, fixed]) => [origin.prefix + name, fixed])
    chosen = { ...Object.fromEntries(moved), ...chosen }
  }
  return chosen
}

function isDemanded(row: Row, rows: readonly Row[], chosen: Choice): boolean {
  if (row.condition === undefined || row.presence === 'only') return false
  const { field, values } = row.condition
  const condition = rows.find(({ path }) => path === field)!
  const present = condition.presence === 'yes' || field in chosen
  return present && values.includes(field in chosen ? chosen[field] : defaultOf(condition))
}

function local(path: string, prefix: string): string {
  return path.slice(prefix.length)
}

function parentOf(path: string): string {
  return path.includes('.') ? path.slice(0, path.lastIndexOf('.')).replace(/\[\]$/, '') : ''
}

function below(path: string, parent: string): boolean {
  return path.startsWith(`${parent}.`) || path.startsWith(`${parent}[]`)
}

function has(payload: Record<string, unknown>, path: string): boolean {
  if (path === '') return true
  const { holder, key } = locate(payload, path)
  return holder?.[key] !== undefined && holder[key] !== null
}

function locate(payload: Record<string, unknown>, path: string): { holder: Record<string, unknown>; key: string } {
  const keys = path.replaceAll('[]', '.0').split('.')
  let holder: any = payload
  for (const key of keys.slice(0, -1)) holder = holder?.[key]
  return { holder, key: keys.at(-1)! }
}
