/** Findings (SPEC 6.18): what one member learned and others may use, and who used it. */
import { closedObject, exactlyWith, type Static, stringEnum, Type } from '../schema.ts'
import { CLOSED, LIST_MAX, name, reference, TEXT_LENGTH_MAX, time } from './fields.ts'
import { MEMBERS_MAX, memberSchema, shownMember } from './member.ts'

/** How many findings an initiative keeps, the newest; all of them are in the log. */
export const FINDINGS_MAX = 128

const FINDING_KINDS = ['gap', 'defect', 'relay', 'audit', 'note'] as const
/** Kinds that a caller may record. Reviewers' gaps and diagnoses, and relays, are recorded by the service itself. */
const STATED_KINDS = ['note', 'gap', 'defect', 'audit'] as const

/** The members of an audit (SPEC 6.18). */
const audit = {
  intent_ref: reference('The intent that was audited.'),
  classification: name('Its name in the audit.'),
  project: name('The registered project.'),
  checked_paths: Type.Array(reference('A path.'), { maxItems: LIST_MAX, description: 'What was audited.' }),
  explanation: Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'The reason.' }),
}

const text = Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, pattern: '\\S', description: 'What was found.' })

export const findingBody = closedObject(
  {
    kind: Type.Optional(stringEnum(STATED_KINDS, { description: 'Default `note`.' })),
    text,
    from: Type.Optional(
      Type.Object(
        { kind: name('Kind of source.'), id: name('Id of the source.') },
        { ...CLOSED, description: 'The source of the finding. Default: the person who records it.' },
      ),
    ),
    to: Type.Optional(
      Type.Array(memberSchema('A member.'), {
        maxItems: MEMBERS_MAX,
        description: 'Members that it is for. Default: all.',
      }),
    ),
    refs: Type.Optional(
      Type.Array(reference('A reference.'), {
        maxItems: LIST_MAX,
        description: 'References to where it can be looked up.',
      }),
    ),
    audit: Type.Optional(
      closedObject(audit, { description: 'Required for an audit finding: what the audit covered.' }),
    ),
  },
  { title: 'FindingRecord', rules: [exactlyWith('kind', ['audit'], 'audit')] },
)
export type FindingBody = Static<typeof findingBody>

/** A finding as stored, served, and stated in `finding_recorded`. */
export const finding = Type.Object(
  {
    id: Type.String({ description: 'Its id.' }),
    finding_id: Type.String({ description: 'The same id, as `finding_consumed` names it.' }),
    initiative: Type.String({ description: 'The initiative that it belongs to.' }),
    from: Type.Object(
      {
        kind: Type.String({ description: 'Kind of source.' }),
        id: Type.String({ description: 'Id of the source.' }),
        event_id: Type.Optional(Type.String({ description: 'For a reviewer’s finding: the result that states it.' })),
      },
      { description: 'The source.' },
    ),
    to: Type.Array(shownMember, { description: 'Members that it is for.' }),
    kind: stringEnum(FINDING_KINDS, { description: 'The kind of finding.' }),
    text: Type.String({ description: 'What was found.' }),
    refs: Type.Array(Type.String(), { description: 'References to where it can be looked up.' }),
    consumed_by: Type.Array(
      Type.Object({
        member: shownMember,
        work_item_id: Type.String({ description: 'The cycle that landed.' }),
        at: time('When.'),
      }),
      { description: 'Cycles that landed after their formation saw it.' },
    ),
    audit: Type.Optional(
      Type.Object(
        {
          intent_ref: Type.Optional(audit.intent_ref),
          classification: Type.Optional(audit.classification),
          project: Type.Optional(audit.project),
          checked_paths: Type.Optional(audit.checked_paths),
          explanation: Type.Optional(audit.explanation),
        },
        { description: 'What the audit covered. Members may be missing in findings recorded by an earlier version.' },
      ),
    ),
    recorded_at: time('When it was recorded.'),
  },
  { title: 'Finding' },
)
export type Finding = Static<typeof finding>
