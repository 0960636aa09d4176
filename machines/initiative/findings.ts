/** Findings of an initiative: how they are made, how a reviewer's result becomes one, and how they are consumed. */
import { clipped } from '../clipped.ts'
import { TEXT_LENGTH_MAX } from '../documents/fields.ts'
import { FINDINGS_MAX, type Finding } from '../documents/finding.ts'
import type { Decision } from '../documents/initiative.ts'
import { isSameMember, type Member } from '../documents/member.ts'
import { deriveId } from '../ids.ts'
import type { ItemSettled } from '../work-item/owner.ts'
import type { InitiativeContext, Of, SeenBy } from './context.ts'

type NewFinding = Pick<Of<'record_finding'>, 'finding_id' | 'from' | 'to' | 'kind' | 'text' | 'refs' | 'audit'>

export function findingOf({ name }: Pick<InitiativeContext, 'name'>, given: NewFinding, at: string): Finding {
  const { finding_id, from, to, kind, text, refs, audit } = given
  return {
    id: finding_id,
    finding_id,
    initiative: name,
    from,
    to: [...to],
    kind,
    text,
    refs: [...refs],
    consumed_by: [],
    ...(audit === undefined ? {} : { audit }),
    recorded_at: at,
  }
}

export function withFinding({ findings }: InitiativeContext, finding: Finding): readonly Finding[] {
  return [...findings, finding].slice(-FINDINGS_MAX)
}

/** The recipients of a relay: of the named members, or of all, those who have not had a finding with the same text. */
export function recipientsLeft(
  { members, findings }: InitiativeContext,
  { to = [], text }: Decision,
): readonly Member[] {
  const hasIt = (member: Member): boolean =>
    findings.some((one) => one.text === text && one.to.some((other) => isSameMember(other, member)))
  return (to.length === 0 ? members : to).filter((member) => !hasIt(member))
}

/** What a reviewer's result tells the other members: its gaps, or its diagnosis. Names the cycle and the result. */
export function reviewersFinding(
  { name, members }: Pick<InitiativeContext, 'name' | 'members'>,
  item_id: string,
  { event_id, payload }: NonNullable<ItemSettled['terminal']>,
): NewFinding | undefined {
  const [kind, text] = wordsOf(payload)
  if (text === '') return undefined
  return {
    finding_id: deriveId('find', 'finding', name, event_id),
    from: { kind: 'cycle', id: item_id, event_id },
    to: [...members],
    kind,
    text: clipped(text, TEXT_LENGTH_MAX),
    refs: [],
  }
}

function wordsOf({ verdict, gaps, diagnosis }: Readonly<Record<string, unknown>>): readonly ['gap' | 'defect', string] {
  if (verdict === 'defect') return ['defect', typeof diagnosis === 'string' ? diagnosis.trim() : '']
  const said = verdict === 'remainder' && Array.isArray(gaps) ? gaps.filter((gap) => typeof gap === 'string') : []
  return ['gap', said.join('; ').trim()]
}

/** All findings, with the landing noted on those that the cycle's formation was shown; `now` lists these. */
export function consumed(
  { findings }: InitiativeContext,
  item_id: string,
  { member, finding_ids }: SeenBy,
  at: string,
): { readonly findings: readonly Finding[]; readonly now: readonly Finding[] } {
  const now: Finding[] = []
  const next = findings.map((finding) => {
    const isKnown = finding.consumed_by.some(({ work_item_id }) => work_item_id === item_id)
    if (isKnown || !finding_ids.includes(finding.finding_id)) return finding
    const updated = { ...finding, consumed_by: [...finding.consumed_by, { member, work_item_id: item_id, at }] }
    now.push(updated)
    return updated
  })
  return { findings: next, now }
}
