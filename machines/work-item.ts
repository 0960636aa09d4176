/**
 * The work item (SPEC 3.1): one unit of work in the ledger, from its submission until nothing is owed for it.
 * Invariants: it is handed out as at most one run request at a time, and settled only through that one; a settled item
 * moves only by an owner or by work that continues it; `landed` and `cancelled` are final.
 */
import { assign, emit, setup } from 'xstate'
import type { SettledState, WorkItemState } from './documents/work-item.ts'
import { declaredActions, type Fact, type MachineModule } from './machine.ts'
import type { Of, WorkItemBody, WorkItemContext, WorkItemMessage } from './work-item/context.ts'
import { itemFact } from './work-item/facts.ts'
import * as moves from './work-item/moves.ts'
import { isForOwner, tellOwner, tellReported, tellStarted } from './work-item/owner.ts'
import * as rules from './work-item/rules.ts'
import { workItemTestimony } from './work-item/testimony.ts'
import { toVersion8 } from './work-item/upgrade.ts'
import { document, envelope, retirement, terms } from './work-item/view.ts'

interface Step {
  readonly context: WorkItemContext
  readonly event: WorkItemMessage
}

interface At {
  readonly state: WorkItemState
}

const machineSetup = setup({
  types: { context: {} as WorkItemContext, events: {} as WorkItemMessage, emitted: {} as Fact },
  guards: {
    hasReason: ({ event }) => (event as Of<'create'>).reason !== undefined,
    mayHandOut: ({ context }) => rules.mayHandOut(context),
    isTakenBack: ({ context, event }) => rules.isTakenBack(context, event),
    landsTakenBack: ({ context, event }) => rules.landsTakenBack(context, event),
    handedOut: ({ context }) => rules.isHandedOut(context),
    blocked: ({ context, event }) => rules.isBlockedBy(context, event as Of<'block'>),
    neverStarted: ({ context }) => rules.neverStarted(context),
    ofRun: ({ context, event }) => rules.isOfRun(context, event),
    ownerDecides: ({ context, event }) => rules.isOfRun(context, event) && isForOwner(context),
    tellsOfSync: ({ context, event }) => rules.tellsOfSync(context, event as Of<'run_event'>),
    tellsOfOutage: ({ context, event }) => rules.tellsOfOutage(context, event as Of<'run_event'>),
    tellsOfProvider: ({ context, event }) => rules.tellsOfProvider(context, event as Of<'run_event'>),
    isResultOfStopped: ({ context, event }) => rules.isResultOfStopped(context, event as Of<'run_event'>),
    landsByEvent: ({ context, event }) => rules.settlesAs(context, event, 'landed'),
    preservesByEvent: ({ context, event }) => rules.settlesAs(context, event, 'preserved'),
    asksByEvent: ({ context, event }) => rules.settlesAs(context, event, 'needs_decision'),
    awaitsEnd: ({ context, event }) => rules.awaitsEnd(context, event),
    endsWithResult: ({ context, event }) => rules.endsWithResult(context, event),
    failsByEvent: ({ context, event }) => rules.settlesAs(context, event, 'failed'),
    stoppedAsAsked: ({ context, event }) => rules.isOfRun(context, event) && context.internal.stopping,
    stoppedByPerson: ({ context, event }) =>
      rules.isOfRun(context, event) &&
      rules.isStopped(event as Of<'run_ended'>) &&
      (event as Of<'run_ended'>).stopped_by !== undefined,
    stopped: ({ context, event }) => rules.isOfRun(context, event) && rules.isStopped(event as Of<'run_ended'>),
    asksForMore: ({ context, event }) => rules.asksForMore(context, event as Of<'cancel'>),
    keepsWork: ({ context }) => rules.keepsWork(context),
    resumable: ({ context }) => rules.mayResume(context),
    landedElsewhere: ({ context, event }) =>
      rules.isResumption(context, event as Of<'resumption_settled'>) &&
      (event as Of<'resumption_settled'>).state === 'landed',
    isResumption: ({ context, event }) => rules.isResumption(context, event as Of<'resumption_settled'>),
    settlesLanded: ({ event }) => (event as Of<'settle'>).state === 'landed',
    settlesCancelled: ({ event }) => (event as Of<'settle'>).state === 'cancelled',
  },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => moves.create(event as Of<'create'>)),
    admit: assign(({ event }) => moves.admit(event as Of<'admit'>)),
    handOut: assign(({ context, event }) => moves.handOut(context, event as Of<'hand_out'>)),
    /** Runs before the move it belongs to: it records the state in which the owner found the item. */
    operate: assign(({ context, event }, { state }: At) => moves.operate(context, event as Of<'hold'>, state)),
    hold: assign(({ context, event }) => moves.hold(context, event as Of<'hold'>)),
    waitInQueue: assign(({ context, event }) => moves.waitInQueue(context, event as Of<'take_back'>)),
    takeBack: assign(({ context }) => moves.takeBack(context)),
    forgetTakenBack: assign(({ context }) => moves.forgetTakenBack(context)),
    release: assign(({ context, event }) => moves.release(context, event as Of<'release'>)),
    cancelled: assign(({ event }) => moves.cancelled(event as Of<'cancel'>)),
    closed: assign(({ event }) => moves.closed(event as Of<'close'>)),
    stopping: assign(({ context, event }) => moves.stopping(context, event as Of<'cancel'>)),
    begin: assign(({ context, event }) => moves.begin(context, event as Of<'run_started'>)),
    lose: assign(({ context, event }) => moves.lose(context, event as Of<'run_lost'>)),
    waitAgain: assign(({ context, event }) => moves.waitAgain(context, event as Of<'run_requeued'>)),
    settleByEvent: assign(({ context, event }) => moves.settleByEvent(context, event as Of<'run_event'>)),
    awaitEnd: assign(({ context, event }) => moves.awaitEnd(context, event as Of<'run_event'>)),
    settleByAwaited: assign(({ context, event }) => moves.settleByAwaited(context, event as Of<'run_ended'>)),
    noteResult: assign(({ context, event }) => moves.noteResult(context, event as Of<'run_event'>)),
    report: assign(({ context }) => moves.report(context)),
    noteSync: assign(({ context, event }) => moves.noteSync(context, event as Of<'run_event'>)),
    noteProvider: assign(({ context, event }) => moves.noteProvider(context, event as Of<'run_event'>)),
    settleByEnd: assign(({ context, event }) => moves.settleByEnd(context, event as Of<'run_ended'>)),
    stopped: assign(({ context, event }) => moves.stopped(context, event as Of<'run_ended'>)),
    settle: assign(({ event }) => moves.settle(event as Of<'settle'>)),
    resume: assign(({ context, event }) => moves.resume(context, event as Of<'resume'>)),
    noteResumption: assign(({ context, event }) => moves.noteResumption(context, event as Of<'resumption_settled'>)),
    recordResumption: assign(({ context, event }) =>
      moves.recordResumption(context, event as Of<'resumption_settled'>),
    ),
    supersede: assign(({ event }) => moves.supersede(event as Of<'superseded'>)),
    landByResumption: assign(({ context, event }) =>
      moves.landByResumption(context, event as Of<'resumption_settled'>),
    ),
    landBySupersession: assign(({ context, event }) => moves.landBySupersession(context, event as Of<'superseded'>)),

    emitSubmitted: emit(({ context }) => itemFact('work_item_submitted', context, 'queued')),
    emitStarted: emit(({ context }) => itemFact('work_item_started', context, 'running')),
    emitHeld: emit(({ context }) => itemFact('work_item_held', context, 'held')),
    emitReleased: emit(({ context }) => itemFact('work_item_released', context, 'queued')),
    emitSettled: emit(({ context }, { state }: At) => itemFact('work_item_settled', context, state)),
    emitCancelled: emit(({ context }) => itemFact('work_item_cancelled', context, 'cancelled')),
  },
})

const createRun = { type: 'send' as const, params: ({ event }: Step) => moves.createRun(event as Of<'hand_out'>) }
const createChild = { type: 'send' as const, params: ({ event }: Step) => moves.createChild(event as Of<'resume'>) }
/** Tells the item that continues this work that it is superseded: it is cancelled unless a runner has begun it. */
const passOn = {
  type: 'send' as const,
  params: ({ context, event }: Step) => moves.passOn(context, event as Of<'superseded'>),
}
/** Runs before the move it belongs to, which may drop the run from the context. */
const withdraw = {
  type: 'send' as const,
  params: ({ context, event }: Step) => moves.cancelRun(context, event),
}

const operate = (state: WorkItemState) => ({ type: 'operate' as const, params: { state } })
/** Tells the item whose work this one continues how this one ended. */
const tell = (state: SettledState) => ({
  type: 'send' as const,
  params: ({ context, event }: Step) => moves.tellResumed(context, event, state),
})
const tellWhoOpened = (state: SettledState) => ({
  type: 'send' as const,
  params: ({ context, event }: Step) => tellOwner(context, event, state),
})
const begun = { type: 'send' as const, params: ({ context }: Step) => tellStarted(context) }
const reported = {
  type: 'send' as const,
  params: ({ context, event }: Step) => tellReported(context, event as Of<'run_ended'>),
}
/** An end that no person brought about, even if one had asked for a stop. */
const settled = (state: SettledState) =>
  [{ type: 'emitSettled' as const, params: { state } }, tell(state), tellWhoOpened(state)] as const
/** An end that a person brought about. */
const ended = ['emitCancelled', tell('cancelled'), tellWhoOpened('cancelled')] as const

/** Cancelled by an owner while nothing runs. */
const stop = (state: WorkItemState) =>
  ({ target: 'cancelled', actions: [withdraw, 'takeBack', operate(state), 'cancelled', ...ended] }) as const
/** Cancelled by an owner after it has settled: there is no run left to stop. */
const giveUp = (state: WorkItemState) =>
  ({ target: 'cancelled', actions: [operate(state), 'cancelled', ...ended] }) as const
const close = (state: WorkItemState) =>
  ({ target: 'cancelled', actions: [operate(state), 'closed', ...ended] }) as const
/** Settled by the campaign or the initiative that owns the item. */
const settle = [
  { guard: 'settlesLanded', target: 'landed', actions: [withdraw, 'takeBack', 'settle', ...settled('landed')] },
  {
    guard: 'settlesCancelled',
    target: 'cancelled',
    actions: [withdraw, 'takeBack', 'settle', ...settled('cancelled')],
  },
  { target: 'failed', actions: [withdraw, 'takeBack', 'settle', ...settled('failed')] },
] as const
/** The work that this item was to continue is on trunk, and no runner has begun the item. */
const superseded = {
  target: 'cancelled',
  actions: [withdraw, 'takeBack', 'supersede', ...settled('cancelled')],
} as const
/** The item that continued this one's work settles after this one has. */
const laterEnd = { guard: 'isResumption', actions: 'recordResumption' } as const
/** The run from which the item was taken back has ended. */
const backFrom = { guard: 'isTakenBack', actions: 'forgetTakenBack' } as const
/** That run had begun before it could be stopped, and its work is on trunk. */
const landsAfterAll = {
  guard: 'landsTakenBack',
  target: 'landed',
  actions: ['settleByEvent', ...settled('landed')],
} as const
/** The same for an item that is over: where its work is stays recorded. */
const landedAfterAll = { guard: 'landsTakenBack', actions: 'noteResult' } as const
/** The result had been held until the run ended; a lost run will report nothing more. */
const endsWithResult = {
  guard: 'endsWithResult',
  target: 'failed',
  actions: ['settleByAwaited', ...settled('failed')],
} as const
/** The run that the item was handed out as has ended, and nothing had settled the item. */
const runEnded = [
  { guard: 'stoppedAsAsked', target: 'cancelled', actions: ['stopped', ...ended] },
  endsWithResult,
  { guard: 'stoppedByPerson', target: 'cancelled', actions: ['settleByEnd', ...ended] },
  { guard: 'ownerDecides', actions: ['report', reported] },
  { guard: 'stopped', target: 'cancelled', actions: ['settleByEnd', ...settled('cancelled')] },
  { guard: 'ofRun', target: 'failed', actions: ['settleByEnd', ...settled('failed')] },
] as const

export const workItemMachine = machineSetup.createMachine({
  id: 'work_item',
  initial: 'absent',
  context: {} as WorkItemContext,
  states: {
    absent: {
      on: {
        create: [
          { guard: 'hasReason', target: 'queued', actions: ['create', 'emitSubmitted'] },
          { target: 'submitted', actions: 'create' },
        ],
      },
    },
    submitted: {
      on: {
        admit: { target: 'queued', actions: ['admit', 'emitSubmitted'] },
        cancel: stop('submitted'),
        cancel_waiting: stop('submitted'),
        superseded,
        settle,
      },
    },
    queued: {
      on: {
        hand_out: { guard: 'mayHandOut', actions: ['handOut', createRun] },
        block: {
          guard: 'blocked',
          target: 'needs_decision',
          actions: ['settle', ...settled('needs_decision')],
        },
        take_back: { guard: 'handedOut', actions: [withdraw, 'waitInQueue'] },
        hold: { target: 'held', actions: [withdraw, operate('queued'), 'hold', 'emitHeld'] },
        cancel: stop('queued'),
        cancel_waiting: stop('queued'),
        run_started: { guard: 'ofRun', target: 'running', actions: ['begin', 'emitStarted', begun] },
        run_event: landsAfterAll,
        run_ended: [backFrom, ...runEnded],
        superseded,
        settle,
      },
    },
    held: {
      on: {
        hold: { actions: [operate('held'), 'hold', 'emitHeld'] },
        release: { target: 'queued', actions: [operate('held'), 'release', 'emitReleased'] },
        run_event: landsAfterAll,
        run_ended: backFrom,
        cancel: stop('held'),
        cancel_waiting: stop('held'),
        superseded,
        settle,
      },
    },
    running: {
      on: {
        run_started: { guard: 'ofRun', actions: 'begin' },
        run_lost: [endsWithResult, { guard: 'ofRun', actions: 'lose' }],
        run_requeued: { guard: 'ofRun', actions: 'waitAgain' },
        run_event: [
          // Work that is on trunk has landed, even if someone wants it stopped. Short of that, the stop proceeds.
          { guard: 'landsByEvent', target: 'landed', actions: ['settleByEvent', ...settled('landed')] },
          { guard: 'isResultOfStopped', actions: 'noteResult' },
          { guard: 'preservesByEvent', target: 'preserved', actions: ['settleByEvent', ...settled('preserved')] },
          { guard: 'asksByEvent', target: 'needs_decision', actions: ['settleByEvent', ...settled('needs_decision')] },
          { guard: 'awaitsEnd', actions: 'awaitEnd' },
          { guard: 'tellsOfOutage', actions: 'noteResult' },
          { guard: 'failsByEvent', target: 'failed', actions: ['settleByEvent', ...settled('failed')] },
          { guard: 'tellsOfProvider', actions: 'noteProvider' },
          { guard: 'tellsOfSync', actions: 'noteSync' },
        ],
        run_ended: runEnded,
        cancel: { guard: 'asksForMore', actions: [operate('running'), 'stopping', withdraw] },
        settle,
      },
    },
    preserved: {
      on: {
        resume: { guard: 'resumable', actions: [operate('preserved'), 'resume', createChild] },
        resumption_settled: [
          { guard: 'landedElsewhere', target: 'landed', actions: ['landByResumption', ...settled('landed')] },
          { guard: 'isResumption', actions: 'noteResumption' },
        ],
        superseded: { target: 'landed', actions: [passOn, 'landBySupersession', ...settled('landed')] },
        close: close('preserved'),
        cancel: giveUp('preserved'),
      },
    },
    needs_decision: {
      on: {
        release: {
          guard: 'neverStarted',
          target: 'queued',
          actions: [operate('needs_decision'), 'release', 'emitReleased'],
        },
        run_event: landsAfterAll,
        run_ended: backFrom,
        close: close('needs_decision'),
        cancel: giveUp('needs_decision'),
      },
    },
    failed: {
      on: {
        run_event: landedAfterAll,
        run_ended: backFrom,
        superseded: { guard: 'keepsWork', target: 'landed', actions: ['landBySupersession', ...settled('landed')] },
        close: close('failed'),
        cancel: giveUp('failed'),
      },
    },
    landed: { on: { run_ended: backFrom, resumption_settled: laterEnd } },
    cancelled: { on: { run_event: landedAfterAll, run_ended: backFrom, resumption_settled: laterEnd } },
  },
})

export const workItemModule: MachineModule<WorkItemContext, WorkItemBody> = {
  kind: 'work_item',
  version: 13,
  machine: workItemMachine,
  migrations: {
    // 2: takes more messages, and remembers more of a run.
    1: (snapshot) => snapshot,
    // 3: remembers the run it was taken back from.
    2: (snapshot) => snapshot,
    // 4: also after it has settled, and remembers whether a stop discards work.
    3: (snapshot) => snapshot,
    // 5: hears how a resumption settled even after its own end.
    4: (snapshot) => snapshot,
    // 6: can return to the queue, and hears that the run it was taken back from has landed its work.
    5: (snapshot) => snapshot,
    // 7: tells its campaign that a runner has begun it.
    6: (snapshot) => snapshot,
    // 8: notes outages only if its source decides it, and notes when they end.
    7: toVersion8,
    // 9: a cycle that reports a runner error waits for the end of its run; failed items with preserved work may land.
    8: (snapshot) => snapshot,
    // 10: a person holds what an initiative already held, and an initiative releases only what it holds.
    9: (snapshot) => snapshot,
    // 11: is listed among what needs a person while it is staged.
    10: (snapshot) => snapshot,
    // 12: maintenance notes why its checkout could not be brought up to date.
    11: (snapshot) => snapshot,
    // 13: a result that tells of an outage of the provider settles nothing.
    12: (snapshot) => snapshot,
  },
  internal: [
    'admit',
    'hand_out',
    'take_back',
    'block',
    'run_started',
    'run_lost',
    'run_requeued',
    'run_event',
    'run_ended',
    'resumption_settled',
    'superseded',
    'settle',
    'cancel_waiting',
  ],
  repeats: rules.repeats,
  refusal: rules.refusal,
  envelope,
  terms,
  retirement,
  deadlineStates: [],
  deadlines: () => [],
  testimony: workItemTestimony,
  document,
}
