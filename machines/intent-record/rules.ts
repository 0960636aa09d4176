/** What forbids a change to an intent record: pure functions for its guards and for the reasons of refusals. */
import { shown } from '../clipped.ts'
import { RELATIONSHIPS_MAX } from '../documents/intent-record.ts'
import { PROBLEMS } from '../drift/problems.ts'
import { speaksOfDrift } from '../drift/status.ts'
import type { Refusal } from '../machine.ts'
import { evidenceFaults, subjectOf } from './changes.ts'
import type { IntentRecordContext, Moves, Of } from './context.ts'
import { hasDrift, relationshipOf } from './notify.ts'
import { pathFaults } from './places.ts'

type Context = IntentRecordContext

/** Whether the record is at the version that the caller has read, or the caller named none. */
export function isVersionRead({ version }: Context, { if_version }: Of<'update' | Moves>): boolean {
  return if_version === undefined || if_version === version
}

export function notRead({ version }: Context, { if_version }: Of<'update' | Moves>): Refusal {
  const not = if_version === 0 ? 'and If-Match names none' : `not ${if_version}`
  return { code: 'precondition_failed', detail: `its version is ${version}, ${not}` }
}

/** States in which a record cannot replace another: nothing would guide runs, and two could replace each other. */
const GONE: ReadonlySet<string> = new Set(['contradicted', 'superseded'])

/** Why the named replacement is refused; another one might be taken. */
export function whyNotReplacedBy({ id }: Context, message: Of<'supersede'>): Refusal | undefined {
  const { replacement, replacement_key: key = replacement, replacement_state: state } = message
  if (replacement === id) {
    return { code: 'invalid_body', detail: 'a record cannot supersede itself', pointer: '/replacement' }
  }
  if (state === undefined || !GONE.has(state)) return undefined
  return {
    code: 'illegal_move',
    detail: `the record ${key} is ${state}: it cannot supersede another`,
    isOfContent: true,
  }
}

export function whyNotUpdate(context: Context, message: Of<'update'>): Refusal | undefined {
  if (!isVersionRead(context, message)) return notRead(context, message)
  const errors = [...evidenceFaults(context, message), ...pathFaults(message.patch.scope, '/scope')]
  if (errors.length === 0) return undefined
  return { code: 'invalid_body', detail: 'the fields named in `errors` are invalid', errors }
}

export function whyNotClassify(context: Context, { classification }: Of<'classify'>): Refusal | undefined {
  const { drift } = context
  if (classification === 'none' && drift.classification === undefined) {
    return { code: 'illegal_move', detail: 'nobody has classified its drift', isOfContent: true }
  }
  if (classification !== 'allowed_exception' || speaksOfDrift(subjectOf(context))) return undefined
  const why = PROBLEMS.has(drift.status!) ? 'only a person has said that it has drifted' : `it is ${drift.status}`
  return { code: 'illegal_move', detail: `there is no drift to allow: ${why}`, isOfContent: true }
}

export function whyNotRelate(context: Context, message: Of<'relate'>): Refusal | undefined {
  const { id, relationships } = context
  const { relation, to, to_guides, may_rewrite } = message
  if (to === id)
    return { code: 'invalid_body', detail: 'a record cannot have a relationship with itself', pointer: '/to' }
  if (relation === 'conflicts_with' && !may_rewrite && (to_guides || hasDrift(context))) return CONFLICT_FORBIDDEN
  if (relationships.length < RELATIONSHIPS_MAX) return undefined
  return { code: 'illegal_move', detail: `a record may state at most ${RELATIONSHIPS_MAX} relationships` }
}

export function whyNotUnrelate(context: Context, message: Of<'unrelate'>): Refusal | undefined {
  const gone = relationshipOf(context, message)
  if (gone === undefined) {
    return { code: 'not_found', detail: `the record has no relationship ${shown(message.relationship_id)}` }
  }
  if (gone.type !== 'conflicts_with' || message.may_rewrite) return undefined
  return hasDrift(context) || context.drift.conflicts[gone.to]?.guiding ? CONFLICT_FORBIDDEN : undefined
}

/** A conflict with accepted content opens or ends a contradiction in it. */
const CONFLICT_FORBIDDEN: Refusal = {
  code: 'forbidden',
  detail: 'one of the two records guides runs: changing a conflict with it also needs the right intent.accept',
}
