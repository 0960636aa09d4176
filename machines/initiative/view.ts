/** How an initiative looks from outside: the envelope of its facts, its index rows, and its document. */
import { ASSESSMENTS_SHOWN_MAX, type Initiative } from '../documents/initiative.ts'
import { isSameMember, type Member } from '../documents/member.ts'
import type { FactEnvelope, SnapshotOf, Term } from '../machine.ts'
import type { InitiativeContext, Trigger } from './context.ts'
import { statusOf } from './rules.ts'

export function envelope({ internal }: InitiativeContext): FactEnvelope {
  return internal.envelope
}

/** Why it needs a person, by the most pressing reason; undefined if it does not. */
function attentionOf({ value, context }: SnapshotOf<InitiativeContext>): 'asked' | 'close_proposed' | undefined {
  if (statusOf(value) !== 'active') return undefined
  if (context.questions.length > 0) return 'asked'
  return context.close_proposals.length > 0 ? 'close_proposed' : undefined
}

export function attentionSince({ questions, close_proposals, created_at }: InitiativeContext): string {
  return questions[0]?.at ?? close_proposals[0]?.at ?? created_at
}

/**
 * Whether an agent has assessed since what the failed assessment of that item was about. One that is no longer
 * remembered has many after it.
 */
export function isOvertaken({ assessments }: Pick<InitiativeContext, 'assessments'>, itemId: string): boolean {
  const place = assessments.findIndex(({ item_id }) => item_id === itemId)
  if (place < 0) return assessments.length >= ASSESSMENTS_SHOWN_MAX
  const { member: about } = assessments[place]!
  const isAboutIt = (member: Member | undefined): boolean => member === undefined || isSameMember(member, about)
  return assessments.slice(place + 1).some(({ outcome, member }) => outcome !== 'skipped' && isAboutIt(member))
}

/** `status` with value `active` lists what the steward looks after; it is read when the service starts. */
export function terms(snapshot: SnapshotOf<InitiativeContext>): readonly Term[] {
  const { value, context } = snapshot
  const order = context.created_at
  const rows: Term[] = [
    { index: 'all', value: '', order },
    { index: 'status', value: statusOf(value), order },
  ]
  for (const project of context.projects) rows.push({ index: 'project', value: project, order })
  const attention = attentionOf(snapshot)
  if (attention !== undefined) rows.push({ index: 'attention', value: attention, order: attentionSince(context) })
  return rows
}

export function document({ value, context: c }: SnapshotOf<InitiativeContext>): Initiative {
  const { assessment } = c
  return {
    name: c.name,
    outcome: c.outcome,
    status: statusOf(value),
    ...(c.reason === undefined ? {} : { reason: c.reason }),
    projects: [...c.projects],
    intent_refs: [...c.intent_refs],
    members: [...c.members],
    authorized_by: c.authorized_by,
    budget: c.budget,
    assessments_made: c.assessments_made,
    actions_applied: c.actions_applied,
    ...(assessment === undefined
      ? {}
      : {
          assessment: {
            ...triggerOf(assessment),
            item_id: assessment.item_id,
            phase: assessment.result === undefined ? 'assessing' : 'deciding',
          },
        }),
    waiting: c.waiting.map(triggerOf),
    questions: [...c.questions],
    close_proposals: [...c.close_proposals],
    owner_decisions: [...c.owner_decisions],
    owner_actions: [...c.owner_actions],
    assessments: [...c.assessments],
    actions: [...c.actions],
    findings: [...c.findings],
    created_by: c.created_by,
    created_at: c.created_at,
    ...(c.ended_at === undefined ? {} : { ended_at: c.ended_at }),
  }
}

function triggerOf({ trigger_id, member, follow_up_of, requested_at }: Trigger): Initiative['waiting'][number] {
  return {
    trigger_id,
    ...(member === undefined ? {} : { member }),
    ...(follow_up_of === undefined ? {} : { follow_up_of }),
    requested_at,
  }
}
