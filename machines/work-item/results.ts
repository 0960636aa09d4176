/**
 * How a terminal event settles the item it is about (SPEC 6.7, 3.1). Each kind has one terminal event; an item whose
 * source decides (formation, assessment) has none, and is settled by that source.
 */
import { refIn } from '../documents/fields.ts'
import type { Disposition, SettledState, WorkItemKind } from '../documents/work-item.ts'
import type { AskedItem, WorkItemMessage } from './context.ts'
import { READ_ONLY_ENTRY_EVENTS } from './entry.ts'

export interface Settlement {
  readonly state: SettledState
  readonly reason: string
  readonly disposition?: Disposition
}

type Payload = Readonly<Record<string, unknown>>

const TERMINAL_EVENTS: Readonly<Record<WorkItemKind, string>> = {
  task: 'task_run_completed',
  campaign_cycle: 'task_run_completed',
  major_upgrade: 'task_run_completed',
  maintenance: 'project_maintenance_completed',
  release: 'release_completed',
  remediation: 'remediation_completed',
}

const ITEM_EVENT_TYPES: ReadonlySet<string> = new Set(Object.values(TERMINAL_EVENTS))

/** Statuses of ended agent sessions that say whether the provider is available. */
const TELLING: ReadonlySet<unknown> = new Set(['unavailable', 'ok'])

/** Whether the item of a run with this entry event may have to hear of this event. */
export function concernsItems(entryEvent: string, eventType: string, payload: Payload): boolean {
  if (eventType === 'agent_session_ended') return READ_ONLY_ENTRY_EVENTS.has(entryEvent) && TELLING.has(payload.status)
  if (entryEvent === 'maintenance_requested' && syncFailureIn(eventType, payload) !== undefined) return true
  return ITEM_EVENT_TYPES.has(eventType)
}

/** Why the engine refused to work on its checkout, if the event says that (SPEC 7). */
export function syncFailureIn(eventType: string, { sync_failure }: Payload): string | undefined {
  return eventType === 'project_validation_completed' && typeof sync_failure === 'string' ? sync_failure : undefined
}

/** Whether the item's source decides what came of it: the run only advises. */
export function isDecidedBySource({ source }: Pick<AskedItem, 'source'>): boolean {
  return source.role === 'advance' || source.role === 'assessment'
}

/**
 * Whether its run is to wait for an unavailable provider. A campaign waits itself, with its cycles and formations, and
 * so does the source of an assessment.
 */
export function waitsForProvider(asked: Pick<AskedItem, 'source'>): boolean {
  return !isDecidedBySource(asked) && asked.source.role !== 'cycle'
}

/** How the event settles the item; undefined if it is not the terminal event of the item's kind. */
export function settlementOf(asked: AskedItem, eventType: string, payload: Payload): Settlement | undefined {
  if (isDecidedBySource(asked) || TERMINAL_EVENTS[asked.kind] !== eventType) return undefined
  return eventType === 'task_run_completed' ? ofTask(payload) : ofRun(asked.kind, payload)
}

/** Whether a message that settles the item as landed says that work is on trunk: there may be nothing to land. */
export function isOnTrunk(message: WorkItemMessage): boolean {
  if (message.type === 'run_event') return message.event.payload.landed === true
  return message.type === 'superseded' || (message.type === 'resumption_settled' && message.on_trunk === true)
}

/** The reason of an item whose run completed without reporting a result. */
export function withoutResult({ kind }: AskedItem): string {
  return TERMINAL_EVENTS[kind] === 'task_run_completed'
    ? 'run ended without a task result'
    : `run ended without its ${TERMINAL_EVENTS[kind]}`
}

function ofTask(payload: Payload): Settlement {
  const { verdict, landed, land_blocked: blocked } = payload
  const disposition = dispositionOf(payload)
  const settled = (state: SettledState, reason: string): Settlement => ({ state, reason, disposition })
  const summary = text(payload.summary)
  switch (verdict) {
    case 'complete':
      if (blocked !== undefined) return settled('preserved', `complete, but could not land (${blocked}): ${summary}`)
      return settled('landed', landed === true ? `complete: ${summary}` : `complete, nothing to land: ${summary}`)
    case 'remainder':
      return settled(landed === true ? 'landed' : 'preserved', `remainder: ${listed(payload.gaps) || summary}`)
    case 'defect':
      return settled('preserved', `defect: ${text(payload.diagnosis) || summary}`)
    case 'blocked_on_decision':
      return settled(
        'needs_decision',
        `decision needed: ${text(payload.finding) || summary}${choices(payload.options)}`,
      )
    default:
      return settled('failed', `runner error: ${text(payload.detail) || summary}`)
  }
}

/** `preservation_ref` of landed work is the trunk commit (SPEC 6.7). */
function dispositionOf({ verdict, landed, preservation_ref, worktree, worktree_removed }: Payload): Disposition {
  const ref = refIn(preservation_ref)
  return {
    ...(typeof verdict === 'string' ? { verdict } : {}),
    ...(ref === undefined ? {} : landed === true ? { landed_commit: ref } : { preservation_ref: ref }),
    ...(typeof worktree === 'string' ? { worktree } : {}),
    ...(typeof worktree_removed === 'boolean' ? { worktree_removed } : {}),
  }
}

function ofRun(kind: WorkItemKind, payload: Payload): Settlement {
  const success = payload.success === true
  const said = text(payload.summary) || text(payload.new_tag) || text(payload.cve)
  const reason = `${kind} ${success ? 'succeeded' : 'failed'}${said === '' ? '' : `: ${said}`}`
  const disposition = dispositionOf(payload)
  const isKnown = Object.keys(disposition).length > 0
  return { state: success ? 'landed' : 'failed', reason, ...(isKnown ? { disposition } : {}) }
}

/** The possible answers to a question, to be appended to it. */
function choices(options: unknown): string {
  const all = listed(options)
  return all === '' ? '' : ` (${all})`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function listed(value: unknown): string {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string').join('; ') : ''
}
