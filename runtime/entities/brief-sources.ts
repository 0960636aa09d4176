/** The intent records a formation brief refers to, from committed data: those that may guide a run, and the others. */

import type { SourceRecord } from '../../machines/documents/compiled-brief.ts'
import { type BriefReferring, recordIdsOf, type Sources } from '../../machines/formation-brief/snapshot.ts'
import type { IntentRecordContext } from '../../machines/intent-record/context.ts'
import { isGuiding } from '../../machines/intent-record.ts'
import { recordKey } from '../../machines/record-key.ts'
import type { Runtime, SnapshotOf } from '../api.ts'

/** Records of another project count as absent. */
export function sourcesOf(runtime: Pick<Runtime, 'read'>, brief: BriefReferring): Sources {
  const records: SourceRecord[] = []
  const unfit: { id: string; why: string }[] = []
  const since: Record<string, string> = {}
  for (const id of recordIdsOf(brief)) {
    const snapshot: SnapshotOf<IntentRecordContext> | undefined = runtime.read({ kind: 'intent_record', id })
    if (snapshot === undefined || snapshot.context.project !== brief.project) {
      unfit.push({ id, why: 'is not an intent record of the project' })
    } else if (isGuiding(snapshot.value)) {
      records.push(sourceOf(snapshot.context))
      since[id] = snapshot.context.versioned_at
    } else {
      unfit.push({ id, why: `is ${snapshot.value}: only accepted and active records guide a run` })
      since[id] = snapshot.context.state_at
    }
  }
  return { records, unfit, since }
}

/** The record's content, without observations or state. */
function sourceOf({ id, project, slug, version, content }: IntentRecordContext): SourceRecord {
  return { id, key: recordKey(project, slug), version, ...content }
}
