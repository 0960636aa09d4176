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
      description: 'An error is a fault of the data, a warning is for a person.',
    }),
    code: stringEnum(CODES, { description: 'What was found, in a word.' }),
    detail: Type.String({ description: 'The same in a sentence.' }),
    id: Type.Optional(Type.String({ description: 'The record or hypothesis that it is about.' })),
    key: Type.Optional(Type.String({ description: 'Key of that record.' })),
  },
  { title: 'IntentFinding' },
)

export const intentCheckDocument = Type.Object(
  {
    project: Type.String({ description: 'Key of the project.' }),
    records: Type.Integer({ description: 'Records looked at.' }),
    hypotheses: Type.Integer({ description: 'Hypotheses looked at.' }),
    errors: Type.Integer({ description: 'How many errors there are.' }),
    warnings: Type.Integer({ description: 'How many warnings there are.' }),
    findings: Type.Array(finding, { description: 'The first of them, errors before warnings.' }),
    more: Type.Boolean({ description: 'Whether there are more findings than are listed.' }),
  },
  { title: 'IntentCheck' },
)
