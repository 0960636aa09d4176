/**
 * What agents used: in one session, and summed for a work item, a campaign, a project. Unmeasured values are absent,
 * never zero, and sums say how many sessions they cover.
 */
import { mapOf, type Static, stringEnum, Type } from '../schema.ts'
import { time } from './fields.ts'

/** What usage is summed by. */
const USAGE_SCOPES = ['item', 'campaign', 'project'] as const
export type UsageScope = (typeof USAGE_SCOPES)[number]

export const tokensByModel = mapOf(
  mapOf(Type.Integer({ minimum: 0 }), 'Counts by kind, such as `input`.'),
  'Tokens by model and kind, as the engine names them. Absent: not measured.',
)
export type TokensByModel = Static<typeof tokensByModel>

export const amounts = mapOf(Type.Number({ minimum: 0 }), 'Amounts by currency. Absent: not measured.')

export const usageDocument = Type.Object(
  {
    scope: stringEnum(USAGE_SCOPES, { description: 'Kind of entity that it sums up.' }),
    ref: Type.String({ description: 'Id of the item, name of the campaign, or key of the project.' }),
    sessions: Type.Integer({ description: 'Number of agent sessions that have ended.' }),
    measured: Type.Integer({
      description: 'Number of those that reported their tokens; the usage of the others is unknown.',
    }),
    priced: Type.Integer({
      description: 'Number of those that reported their cost; the cost of the others is unknown.',
    }),
    tokens: Type.Optional(tokensByModel),
    cost: Type.Optional(amounts),
    cost_basis: Type.Optional(mapOf(Type.Integer(), 'Number of sessions by pricing basis.')),
    updated_at: time('When a session was last added.'),
  },
  { title: 'Usage', description: 'Total usage of an entity’s agent sessions. Unknown usage is not zero.' },
)
export type Usage = Static<typeof usageDocument>
