/**
 * The draft of a brief that brings the code back in line with a record. A person reviews it before anything runs; what
 * machines reported is quoted as data and never becomes an instruction.
 */
import { clipped } from '../clipped.ts'
import type { Drift } from '../documents/drift.ts'
import { NAME_LENGTH_MAX, TEXT_LENGTH_MAX } from '../documents/fields.ts'
import type { FormationBriefCreate } from '../documents/formation-brief.ts'
import type { IntentRecordContext } from '../intent-record/context.ts'
import { onOneLine } from '../untrusted-text.ts'

const REPAIR_ENTRY_EVENT = 'execution_requested'

export function repairBrief({ id, content }: IntentRecordContext, drift: Drift): FormationBriefCreate {
  const { capability, threat, expectation, strategy, tradeoff, scope, evidence } = content
  const title = onOneLine(content.title)
  const { key } = drift.intent_record
  const shows = (required: boolean) =>
    evidence.filter((one) => one.required === required).map(({ description }) => description)
  const required = shows(true)
  const suggested = shows(false)
  const paths = scope?.paths ?? []
  const confirmed = `A person confirms that this holds: ${title}`
  return {
    title: clipped(`Repair: ${title}`, NAME_LENGTH_MAX),
    mission: {
      objective: `Bring the code back in line with the intent record ${key}: ${title}.`,
      definition_of_done:
        required.length > 0 ? required.map((description) => `It passes: ${description}`) : [confirmed],
      stop_conditions: [
        'The record turns out to be wrong, not the code: stop and ask.',
        'Evidence, a test or a gate would have to be weakened: stop and ask.',
      ],
      engineering_intent_refs: [id],
    },
    relevant_intent: relevantIntent(drift),
    protected_capabilities: [
      {
        id,
        name: clipped(title, NAME_LENGTH_MAX),
        statement: capability ?? expectation ?? title,
        ...(drift.severity === undefined ? {} : { severity: drift.severity }),
        ...(paths.length === 0 ? {} : { scope: clipped(paths.join(', '), TEXT_LENGTH_MAX) }),
        evidence_required: required,
      },
    ],
    ...(threat === undefined ? {} : { threats_to_watch: [threat] }),
    ...(strategy === undefined ? {} : { strategies_to_prefer: [strategy] }),
    ...(tradeoff === undefined ? {} : { tradeoffs: [tradeoff] }),
    forbidden_moves: ['Weaken or delete a test, a gate or other evidence.'],
    evidence_plan: { required: required.length > 0 ? required : [confirmed], suggested },
    engine_controls: { entry_event: REPAIR_ENTRY_EVENT, throttle: 'dry_run' },
    throttle: 'dry_run',
  }
}

/** The record itself is frozen when the brief is compiled; this adds what was observed about it. */
function relevantIntent({ status, since, because }: Drift): Record<string, unknown> {
  const conflicts = because.filter(({ code }) => code === 'conflicting_record').map(({ detail }) => detail)
  return {
    drift: { status, since, because: because.map((reason) => ({ ...reason, untrusted: true })) },
    ...(conflicts.length === 0 ? {} : { known_conflicts: conflicts }),
    ...(status === 'contradicted' ? { open_questions: ['Which should change: the code or the record?'] } : {}),
  }
}
