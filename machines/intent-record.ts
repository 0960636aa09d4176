/**
 * The intent record: something a project means to keep, from a hypothesis to a rule that guides runs, and what was
 * observed about it. Its id derives from project and slug, so that a slug is given once; a terminal state is never
 * left; a link between two records is decided in one step of one of them, which tells the other by message.
 */
import { assign, emit } from 'xstate'
import { decidedOtherwise, givesOtherReason } from './decision-repeats.ts'
import type { IntentState } from './documents/intent-record.ts'
import { isKnown } from './drift/state.ts'
import { exceededSince } from './drift/status.ts'
import * as changes from './intent-record/changes.ts'
import type { IntentRecordBody, IntentRecordContext, IntentRecordMessage, Moves, Of } from './intent-record/context.ts'
import * as facts from './intent-record/facts.ts'
import { notifications, relationshipOf } from './intent-record/notify.ts'
import * as rules from './intent-record/rules.ts'
import { intentRecordTestimony } from './intent-record/testimony.ts'
import { document, envelope, terms } from './intent-record/view.ts'
import { type MachineModule, type Refusal, type SnapshotOf, UNCHANGED } from './machine.ts'
import { creationRefusal, creationRepeat } from './repeated-create.ts'

type Context = IntentRecordContext

const machineSetup = notifications.extend({
  guards: {
    isGuess: ({ event }) => (event as Of<'create'>).state === 'hypothesized',
    isVersionRead: ({ context, event }) => rules.isVersionRead(context, event as Of<Moves>),
    mayUpdate: ({ context, event }) => rules.whyNotUpdate(context, event as Of<'update'>) === undefined,
    mayRewrite: ({ context, event }) =>
      (event as Of<'update'>).may_rewrite && rules.whyNotUpdate(context, event as Of<'update'>) === undefined,
    maySupersede: ({ context, event }) =>
      rules.whyNotReplacedBy(context, event as Of<'supersede'>) === undefined &&
      rules.isVersionRead(context, event as Of<'supersede'>),
    mayRelate: ({ context, event }) => rules.whyNotRelate(context, event as Of<'relate'>) === undefined,
    mayUnrelate: ({ context, event }) => rules.whyNotUnrelate(context, event as Of<'unrelate'>) === undefined,
    ofItsProject: ({ context, event }) => (event as Of<'observe'>).project === context.project,
    mayClassify: ({ context, event }) => rules.whyNotClassify(context, event as Of<'classify'>) === undefined,
  },
  actions: {
    create: assign(({ event }) => changes.created(event as Of<'create'>)),
    update: assign(({ context, event }) => changes.updated(context, event as Of<'update'>)),
    move: assign(({ event }) => changes.moved(event)),
    supersede: assign(({ event }) => changes.superseded(event as Of<'supersede'>)),
    takePlace: assign(({ context, event }) => ({
      supersedes: [...context.supersedes, (event as Of<'take_place'>).of],
    })),
    relate: assign(({ context, event }) => changes.related(context, event as Of<'relate'>)),
    unrelate: assign(({ context, event }) => changes.unrelated(context, event as Of<'unrelate'>)),
    hearPeer: assign(({ context, event }) => changes.peerHeard(context, event as Of<'peer_conflict'>)),
    observe: assign(({ context, event }) => changes.observed(context, event as Of<'observe'>)),
    classify: assign(({ context, event }) => changes.classified(context, event as Of<'classify'>)),
    noteRepair: assign(({ context, event }) => changes.repairDrafted(context, event as Of<'repair_drafted'>)),
    restateDrift: assign(({ context, event }) => changes.driftRestated(context, event)),
    retire: assign(({ context }) => changes.retired(context)),
    touch: assign(() => UNCHANGED),

    emitCreated: emit(({ context }, { state }: { state: IntentState }) => facts.created(context, state)),
    emitMoved: emit(({ context }, { state }: { state: facts.Reached }) => facts.moved(context, state)),
    /** Runs before the change that it reports. */
    emitUpdated: emit(({ context, event }, { state }: { state: IntentState }) =>
      facts.updated(context, event as Of<'update'>, state),
    ),
    emitRelated: emit(({ context, event }, { state }: { state: IntentState }) =>
      facts.related(context, event as Of<'relate'>, state),
    ),
    /** Runs before the relationship is removed. */
    emitUnrelated: emit(({ context, event }, { state }: { state: IntentState }) =>
      facts.unrelated(context, relationshipOf(context, event as Of<'unrelate'>)!, state),
    ),
    emitTookPlace: emit(({ context, event }, { state }: { state: IntentState }) =>
      facts.tookPlace(context, (event as Of<'take_place'>).of, state),
    ),
    emitClassified: emit(({ context, event }) => facts.classified(context, event as Of<'classify'>)),
  },
})

const inState = (state: IntentState) => ({ state })

/** Actions that follow a move that may change the drift of a record that guides runs. */
function driftOf(state: IntentState) {
  if (!isGuiding(state)) return []
  return ['restateDrift', state === 'accepted' ? 'emitDriftAccepted' : 'emitDriftActive'] as const
}

/** What a record takes in every state: observations concern the past, and other records speak of themselves. */
function inEveryState(state: IntentState) {
  const drift = driftOf(state)
  return {
    make: { actions: ['touch', 'sayTaken'] },
    take_place: { actions: ['takePlace', { type: 'emitTookPlace', params: inState(state) }] },
    observe: { guard: 'ofItsProject', actions: ['observe', ...drift] },
    peer_conflict: { actions: ['hearPeer', ...drift, 'answerPeer'] },
  } as const
}

/** What a record takes until it is deprecated, contradicted or superseded. */
function open(state: IntentState) {
  const guiding = isGuiding(state)
  const drift = driftOf(state)
  return {
    ...inEveryState(state),
    update: {
      guard: guiding ? 'mayRewrite' : 'mayUpdate',
      actions: [{ type: 'emitUpdated', params: inState(state) }, 'update', ...drift],
    },
    relate: {
      guard: 'mayRelate',
      actions: ['relate', { type: 'emitRelated', params: inState(state) }, ...drift, 'declareConflict'],
    },
    unrelate: {
      guard: 'mayUnrelate',
      actions: [{ type: 'emitUnrelated', params: inState(state) }, 'withdrawConflict', 'unrelate', ...drift],
    },
  } as const
}

/** What only a record that guides runs takes: no other record has a drift. */
function guidingOnly(state: IntentState) {
  return {
    classify: { guard: 'mayClassify', actions: ['classify', 'emitClassified', ...driftOf(state)] },
    repair_drafted: { actions: 'noteRepair' },
  } as const
}

/** Moves to the states in which a record no longer guides anything. */
function endings(state: IntentState) {
  const leave = isGuiding(state) ? (['retire', 'tellPeers'] as const) : ([] as const)
  return {
    contradict: {
      guard: 'isVersionRead',
      target: 'contradicted',
      actions: ['move', ...leave, emitMoved('contradicted')],
    },
    supersede: {
      guard: 'maySupersede',
      target: 'superseded',
      actions: ['supersede', ...leave, emitMoved('superseded'), 'tellReplacement'],
    },
  } as const
}

const leaveForDeprecated = {
  guard: 'isVersionRead',
  target: 'deprecated',
  actions: ['move', 'retire', 'tellPeers', emitMoved('deprecated')],
} as const

const accept = {
  guard: 'isVersionRead',
  target: 'accepted',
  actions: ['move', emitMoved('accepted'), ...driftOf('accepted'), 'tellPeers'],
} as const

function emitMoved<const S extends facts.Reached>(state: S) {
  return { type: 'emitMoved', params: { state } } as const
}

export function isGuiding(state: string): boolean {
  return state === 'accepted' || state === 'active'
}

export const intentRecordMachine = machineSetup.createMachine({
  id: 'intent_record',
  initial: 'absent',
  context: {} as Context,
  states: {
    absent: {
      on: {
        create: [
          {
            guard: 'isGuess',
            target: 'hypothesized',
            actions: ['create', { type: 'emitCreated', params: inState('hypothesized') }],
          },
          { target: 'proposed', actions: ['create', { type: 'emitCreated', params: inState('proposed') }] },
        ],
        make: {
          target: 'accepted',
          actions: [
            'create',
            { type: 'emitCreated', params: inState('accepted') },
            emitMoved('accepted'),
            ...driftOf('accepted'),
          ],
        },
      },
    },
    hypothesized: { on: { ...open('hypothesized'), accept, ...endings('hypothesized') } },
    proposed: { on: { ...open('proposed'), accept, ...endings('proposed') } },
    accepted: {
      on: {
        ...open('accepted'),
        ...guidingOnly('accepted'),
        activate: { guard: 'isVersionRead', target: 'active', actions: ['move', emitMoved('active')] },
        deprecate: leaveForDeprecated,
        ...endings('accepted'),
      },
    },
    active: {
      on: { ...open('active'), ...guidingOnly('active'), deprecate: leaveForDeprecated, ...endings('active') },
    },
    deprecated: { on: { ...inEveryState('deprecated'), ...endings('deprecated') } },
    contradicted: { on: inEveryState('contradicted') },
    superseded: { on: inEveryState('superseded') },
  },
})

const REACHED: Readonly<Record<string, IntentState>> = {
  accept: 'accepted',
  activate: 'active',
  deprecate: 'deprecated',
  contradict: 'contradicted',
}

function hasReached(
  value: string,
  message: IntentRecordMessage,
): message is Of<'accept' | 'activate' | 'deprecate' | 'contradict'> {
  return REACHED[message.type] === value
}

/** Whether the move repeats the earlier one: the same reason, for this version. */
function isSaidAgain(context: Context, message: Of<Moves>): boolean {
  return !givesOtherReason(context.reason, message) && rules.isVersionRead(context, message)
}

/** A word for a message that repeats one taken before and would change nothing. */
function repeats({ value, context }: SnapshotOf<Context>, message: IntentRecordMessage): string | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRepeat(context.internal.creation, message)
    case 'make':
      return message.hypothesis_id === context.hypothesis_id ? 'replay' : undefined
    case 'update':
      return changes.evidenceFaults(context, message).length === 0 && changes.changedBy(context, message).length === 0
        ? 'unchanged'
        : undefined
    case 'supersede':
      if (value !== 'superseded' || message.replacement !== context.superseded_by) return undefined
      return isSaidAgain(context, message) ? 'already_superseded' : undefined
    case 'take_place':
      return context.supersedes.includes(message.of) ? 'already_taken' : undefined
    case 'observe':
      return isKnown(context.drift, message.observation) ? 'already_recorded' : undefined
    case 'relate': {
      const { relation, to, notes } = message
      const isSame = (one: Context['relationships'][number]) =>
        one.type === relation && one.to === to && one.notes === notes
      return context.relationships.some(isSame) ? 'already_related' : undefined
    }
    case 'classify': {
      const said = context.drift.classification
      const isSame =
        said !== undefined &&
        message.classification === said.classification &&
        message.reason === said.reason &&
        message.review_at === said.review_at &&
        exceededSince(said, changes.subjectOf(context)) === undefined
      return isSame ? 'unchanged' : undefined
    }
    case 'repair_drafted':
      return context.drift.repair_brief_id === message.formation_brief_id ? 'already_recorded' : undefined
    default:
      return hasReached(value, message) && isSaidAgain(context, message) ? `already_${value}` : undefined
  }
}

function refusal({ value, context }: SnapshotOf<Context>, message: IntentRecordMessage): Refusal | undefined {
  if (value === 'absent') return undefined
  switch (message.type) {
    case 'create':
      return creationRefusal(context.internal.creation, message, { what: 'intent record', isIdFromKey: false })
    case 'update': {
      const isOpen = ['hypothesized', 'proposed', 'accepted', 'active'].includes(value)
      if (!isOpen) return undefined
      const needsRight = isGuiding(value) && !message.may_rewrite
      return needsRight
        ? { code: 'forbidden', detail: `the record is ${value}: changing it also needs the right intent.accept` }
        : rules.whyNotUpdate(context, message)
    }
    case 'classify':
      return isGuiding(value) ? rules.whyNotClassify(context, message) : undefined
    case 'supersede': {
      const isItself = message.replacement === context.id
      const why = isItself || takes(value, message) ? rules.whyNotReplacedBy(context, message) : undefined
      const isReached = value === 'superseded' && message.replacement === context.superseded_by
      return why ?? whyNotMove(value, context, message, isReached)
    }
    case 'relate':
      return rules.whyNotRelate(context, message)
    case 'unrelate':
      return rules.whyNotUnrelate(context, message)
    case 'accept':
    case 'activate':
    case 'deprecate':
    case 'contradict':
      return whyNotMove(value, context, message, hasReached(value, message))
    default:
      return undefined
  }
}

function takes(value: string, { type }: Of<Moves>): boolean {
  return intentRecordMachine.states[value]!.transitions.has(type)
}

/** A state that does not allow the move is reported before a wrong version is (RFC 9110 section 13.2.1). */
function whyNotMove(value: string, context: Context, message: Of<Moves>, isReached: boolean): Refusal | undefined {
  if (isReached && givesOtherReason(context.reason, message)) return decidedOtherwise(value, context.reason)
  return (isReached || takes(value, message)) && !rules.isVersionRead(context, message)
    ? rules.notRead(context, message)
    : undefined
}

export const intentRecordModule: MachineModule<Context, IntentRecordBody> = {
  kind: 'intent_record',
  version: 4,
  machine: intentRecordMachine,
  migrations: {
    // 2: indexes a record without paths under the whole repository.
    1: (snapshot) => snapshot,
    // 3: refuses more.
    2: (snapshot) => snapshot,
    // 4: indexes a path containing `..` under what it resolves to.
    3: (snapshot) => snapshot,
  },
  internal: ['make', 'take_place', 'peer_conflict', 'observe', 'repair_drafted'],
  repeats,
  refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony: intentRecordTestimony,
  document,
}
