/**
 * What the agent sessions of a work item, a campaign or a project used, summed as they end, so that a read costs the
 * same however many there were. Invariant: each session is counted once, and unmeasured values are added to nothing.
 */
import { assign, setup } from 'xstate'
import type { Usage, UsageScope } from './documents/usage.ts'
import { SYSTEM_ENVELOPE } from './envelope.ts'
import {
  type ActorRef,
  declaredActions,
  type Fact,
  type MachineModule,
  type Message,
  type MessageBody,
  type SendParams,
  type SnapshotOf,
  type Term,
} from './machine.ts'
import { added, amountsOf, type Measured, plus } from './usage/measure.ts'

export interface UsageContext {
  readonly scope: UsageScope
  readonly ref: string
  readonly sessions: number
  readonly measured: number
  readonly priced: number
  readonly tokens?: NonNullable<Measured['tokens']>
  readonly micros?: NonNullable<Measured['micros']>
  readonly bases?: Readonly<Record<string, number>>
  readonly first_at: string
  readonly updated_at: string
}

interface OfSession extends MessageBody {
  readonly scope: UsageScope
  readonly ref: string
  readonly measured: Measured
}

/** A session has ended. */
interface AddSession extends OfSession {
  readonly type: 'add'
}

/** A session that was added as interrupted has reported its usage after all. */
interface AmendSession extends OfSession {
  readonly type: 'amend'
}

export type UsageBody = AddSession | AmendSession
type UsageMessage = Message<UsageBody>

export function usageRef(scope: UsageScope, ref: string): ActorRef<'usage'> {
  return { kind: 'usage', id: `${scope}:${ref}` }
}

/** The message for a session that has ended; `amend` if it was counted before as one that reported nothing. */
export function usageNews(type: UsageBody['type'], scope: UsageScope, ref: string, measured: Measured): SendParams {
  return { to: usageRef(scope, ref), message: { type, scope, ref, measured } }
}

function summed(context: Partial<UsageContext>, message: UsageMessage): UsageContext {
  const { type, scope, ref, measured, at } = message
  const { tokens, micros, basis } = measured
  const { sessions = 0, measured: known = 0, priced = 0, first_at = at } = context
  return {
    ...context,
    scope,
    ref,
    sessions: sessions + (type === 'add' ? 1 : 0),
    measured: known + (tokens === undefined ? 0 : 1),
    priced: priced + (micros === undefined ? 0 : 1),
    ...(tokens === undefined ? {} : { tokens: plus(context.tokens, tokens) }),
    ...(micros === undefined ? {} : { micros: added(context.micros ?? {}, micros) }),
    ...(basis === undefined ? {} : { bases: added(context.bases ?? {}, { [basis]: 1 }) }),
    first_at,
    updated_at: at,
  }
}

const machineSetup = setup({
  types: { context: {} as UsageContext, events: {} as UsageMessage, emitted: {} as Fact },
  actions: {
    ...declaredActions,
    sum: assign(({ context, event }) => summed(context, event)),
  },
})

const usageMachine = machineSetup.createMachine({
  id: 'usage',
  initial: 'absent',
  context: {} as UsageContext,
  states: {
    absent: { on: { add: { target: 'kept', actions: 'sum' }, amend: { target: 'kept', actions: 'sum' } } },
    kept: { on: { add: { actions: 'sum' }, amend: { actions: 'sum' } } },
  },
})

function terms({ context: { scope, first_at } }: SnapshotOf<UsageContext>): readonly Term[] {
  return [{ index: 'scope', value: scope, order: first_at }]
}

function document({ context }: SnapshotOf<UsageContext>): Usage {
  const { scope, ref, sessions, measured, priced, tokens, micros, bases, updated_at } = context
  return {
    scope,
    ref,
    sessions,
    measured,
    priced,
    ...(tokens === undefined ? {} : { tokens: { ...tokens } }),
    ...(micros === undefined ? {} : { cost: amountsOf(micros) }),
    ...(bases === undefined ? {} : { cost_basis: { ...bases } }),
    updated_at,
  }
}

export const usageModule: MachineModule<UsageContext, UsageBody> = {
  kind: 'usage',
  version: 1,
  machine: usageMachine,
  migrations: {},
  internal: ['add', 'amend'],
  repeats: () => undefined,
  refusal: () => undefined,
  envelope: () => SYSTEM_ENVELOPE,
  terms,
  // Sums of campaigns and projects are kept forever, those of items as long as the item (runtime/entities/
  // agent-sessions.ts), and until retention has passed since their last addition.
  retirement: {
    index: 'scope',
    values: ['item'],
    at: ({ context: { scope, updated_at } }) => (scope === 'item' ? updated_at : undefined),
  },
  deadlineStates: [],
  deadlines: () => [],
  // It states nothing: the events that it sums are the engines'.
  testimony: { types: new Set(), aspects: () => [], claims: () => ({}), held: () => ({}), madeAt: () => undefined },
  document,
}
