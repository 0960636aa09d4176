/**
 * The run request: work that is handed to exactly one runner at a time. Invariants: there is one holder, who must name
 * the current attempt; attempts only increase; a settled request stays settled; work that may have begun is never
 * handed out again automatically (`lost`).
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { isSessionEvent } from './agent-session/reports.ts'
import { declaredActions, type Fact, type MachineModule, UNCHANGED } from './machine.ts'
import {
  INTERNAL_MESSAGES,
  type Of,
  type RunRequestBody,
  type RunRequestContext,
  type RunRequestMessage,
} from './run-request/context.ts'
import { facts, recorded } from './run-request/facts.ts'
import { concernsItem, itemEvent } from './run-request/item.ts'
import { runRequestMigrations } from './run-request/migrations.ts'
import * as moves from './run-request/moves.ts'
import * as notify from './run-request/notify.ts'
import * as rules from './run-request/rules.ts'
import { sessionOfRun } from './run-request/session.ts'
import { runRequestTestimony } from './run-request/testimony.ts'
import { deadlineStates, deadlines, document, envelope, retirement, terms } from './run-request/view.ts'

interface Step {
  readonly context: RunRequestContext
  readonly event: RunRequestMessage
}

/** The engine run is closed and recorded in its own actor: its request forgets it, or a new attempt takes over. */
const endRun = (outcome: string) => ({
  type: 'send' as const,
  params: ({ context }: Step) => moves.endEngineRun(context, outcome),
})

const armNotBefore = { type: 'schedule' as const, params: ({ context }: Step) => moves.notBefore(context) }

const machineSetup = setup({
  types: { context: {} as RunRequestContext, events: {} as RunRequestMessage, emitted: {} as Fact },
  guards: {
    offerable: ({ context, event }) => rules.offerable(context, event as Of<'offer'>),
    unapproved: ({ context }) => !context.internal.approved,
    waitsForProvider: ({ context }) => rules.isWaitingForProvider(context),
    notReady: ({ context }) => !context.internal.ready,
    holds: ({ context, event }) => rules.holds(context, event as Of<'accepted'>),
    holdsUnbegun: ({ context, event }) =>
      rules.holds(context, event as Of<'events'>) && context.times.started_at === undefined,
    holdsAndRetries: ({ context, event }) =>
      rules.holds(context, event as Of<'failed'>) && rules.retries(context, event),
    holdsAndStopped: ({ context, event }) =>
      rules.holds(context, event as Of<'failed'>) &&
      (event as Of<'failed'>).class === 'cancelled' &&
      !rules.timedOut(context),
    namesAnotherRun: ({ context, event }) => rules.namesAnotherRun(context, event as Of<'accepted'>),
    eventsStillTaken: ({ context, event }) => rules.eventsStillTaken(context, event as Of<'events'>),
    sameOffer: ({ context, event }) => rules.sameOffer(context, event as Of<'offer_expired'>),
    lastUnacceptedOffer: ({ context, event }) => rules.lastUnacceptedOffer(context, event as Of<'offer_expired'>),
    lastUnacceptedOfferAndRetries: ({ context, event }) =>
      rules.lastUnacceptedOffer(context, event as Of<'offer_expired'>) && rules.retries(context, event),
    sameAttempt: ({ context, event }) => (event as Of<'lease_expired'>).attempt === context.attempt,
    lastLostAccept: ({ context, event }) => rules.lastLostAccept(context, event as Of<'lease_expired'>),
    lastLostAcceptAndRetries: ({ context, event }) =>
      rules.lastLostAccept(context, event as Of<'lease_expired'>) && rules.retries(context, event),
    sessionEnded: ({ context, event }) => rules.sessionEnded(context, event as Of<'runner_session_started'>),
    sessionEndedTimedOut: ({ context, event }) =>
      rules.sessionEnded(context, event as Of<'runner_session_started'>) && rules.timedOut(context),
    sessionEndedTimedOutAndRetries: ({ context, event }) =>
      rules.sessionEnded(context, event as Of<'runner_session_started'>) &&
      rules.timedOut(context) &&
      rules.retries(context, event),
    sameAttemptTimedOut: ({ context, event }) =>
      (event as Of<'grace_ended'>).attempt === context.attempt && rules.timedOut(context),
    ofItsEngineRun: ({ context, event }) => rules.ofItsEngineRun(context, event as Of<'run_reported'>),
    isCancelMeant: ({ context, event }) => rules.isCancelMeant(context, event as Of<'cancel'>),
    asksForMore: ({ context, event }) =>
      rules.asksForMore(context, event as Of<'cancel'>) && rules.isCancelMeant(context, event as Of<'cancel'>),
    sameAttemptTimedOutAndRetries: ({ context, event }) =>
      (event as Of<'grace_ended'>).attempt === context.attempt &&
      rules.timedOut(context) &&
      rules.retries(context, event),
  },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => moves.create(event as Of<'create'>)),
    approve: assign(({ context, event }) => moves.approve(context, event as Of<'approve'>)),
    ready: assign(({ context }) => moves.ready(context)),
    tryNow: assign(({ context, event }) => moves.tryNow(context, event as Of<'requeue'>)),
    offer: assign(({ context, event }) => moves.offer(context, event as Of<'offer'>)),
    accept: assign(({ context, event }) => moves.accept(context, event)),
    start: assign(({ context, event }) => moves.start(context, event)),
    complete: assign(({ context, event }) => moves.complete(context, event as Of<'completed'>)),
    fail: assign(({ context, event }) => moves.fail(context, event)),
    requestCancel: assign(({ context, event }) => moves.requestCancel(context, event)),
    cancelNow: assign(({ context, event }) => moves.cancelNow(context, event)),
    endCancelled: assign(({ context, event }) => moves.endCancelled(context, event)),
    lose: assign(({ context, event }) => moves.lose(context, event)),
    requeue: assign(({ context, event }) => moves.requeue(context, event)),
    retry: assign(({ context, event }) => moves.retry(context, event)),
    fence: assign(({ context }) => moves.fence(context)),
    revive: assign(({ context, event }) => moves.revive(context, event)),
    noteReported: assign(({ context }) => moves.noteReported(context)),
    touch: assign(() => UNCHANGED),

    emitCreated: emit(({ context }) => facts.created(context)),
    emitApproved: emit(({ context }) => facts.approved(context)),
    emitOffered: emit(({ context }) => facts.offered(context)),
    emitAccepted: emit(({ context }) => facts.accepted(context)),
    emitStarted: emit(({ context }) => facts.started(context)),
    emitRunOpened: emit(({ context }) => facts.runOpened(context)),
    emitRevived: emit(({ context }) => facts.revived(context)),
    emitCompleted: emit(({ context }) => facts.completed(context)),
    emitFailed: emit(({ context }) => facts.failed(context)),
    emitCancelRequested: emit(({ context }) => facts.cancelRequested(context)),
    emitCancelled: emit(({ context }) => facts.cancelled(context)),
    emitLost: emit(({ context, event }) => facts.lost(context, event)),
    emitRequeued: emit(({ context, event }) => facts.requeued(context, event)),
    emitRetried: emit(({ context, event }) => facts.retried(context, event)),
    emitReleased: emit(({ context, event }) => facts.released(context, event)),
    emitRecorded: enqueueActions(({ context, event, enqueue }) => {
      const { events, heard = events } = event as Of<'events'>
      for (const prepared of events) enqueue.emit(recorded(prepared))
      for (const prepared of heard) {
        if (concernsItem(context, prepared)) enqueue({ type: 'send', params: itemEvent(context, prepared) })
        const isOfSession = isSessionEvent(prepared.event_type)
        if (isOfSession) enqueue({ type: 'send', params: sessionOfRun(context, event, prepared) })
      }
    }),

    /** An engine run has an actor, to be told of the end, only if something was reported on it. */
    endReportedRun: enqueueActions(({ context, enqueue }) => {
      if (context.internal.reported !== true) return
      enqueue({ type: 'send', params: moves.endEngineRun(context, moves.outcomeOf(context)) })
    }),

    armStart: enqueueActions(({ context, enqueue }) => {
      if (!context.internal.ready) enqueue({ type: 'schedule', params: moves.notBefore(context) })
      if (context.asked.expires_at !== undefined) enqueue({ type: 'schedule', params: moves.expiry(context) })
    }),
    armExpiry: enqueueActions(({ context, enqueue }) => {
      if (context.asked.expires_at !== undefined) enqueue({ type: 'schedule', params: moves.expiry(context) })
    }),
    armTimeout: enqueueActions(({ context, enqueue }) => {
      if (context.asked.timeout_seconds !== undefined) enqueue({ type: 'schedule', params: moves.timeout(context) })
    }),
    clearNotBefore: enqueueActions(({ enqueue }) => {
      enqueue({ type: 'cancelTimer', params: { timer: 'not_before' } })
    }),
    /** These two run before the move they belong to, while the context still shows which timers are set. */
    clearTimers: enqueueActions(({ context, enqueue }) => {
      for (const timer of moves.allTimers(context)) enqueue({ type: 'cancelTimer', params: { timer } })
    }),
    clearAttemptTimers: enqueueActions(({ context, enqueue }) => {
      for (const timer of moves.attemptTimers(context)) enqueue({ type: 'cancelTimer', params: { timer } })
    }),
  },
})

/** The attempt is over and a new one is queued; if `expires_at` has passed, its timer cancels the request at once. */
const again = ['requeue', 'emitRequeued', notify.waits, 'armExpiry'] as const
const requeue = ['clearAttemptTimers', ...again] as const
const requeueOpenRun = ['clearAttemptTimers', endRun('queued'), ...again] as const
const released = ['requeue', 'emitReleased', notify.waits, 'armExpiry'] as const
const giveBack = ['clearAttemptTimers', ...released] as const
const giveBackOpenRun = ['clearAttemptTimers', endRun('queued'), ...released] as const
const retry = [
  'clearAttemptTimers',
  'emitRetried',
  'retry',
  ...notify.waitsAgain,
  armNotBefore,
  'armExpiry',
  notify.limited,
] as const
const retryOpenRun = [endRun('failed'), ...retry] as const
const complete = ['clearTimers', 'complete', 'emitCompleted', ...notify.ended('completed'), 'endReportedRun'] as const
const fail = ['clearTimers', 'fail', 'emitFailed', ...notify.ended('failed'), notify.limited] as const
const failOpenRun = [...fail, 'endReportedRun'] as const
const cancelNow = ['clearTimers', 'cancelNow', 'emitCancelled', ...notify.ended('cancelled')] as const
const stopped = ['clearTimers', 'endCancelled', 'emitCancelled', ...notify.ended('cancelled')] as const
const endCancelled = [...stopped, 'endReportedRun'] as const
const takeUp = ['start', 'emitAccepted', 'emitStarted', ...notify.begun, 'emitRunOpened'] as const
const begin = ['start', 'emitStarted', ...notify.begun] as const
const lose = ['lose', 'emitLost', ...notify.lost] as const
const revive = ['revive', 'emitRevived', ...notify.begun, 'armTimeout'] as const

const settled = {
  on: {
    events: { guard: 'eventsStillTaken', actions: ['touch', 'emitRecorded'] },
    run_reported: { guard: 'ofItsEngineRun', actions: ['noteReported', 'endReportedRun'] },
  },
} as const

const noteReported = { guard: 'ofItsEngineRun', actions: 'noteReported' } as const

export const runRequestMachine = machineSetup.createMachine({
  id: 'run_request',
  initial: 'absent',
  context: {} as RunRequestContext,
  states: {
    absent: {
      on: { create: { target: 'queued', actions: ['create', 'emitCreated', 'armStart', notify.waits] } },
    },
    queued: {
      on: {
        offer: { guard: 'offerable', target: 'offered', actions: ['offer', 'emitOffered'] },
        approve: { guard: 'unapproved', actions: ['approve', 'emitApproved'] },
        not_before_reached: { guard: 'notReady', actions: 'ready' },
        requeue: { guard: 'waitsForProvider', actions: ['clearNotBefore', 'tryNow', 'emitRequeued', notify.requeued] },
        cancel: { target: 'cancelled', actions: cancelNow },
        expires_at_reached: { target: 'cancelled', actions: cancelNow },
        restored: { actions: ['fence', 'emitRequeued'] },
      },
    },
    offered: {
      on: {
        accepted: {
          guard: 'holds',
          target: 'accepted',
          actions: ['accept', 'emitAccepted', notify.accepted, 'emitRunOpened'],
        },
        started: { guard: 'holds', target: 'started', actions: [...takeUp, 'armTimeout'] },
        events: { guard: 'holds', target: 'started', actions: [...takeUp, 'armTimeout', 'emitRecorded'] },
        completed: {
          guard: 'holds',
          target: 'completed',
          actions: [
            'clearTimers',
            'complete',
            'emitAccepted',
            'emitStarted',
            ...notify.begun,
            'emitRunOpened',
            'emitCompleted',
            ...notify.ended('completed'),
          ],
        },
        failed: [
          { guard: 'holdsAndRetries', target: 'queued', actions: [...takeUp, ...retryOpenRun] },
          { guard: 'holds', target: 'failed', actions: [...takeUp, ...fail] },
        ],
        release: { guard: 'holds', target: 'queued', actions: giveBack },
        offer_aborted: { guard: 'sameOffer', target: 'queued', actions: giveBack },
        offer_expired: [
          { guard: 'lastUnacceptedOfferAndRetries', target: 'queued', actions: retry },
          { guard: 'lastUnacceptedOffer', target: 'failed', actions: fail },
          { guard: 'sameOffer', target: 'queued', actions: requeue },
        ],
        runner_session_started: { guard: 'sessionEnded', target: 'queued', actions: requeue },
        restored: { target: 'queued', actions: ['fence', ...requeue] },
        cancel: { target: 'cancelled', actions: cancelNow },
      },
    },
    accepted: {
      on: {
        run_reported: noteReported,
        accepted: { guard: 'namesAnotherRun', actions: [endRun('renamed'), 'accept', 'emitRunOpened'] },
        started: [
          {
            guard: 'namesAnotherRun',
            target: 'started',
            actions: [endRun('renamed'), ...begin, 'emitRunOpened', 'armTimeout'],
          },
          { guard: 'holds', target: 'started', actions: [...begin, 'armTimeout'] },
        ],
        events: { guard: 'holds', target: 'started', actions: [...begin, 'armTimeout', 'emitRecorded'] },
        completed: {
          guard: 'holds',
          target: 'completed',
          actions: [
            'clearTimers',
            'complete',
            'emitStarted',
            ...notify.begun,
            'emitCompleted',
            ...notify.ended('completed'),
            'endReportedRun',
          ],
        },
        failed: [
          { guard: 'holdsAndRetries', target: 'queued', actions: [...begin, ...retryOpenRun] },
          { guard: 'holds', target: 'failed', actions: [...begin, ...failOpenRun] },
        ],
        release: { guard: 'holds', target: 'queued', actions: giveBackOpenRun },
        lease_expired: [
          { guard: 'lastLostAcceptAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'lastLostAccept', target: 'failed', actions: failOpenRun },
          { guard: 'sameAttempt', target: 'queued', actions: requeueOpenRun },
        ],
        runner_session_started: { guard: 'sessionEnded', target: 'queued', actions: requeueOpenRun },
        restored: { target: 'lost', actions: ['fence', ...lose] },
        cancel: { target: 'cancelling', actions: ['requestCancel', 'emitCancelRequested'] },
      },
    },
    started: {
      on: {
        run_reported: noteReported,
        started: { guard: 'namesAnotherRun', actions: [endRun('renamed'), 'start', 'emitRunOpened'] },
        events: { guard: 'holds', actions: ['touch', 'emitRecorded'] },
        completed: { guard: 'holds', target: 'completed', actions: complete },
        failed: [
          { guard: 'holdsAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'holds', target: 'failed', actions: failOpenRun },
        ],
        lease_expired: { guard: 'sameAttempt', target: 'lost', actions: lose },
        runner_session_started: { guard: 'sessionEnded', target: 'lost', actions: lose },
        restored: { target: 'lost', actions: ['fence', ...lose] },
        timeout_reached: {
          guard: 'sameAttempt',
          target: 'cancelling',
          actions: ['requestCancel', 'emitCancelRequested'],
        },
        cancel: { guard: 'isCancelMeant', target: 'cancelling', actions: ['requestCancel', 'emitCancelRequested'] },
      },
    },
    cancelling: {
      on: {
        run_reported: noteReported,
        // The run had begun after all, before its runner heard of the stop: whoever waits for the result must hear of
        // the start first.
        events: [
          { guard: 'holdsUnbegun', actions: ['start', ...notify.begun, 'emitRecorded'] },
          { guard: 'holds', actions: ['touch', 'emitRecorded'] },
        ],
        completed: [
          { guard: 'holdsUnbegun', target: 'completed', actions: ['start', ...notify.begun, ...complete] },
          { guard: 'holds', target: 'completed', actions: complete },
        ],
        failed: [
          { guard: 'holdsAndStopped', target: 'cancelled', actions: endCancelled },
          { guard: 'holdsAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'holds', target: 'failed', actions: failOpenRun },
        ],
        lease_expired: [
          { guard: 'sameAttemptTimedOutAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'sameAttemptTimedOut', target: 'failed', actions: failOpenRun },
          { guard: 'sameAttempt', target: 'cancelled', actions: endCancelled },
        ],
        grace_ended: [
          { guard: 'sameAttemptTimedOutAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'sameAttemptTimedOut', target: 'failed', actions: failOpenRun },
          { guard: 'sameAttempt', target: 'cancelled', actions: endCancelled },
        ],
        runner_session_started: [
          { guard: 'sessionEndedTimedOutAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'sessionEndedTimedOut', target: 'failed', actions: failOpenRun },
          { guard: 'sessionEnded', target: 'cancelled', actions: endCancelled },
        ],
        restored: { target: 'cancelled', actions: ['fence', ...endCancelled] },
        // The running grace period continues: asking again gives no more time.
        cancel: { guard: 'asksForMore', actions: ['requestCancel', 'emitCancelRequested'] },
      },
    },
    lost: {
      on: {
        run_reported: noteReported,
        accepted: { guard: 'holds', target: 'started', actions: revive },
        started: { guard: 'holds', target: 'started', actions: revive },
        heartbeat: { guard: 'holds', target: 'started', actions: revive },
        events: { guard: 'holds', target: 'started', actions: [...revive, 'emitRecorded'] },
        completed: { guard: 'holds', target: 'completed', actions: complete },
        failed: [
          { guard: 'holdsAndRetries', target: 'queued', actions: retryOpenRun },
          { guard: 'holds', target: 'failed', actions: failOpenRun },
        ],
        requeue: { target: 'queued', actions: [...requeueOpenRun, notify.requeued] },
        restored: { actions: ['fence', 'emitLost', ...notify.lost] },
        fail: { target: 'failed', actions: failOpenRun },
        cancel: { guard: 'isCancelMeant', target: 'cancelled', actions: [...cancelNow, 'endReportedRun'] },
      },
    },
    completed: settled,
    failed: settled,
    cancelled: settled,
  },
})

export const runRequestModule: MachineModule<RunRequestContext, RunRequestBody> = {
  kind: 'run_request',
  version: 8,
  machine: runRequestMachine,
  migrations: runRequestMigrations,
  internal: INTERNAL_MESSAGES,
  repeats: rules.repeats,
  refusal: rules.refusal,
  envelope,
  terms,
  testimony: runRequestTestimony,
  retirement,
  cachedMembers: ['asked', 'made'],
  deadlineStates,
  deadlines,
  timers: ({ value, context }) => moves.neededTimers(value, context),
  document,
}
