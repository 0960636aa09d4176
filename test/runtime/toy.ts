/**
 * A small machine with one of everything that a machine may ask for, to test the runtime without the product's
 * machines.
 */

import { assign, emit, enqueueActions, setup } from 'xstate'
import { projectEnvelope } from '../../machines/envelope.ts'
import {
  declaredActions,
  type MachineModule,
  type Message,
  type MessageBody,
  type SendParams,
  type SnapshotOf,
} from '../../machines/machine.ts'

export interface ToyContext {
  readonly id: string
  readonly count: number
  readonly heard: readonly string[]
}

type ToyMessage = MessageBody & {
  readonly id?: string
  readonly to?: string
  readonly text?: string
  readonly afterMs?: number
  readonly message?: string
}

const toy = setup({
  types: { context: {} as ToyContext, events: {} as Message<ToyMessage>, emitted: {} as { type: string } },
  actions: { ...declaredActions },
  guards: {
    throws: () => {
      throw new Error('a guard that throws')
    },
  },
}).createMachine({
  id: 'toy',
  initial: 'absent',
  context: { id: '', count: 0, heard: [] },
  states: {
    absent: {
      on: {
        create: {
          target: 'on',
          actions: [
            assign({ id: ({ event }) => event.id ?? '' }),
            emit(({ event }) => ({ type: 'toy_created', payload: { id: event.id } })),
          ],
        },
      },
    },
    on: {
      on: {
        bump: {
          actions: [
            assign({ count: ({ context }) => context.count + 1 }),
            emit(({ context }) => ({ type: 'toy_bumped', payload: { count: context.count } })),
          ],
        },
        ring: {
          actions: [
            emit(() => ({ type: 'toy_rang', payload: {} })),
            emit(() => ({ type: 'toy_rang', payload: {} })),
            emit(({ context }) => ({ type: 'toy_heard', payload: { count: context.count } })),
          ],
        },
        record: {
          actions: enqueueActions(({ event, enqueue }) => {
            for (const recorded of event.events ?? []) enqueue.emit({ type: recorded.event_type, recorded } as never)
          }),
        },
        tell: {
          actions: [
            assign({ count: ({ context }) => context.count + 1 }),
            {
              type: 'send',
              params: ({ event }) => {
                const message: ToyMessage = { type: event.message ?? 'hear', text: event.text ?? '' }
                return { to: { kind: 'project', id: event.to ?? '' }, message } as SendParams<any>
              },
            },
          ],
        },
        hear: { actions: assign({ heard: ({ context, event }) => [...context.heard, event.text ?? ''] }) },
        later: {
          actions: {
            type: 'schedule',
            params: ({ event }) => ({
              timer: 'later',
              dueMs: event.atMs + (event.afterMs ?? 0),
              message: { type: event.message ?? 'hear', text: event.text ?? 'timer', afterMs: event.afterMs },
            }),
          },
        },
        never: { actions: { type: 'cancelTimer', params: { timer: 'later' } } },
        break: { guard: 'throws', target: 'off' },
        stop: { target: 'off' },
        sleep: { target: 'dozing' },
      },
    },
    dozing: {
      on: {
        overslept: { target: 'off' },
        wake: { target: 'on' },
        stir: { actions: assign({ count: ({ context }) => context.count + 1 }) },
        watch: { actions: assign({ count: ({ context }) => context.count + 1 }) },
      },
    },
    off: { on: { start: { target: 'on' } } },
  },
})

/** The toy in the place of a product kind, since the kinds are a closed set. */
export const toyModule: MachineModule<ToyContext, ToyMessage> = {
  kind: 'project',
  version: 1,
  machine: toy as never,
  migrations: {},
  internal: ['hear', 'overslept'],
  repeats: (snapshot: SnapshotOf<ToyContext>, message) =>
    message.type === 'create' && snapshot.value !== 'absent' && snapshot.context.id === message.id
      ? 'replay'
      : undefined,
  refusal: (_snapshot, message) =>
    message.type === 'create' ? { code: 'already_exists', detail: 'There is one already.' } : undefined,
  envelope: ({ id }) => projectEnvelope(id),
  terms: ({ value, context }) => [
    { index: 'all', value: '', order: context.id },
    { index: 'state', value, order: context.id },
  ],
  deadlineStates: ['dozing'],
  deadlines: ({ value, context }, { leaseMs }) =>
    value === 'dozing'
      ? [{ name: 'lease', key: context.id, afterMs: leaseMs, renewedBy: ['stir'], message: { type: 'overslept' } }]
      : [],
  testimony: {
    idMember: 'id',
    types: new Set(),
    aspects: () => [],
    claims: () => ({}),
    held: () => ({}),
    madeAt: () => '',
  },
  document: ({ context }) => context,
}
