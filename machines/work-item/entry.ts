/** What an item is handed out as: the event that starts the engine's work, and that event's payload. */
import type { Access } from '../documents/run-request.ts'
import type { AskedItem } from './context.ts'

/** Entry events of items that their source decides, by the item's role there. */
const READ_ONLY = { advance: 'campaign_advance_requested', assessment: 'initiative_advance_requested' } as const

/** Entry events of runs that only look at a project and advise; all others do the work. */
export const READ_ONLY_ENTRY_EVENTS: ReadonlySet<string> = new Set(Object.values(READ_ONLY))

/**
 * By kind: entry events with the submitter's own payload, to which the ledger adds the item's id, what it is for, and the
 * ref that it begins at if it has one. `objective` and `context` in that payload stay as they are.
 */
const SUBMITTED = { release: 'release_requested', remediation: 'main_branch_audited' } as const

/** Entry events of items whose payload their submitter wrote. */
export const SUBMITTED_ENTRY_EVENTS: ReadonlySet<string> = new Set(Object.values(SUBMITTED))

interface Entry {
  readonly entry_event: string
  readonly payload: Readonly<Record<string, unknown>>
  /** Formations and assessments are read-only: they neither lock nor wait for a repository. */
  readonly access: Access
}

interface Item {
  readonly id: string
  readonly project: string
  readonly asked: Pick<AskedItem, 'kind' | 'source' | 'objective' | 'base_ref' | 'context' | 'payload'>
}

/** By role if it is a read-only one, else by kind. */
export function entryOf({ id, project, asked }: Item): Entry {
  const { kind, source, objective, base_ref, context, payload } = asked
  const begins = base_ref === undefined ? {} : { base_ref }
  const told = context === undefined ? {} : { context }
  if (source.role === 'advance') return readOnly(READ_ONLY.advance, payload)
  if (source.role === 'assessment') return readOnly(READ_ONLY.assessment, payload)
  switch (kind) {
    case 'maintenance':
      return changing('maintenance_requested', { item_id: id, project, objective, ...begins, ...told })
    case 'release':
    case 'remediation':
      return changing(SUBMITTED[kind], { objective, ...told, ...payload, ...begins, item_id: id })
    default:
      return changing('execution_requested', {
        item_id: id,
        objective,
        ...begins,
        ...(source.kind === 'campaign' ? { campaign: source.ref } : {}),
        ...(source.cycle === undefined ? {} : { campaign_cycle: source.cycle }),
        ...told,
      })
  }
}

function changing(entry_event: string, payload: Entry['payload']): Entry {
  return { entry_event, payload, access: 'full' }
}

function readOnly(entry_event: string, payload: Entry['payload'] = {}): Entry {
  return { entry_event, payload, access: 'read_only' }
}
