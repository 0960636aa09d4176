/** The schema of a problem for the documents: in answers, and in the last frame of a stream. */
import { count, Type } from '../../machines/schema.ts'
import { PROBLEM_CODES, type ProblemCode } from '../problems.ts'

/** One fault, and where it is. */
export const fieldProblemSchema = Type.Object(
  {
    pointer: Type.String({ description: 'JSON pointer into the body; for the query `/name`.' }),
    detail: Type.String({ description: 'What was wrong there.' }),
  },
  { title: 'FieldProblem' },
)

/** The body of every problem answer (RFC 9457). */
export const problemSchema = Type.Object(
  {
    type: Type.String({ format: 'uri-reference', description: '`/problems/` and the code: a path that tells of it.' }),
    title: Type.String({ description: 'The problem type in a few words.' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    detail: Type.String({ description: 'What was wrong with this request.' }),
    code: Type.Unsafe<ProblemCode>({
      type: 'string',
      enum: [...PROBLEM_CODES],
      description: 'The problem type in a word.',
    }),
    action: Type.String({ description: 'What to do about it.' }),
    retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
    instance: Type.Optional(Type.String({ description: 'The path that was asked for.' })),
    errors: Type.Optional(Type.Array(fieldProblemSchema)),
    state: Type.Optional(Type.String({ description: 'State of the entity.' })),
    allowed: Type.Optional(Type.Array(Type.String(), { description: 'Messages that the entity would take.' })),
    oldest: Type.Optional(Type.String({ description: 'Of a cursor that is refused: the oldest one that works.' })),
    backup: Type.Optional(Type.String({ description: 'Of `backup_running` and `backup_damaged`: its name.' })),
    accepted: Type.Optional(count('Of an ingest that ended early: events recorded until then.')),
    duplicates: Type.Optional(count('Of such an ingest: events that the log already held.')),
    refused_count: Type.Optional(count('Of such an ingest: events that were not taken.')),
  },
  { title: 'Problem', additionalProperties: true },
)
