/**
 * Finds inconsistencies among the records of a project, and what a person should look at. Takes one record after
 * another, so that a project of any size is checked without holding it in memory; linked records are looked up on the
 * way.
 */

import type { IntentCheckCode } from './documents/intent-check.ts'
import type { HypothesisContext } from './hypothesis/context.ts'
import { recordIdOfSlug } from './ids.ts'
import type { IntentRecordContext, Relationship } from './intent-record/context.ts'
import type { SnapshotOf } from './machine.ts'
import { isSlug, recordKey } from './record-key.ts'

/** How many findings are listed per level; all are counted. */
const LISTED_MAX = 500
/** A longer chain of supersessions is not a cycle that anybody made. */
const CHAIN_MAX = 1_000

type Record = SnapshotOf<IntentRecordContext>
type Find = (id: string) => Record | undefined

interface Finding {
  readonly level: 'error' | 'warning'
  readonly code: IntentCheckCode
  readonly detail: string
  readonly id?: string
  readonly key?: string
}

const NOT_ACCEPTED: Readonly<globalThis.Record<string, string>> = {
  hypothesized: 'is only hypothesized',
  proposed: 'is only proposed',
  contradicted: 'was contradicted before anybody accepted it',
  superseded: 'was itself superseded by no other record, before anybody accepted it',
}

/** A record has a drift history from its acceptance on, and keeps it. */
function wasAccepted({ drift_history }: IntentRecordContext): boolean {
  return drift_history.length > 0
}

export class IntentCheck {
  private readonly find: Find
  private readonly project: string
  private readonly listed: { readonly error: Finding[]; readonly warning: Finding[] } = { error: [], warning: [] }
  private readonly counts = { error: 0, warning: 0 }
  /** Records known to be in no cycle, so that a chain is not followed again from each of its records. */
  private readonly endsWell = new Set<string>()
  private records = 0
  private hypotheses = 0

  constructor(project: string, find: Find) {
    this.project = project
    this.find = find
  }

  charter(charter: object | undefined): void {
    if (Object.keys(charter ?? {}).length > 0) return
    this.add({ level: 'warning', code: 'no_charter', detail: 'The project has no charter: say what it is for.' })
  }

  record(record: Record): void {
    this.records += 1
    this.slug(record)
    this.supersession(record)
    for (const relationship of record.context.relationships) this.relationship(record, relationship)
    this.undone(record)
  }

  hypothesis({ value, context }: SnapshotOf<HypothesisContext>): void {
    this.hypotheses += 1
    if (value !== 'accepted') return
    const { id, intent_record_id } = context
    if (this.find(intent_record_id!)?.context.hypothesis_id === id) return
    const detail = `The hypothesis ${id} was accepted, but its record ${intent_record_id} does not exist.`
    this.add({ level: 'error', code: 'hypothesis_without_record', detail, id })
  }

  result() {
    const { project, records, hypotheses, counts, listed } = this
    const findings = [...listed.error, ...listed.warning]
    return {
      project,
      records,
      hypotheses,
      errors: counts.error,
      warnings: counts.warning,
      findings,
      more: findings.length < counts.error + counts.warning,
    }
  }

  /** The id derives from the slug, so a record with another id is a second one with its slug. */
  private slug({ context }: Record): void {
    const { id, slug, project_id } = context
    if (!isSlug(slug)) this.about(context, 'error', 'malformed_slug', `The slug ${slug} is not valid.`)
    else if (recordIdOfSlug(project_id, slug) !== id) {
      this.about(context, 'error', 'duplicate_slug', `The slug ${slug} belongs to another record.`)
    }
  }

  private supersession({ value, context }: Record): void {
    const { id, superseded_by, supersedes } = context
    const heir = superseded_by === undefined ? undefined : this.find(superseded_by)
    if (superseded_by !== undefined && heir?.context.supersedes.includes(id) !== true) {
      const detail = `It was superseded by ${superseded_by}, which does not say so.`
      this.about(context, 'error', 'dangling_supersession', detail)
    } else if (heir !== undefined) this.replacement(context, heir)
    for (const one of supersedes) {
      if (this.find(one)?.context.superseded_by === id) continue
      this.about(context, 'error', 'dangling_supersession', `It supersedes ${one}, which does not say so.`)
    }
    if (value === 'superseded' && this.isInCycle(context)) {
      this.about(
        context,
        'error',
        'supersession_cycle',
        'Its replacements lead back to itself: none of them guides runs.',
      )
    }
  }

  /** If the replacement was itself superseded, by a record nobody accepted, that is reported for the replacement. */
  private replacement(context: IntentRecordContext, { value, context: heir }: Record): void {
    const why = wasAccepted(heir) ? undefined : NOT_ACCEPTED[value]
    if (why === undefined || (value === 'superseded' && heir.superseded_by !== undefined)) return
    const key = recordKey(heir.project, heir.slug)
    const detail = `Nothing guides runs in its place: its replacement ${key} ${why}.`
    this.about(context, 'warning', 'replacement_not_accepted', detail)
  }

  private isInCycle({ id, superseded_by }: IntentRecordContext): boolean {
    const path = new Set([id])
    let next = superseded_by
    while (next !== undefined && !this.endsWell.has(next) && path.size < 2 * CHAIN_MAX) {
      // If the chain leads into a cycle of other records, that is found when those are checked.
      if (path.has(next)) return next === id
      path.add(next)
      next = this.find(next)?.context.superseded_by
    }
    const isWhole = next === undefined || this.endsWell.has(next)
    let known = isWhole ? path.size : CHAIN_MAX
    for (const one of path) if (known-- > 0) this.endsWell.add(one)
    return false
  }

  private relationship({ context }: Record, { type, to }: Relationship): void {
    if (this.find(to) !== undefined) return
    this.about(
      context,
      'error',
      'dangling_relationship',
      `It ${type.replaceAll('_', ' ')} ${to}, which does not exist.`,
    )
  }

  private undone({ value, context }: Record): void {
    if (value === 'hypothesized') {
      this.about(context, 'warning', 'left_hypothesized', 'Nobody has accepted or contradicted it.')
    }
    if (value !== 'accepted' && value !== 'active') return
    if (!context.content.evidence.some(({ required }) => required)) {
      this.about(
        context,
        'warning',
        'no_required_evidence',
        'It guides runs, but has no required evidence to show that it holds.',
      )
    }
    const conflicts = Object.entries(context.drift.conflicts).filter(([, { guiding }]) => guiding)
    for (const [id, { key = id }] of conflicts) {
      this.about(context, 'warning', 'records_in_conflict', `It conflicts with ${key}, and both guide runs.`)
    }
  }

  private about(
    { id, project, slug }: IntentRecordContext,
    level: Finding['level'],
    code: IntentCheckCode,
    detail: string,
  ): void {
    this.add({ level, code, detail, id, key: recordKey(project, slug) })
  }

  private add(finding: Finding): void {
    this.counts[finding.level] += 1
    const { [finding.level]: listed } = this.listed
    if (listed.length < LISTED_MAX) listed.push(finding)
  }
}
