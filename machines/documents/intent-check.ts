/** The integrity check of a project's intent: what is inconsistent, and what is left undone. */
import { stringEnum, Type } from '../schema.ts'

const CODES = [
  'malformed_slug',
  'duplicate_slug',
  'dangling_supersession',
  'supersession_cycle',
  'dangling_relationship',
  'hypothesis_without_record',
  'no_charter',
  'left_hypothesized',
  'no_required_evidence',
  'records_in_conflict',
  'replacement_not_accepted',
] as const
export type IntentCheckCode = (typeof CODES)[number]

const finding = Type.Object(
  {
    level: stringEnum(['error', 'warning'], {
      description: 'An error is a fault in the data; a warning is for a person to resolve.',
    }),
    code: stringEnum(CODES, { description: 'Code of the finding.' }),
    detail: Type.String({ description: 'The finding in a sentence.' }),
    id: Type.Optional(Type.String({ description: 'The record or hypothesis that it is about.' })),
    key: Type.Optional(Type.String({ description: 'Key of that record.' })),
  },
  { title: 'IntentFinding' },
)

export const intentCheckDocument = Type.Object(
  {
    project: Type.String({ description: 'Key of the project.' }),
    records: Type.Integer({ description: 'Number of records checked.' }),
    hypotheses: Type.Integer({ description: 'Number of hypotheses checked.' }),
    errors: Type.Integer({ description: 'Number of errors.' }),
    warnings: Type.Integer({ description: 'Number of warnings.' }),
    findings: Type.Array(finding, { description: 'The first findings, errors before warnings.' }),
    more: Type.Boolean({ description: 'Whether there are more findings than listed.' }),
  },
  { title: 'IntentCheck' },
)
