/** The schema of a problem for the documents: in answers, and in the last frame of a stream. */
import { count, Type } from '../../machines/schema.ts'
import { PROBLEM_CODES, type ProblemCode } from '../problems.ts'

/** One fault, and where it is. */
export const fieldProblemSchema = Type.Object(
  {
    pointer: Type.String({ description: 'JSON pointer into the body; for a query parameter, `/name`.' }),
    detail: Type.String({ description: 'What is wrong there.' }),
  },
  { title: 'FieldProblem' },
)

/** The body of every problem answer (RFC 9457). */
export const problemSchema = Type.Object(
  {
    type: Type.String({
      format: 'uri-reference',
      description: '`/problems/` and the code: a path that describes the problem type.',
    }),
    title: Type.String({ description: 'Short summary of the problem type.' }),
    status: Type.Integer({ description: 'HTTP status.' }),
    detail: Type.String({ description: 'What is wrong with this request.' }),
    code: Type.Unsafe<ProblemCode>({
      type: 'string',
      enum: [...PROBLEM_CODES],
      description: 'Machine-readable code of the problem type.',
    }),
    action: Type.String({ description: 'What to do about it.' }),
    retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
    instance: Type.Optional(Type.String({ description: 'The requested path.' })),
    errors: Type.Optional(Type.Array(fieldProblemSchema)),
    state: Type.Optional(Type.String({ description: 'Current state of the entity.' })),
    allowed: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Moves that the entity accepts in that state: the last part of their path, or `update`, `archive`, `unarchive` ' +
          '(PATCH), `remove`, `revoke` (DELETE), `record` (POST).',
      }),
    ),
    oldest: Type.Optional(
      Type.String({ description: 'With a refused cursor: the oldest cursor that can be resumed from.' }),
    ),
    backup: Type.Optional(
      Type.String({ description: 'With `backup_running` and `backup_damaged`: the name of the backup.' }),
    ),
    accepted: Type.Optional(count('With an ingest that ended early: events recorded until then.')),
    duplicates: Type.Optional(count('With an ingest that ended early: events that the log already held.')),
    refused_count: Type.Optional(count('With an ingest that ended early: events that were rejected.')),
  },
  { title: 'Problem', additionalProperties: true },
)
