/**
 * What a reader sees of an initiative's assessments. Their items and runs belong to one project, but their payload and
 * result concern all projects of the initiative. A reader who may not see every one of these projects sees that an
 * assessment runs and how it settled (SPEC 3.4 includes the reason), but neither payload nor result. One that is pinned
 * concerns only its member's project, whose events tell both.
 */
import { SLUG_PATTERN } from '../../machines/documents/fields.ts'
import type { InitiativeContext } from '../../machines/initiative/context.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import { readable } from '../../runtime/reader.ts'
import { maySee } from '../access.ts'
import type { ServiceContext } from '../route.ts'

const NAME = new RegExp(SLUG_PATTERN)
const ASSESSMENT = 'initiative_advance_requested'

export function maySeeInitiative(reader: Principal, { projects }: Pick<InitiativeContext, 'projects'>): boolean {
  return projects.every((project) => maySee(reader, project))
}

export function findInitiative(
  { runtime }: ServiceContext,
  reader: Principal,
  name: string,
): SnapshotOf<InitiativeContext> | undefined {
  const snapshot = NAME.test(name) ? runtime.read({ kind: 'initiative', id: name }) : undefined
  return snapshot !== undefined && maySeeInitiative(reader, snapshot.context) ? snapshot : undefined
}

interface Shown {
  readonly entry_event?: string
  readonly work_item_id?: string
  readonly payload?: Readonly<Record<string, unknown>>
  readonly source?: { readonly kind: string; readonly ref: string; readonly role?: string }
  readonly result?: unknown
}

/**
 * The document of an item or run request; for an assessment of a whole initiative that the reader may not see, without
 * payload and result.
 */
export function redactAssessment<D extends Shown>(service: ServiceContext, reader: Principal, shown: D): D {
  const name = assessmentOf(shown)
  if (name === undefined || reader.projects === '*') return shown
  if (readable(() => findInitiative(service, reader, name)) !== undefined) return shown
  const { result: _, ...rest } = shown
  return { ...rest, ...(shown.payload === undefined ? {} : { payload: {} }) } as D
}

function assessmentOf({ entry_event, work_item_id, payload, source }: Shown): string | undefined {
  if (payload?.member !== undefined) return undefined
  if (source?.kind === 'initiative' && source.role === 'assessment') return source.ref
  // A run request made by hand, without a work item, is no assessment.
  return entry_event === ASSESSMENT && work_item_id !== undefined ? String(payload?.initiative) : undefined
}
