/**
 * What a brief is frozen as: its sections, the current intent records behind it, and the revision. Pure and
 * deterministic: the same brief, records and revision give the same text, and so the same digest.
 */

import type { BriefSnapshot, SourceRecord } from '../documents/compiled-brief.ts'
import { COMPILED_BRIEF_SCHEMA_VERSION } from '../documents/compiled-brief.ts'
import type { FormationBriefCreate, SourceVersion } from '../documents/formation-brief.ts'
import { ID_DIGITS } from '../ids.ts'
import { looksLikeRecordKey, recordIdOf } from '../record-key.ts'
import type { Fault } from '../schema.ts'

/** Increases whenever the same brief would be frozen differently: earlier approvals then no longer hold. */
export const COMPILER_VERSION = '1'

/** The sections as given, with the default throttle filled in. */
export type BriefSections = FormationBriefCreate & { readonly throttle: 'full' | 'dry_run' }

/** The parts of a brief that go into its snapshot. */
export interface BriefText {
  readonly id: string
  readonly version: number
  readonly project: string
  readonly project_id: string
  readonly sections: BriefSections
}

/** What the brief's references resolve to at the time of asking. */
export interface Sources {
  /** Records that may guide a run. */
  readonly records: readonly SourceRecord[]
  /** References to records that may not guide a run, each with the reason. */
  readonly unfit: readonly { readonly id: string; readonly why: string }[]
  /** By record id: since when it has had its present content or, if it may not guide a run, since when that is so. */
  readonly since: Readonly<Record<string, string>>
}

/** The snapshot without the prompts, which are made from it. */
export type BriefCore = Omit<BriefSnapshot, 'prompt_pack'>

const RECORD_ID_PREFIX = 'ir_'
const REFERENCE_LISTS = ['product_intent_refs', 'design_intent_refs', 'engineering_intent_refs'] as const

/** The parts of a brief that hold its references. */
export type BriefReferring = Pick<BriefText, 'project' | 'project_id'> & { readonly sections: FormationBriefCreate }

interface Reference {
  readonly named: string
  /** The record that it refers to; undefined if it refers to something else. */
  readonly recordId: string | undefined
  readonly pointer: string
}

/** Whether the reference was meant to name a record, even if it resolves to none. */
function namesRecord({ named, recordId }: Pick<Reference, 'named' | 'recordId'>): boolean {
  return recordId !== undefined || named.startsWith(RECORD_ID_PREFIX) || looksLikeRecordKey(named)
}

/** Every reference in the sections. */
function references(brief: BriefReferring): Reference[] {
  const { mission, protected_capabilities = [] } = brief.sections
  /** A record is named by its id, or in the same project by its key: `<project>.intent.<slug>`. */
  const ownProject = (key: string) => (key === brief.project ? brief.project_id : undefined)
  const refer = (named: string, pointer: string): Reference => ({
    named,
    recordId: recordIdOf(named, ownProject),
    pointer,
  })
  const listed = REFERENCE_LISTS.flatMap((list) =>
    (mission[list] ?? []).map((named, i) => refer(named, `/mission/${list}/${i}`)),
  )
  const protectedOnes = protected_capabilities
    .map(({ id = '' }, i) => refer(id, `/protected_capabilities/${i}/id`))
    .filter(namesRecord)
  return [...listed, ...protectedOnes]
}

/** Ids of the intent records that a brief refers to, deduplicated and sorted. */
export function recordIdsOf(brief: BriefReferring): readonly string[] {
  const ids = references(brief).flatMap(({ recordId }) => (recordId === undefined ? [] : [recordId]))
  return [...new Set(ids)].sort()
}

function externalOf(brief: BriefReferring): string[] {
  const names = references(brief).filter((reference) => !namesRecord(reference))
  return [...new Set(names.map(({ named }) => named))].sort()
}

function isSaid(text: string): boolean {
  return text.trim() !== ''
}

/** The faults for which a compile refuses the brief that its own text shows. */
export function textFaults(brief: BriefReferring): readonly Fault[] {
  const { protected_capabilities = [], evidence_plan } = brief.sections
  const evidence = [...(evidence_plan?.required ?? []), ...(evidence_plan?.suggested ?? [])].filter(isSaid)
  const faults: Fault[] = []
  if (recordIdsOf(brief).length === 0) {
    faults.push({ pointer: '/mission', detail: 'names no intent record: a run needs the intent it serves' })
  }
  if (protected_capabilities.length === 0) {
    faults.push({ pointer: '/protected_capabilities', detail: 'is missing: name what must still hold afterwards' })
  }
  for (const reference of references(brief)) {
    if (reference.recordId !== undefined || !namesRecord(reference)) continue
    const { named, pointer } = reference
    const why = named.startsWith(RECORD_ID_PREFIX)
      ? `an id is ${RECORD_ID_PREFIX} followed by ${ID_DIGITS} digits of 0-9 and a-f`
      : 'a run can only be guided by records of its own project'
    faults.push({ pointer, detail: `${named} is not a record of ${brief.project}: ${why}` })
  }
  for (const [i, { id, name, statement = '' }] of protected_capabilities.entries()) {
    if (id !== undefined || name !== undefined || isSaid(statement)) continue
    faults.push({ pointer: `/protected_capabilities/${i}`, detail: 'names nothing: give its statement, name or id' })
  }
  if (evidence.length === 0) {
    faults.push({ pointer: '/evidence_plan', detail: 'is missing: say what would show that it held' })
  }
  return faults
}

/** Faults for references to records that may not guide a run. */
export function danglingFaults(brief: BriefReferring, { unfit }: Sources): readonly Fault[] {
  const known = new Map(unfit.map(({ id, why }) => [id, why]))
  return references(brief).flatMap(({ named, recordId, pointer }) => {
    const why = known.get(recordId ?? '')
    return why === undefined ? [] : [{ pointer, detail: `${named} ${why}` }]
  })
}

/** The faults of both kinds. */
export function faultsOf(brief: BriefReferring, sources: Sources): readonly Fault[] {
  return [...textFaults(brief), ...danglingFaults(brief, sources)]
}

export function freeze(brief: BriefText, { records }: Sources, revision: string | undefined): BriefCore {
  const { id, version, project, project_id, sections } = brief
  const repo = revision === undefined ? sections.repo : { ...sections.repo, revision }
  return {
    schema_version: COMPILED_BRIEF_SCHEMA_VERSION,
    compiler_version: COMPILER_VERSION,
    formation_brief_id: id,
    brief_version: version,
    project,
    project_id,
    ...sections,
    ...(repo === undefined ? {} : { repo }),
    source_intent: [...records].sort((a, b) => (a.id < b.id ? -1 : 1)),
    external_references: externalOf(brief),
  }
}

export function versionsOf(records: readonly SourceRecord[]): SourceVersion[] {
  return records.map(({ id, version }) => ({ id, version }))
}
