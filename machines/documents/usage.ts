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
    scope: stringEnum(USAGE_SCOPES, { description: 'What it is the sum of.' }),
    ref: Type.String({ description: 'Id of the item, name of the campaign, key of the project.' }),
    sessions: Type.Integer({ description: 'Agent sessions that have ended.' }),
    measured: Type.Integer({ description: 'Those that told what they used; the rest is unknown.' }),
    priced: Type.Integer({ description: 'Those that told what they cost; the rest is unknown.' }),
    tokens: Type.Optional(tokensByModel),
    cost: Type.Optional(amounts),
    cost_basis: Type.Optional(mapOf(Type.Integer(), 'How many sessions were priced on which basis.')),
    updated_at: time('When a session was last added.'),
  },
  { title: 'Usage', description: 'What the agent sessions of something used, summed. What is unknown is not zero.' },
)
export type Usage = Static<typeof usageDocument>
