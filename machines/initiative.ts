/**
 * The initiative (SPEC 3.4, 6.18): a shared outcome, the members that serve it, and steering. Invariants: one
 * assessment at a time; an answer is only advice until the guards have passed it; an action is on disk before it is
 * dispatched, and applied once; only an owner ends an initiative.
 *
 * `active`, `assessing` and `deciding` appear outside as one status, `active`. One pure function per move works out
 * what it changes, states and sends (`initiative/moves.ts`); the chart only selects the move.
 */
import { enqueueActions, setup } from 'xstate'
import type { Conclusion } from './initiative/conclusion.ts'
import type { InitiativeBody, InitiativeContext, InitiativeMessage, Of } from './initiative/context.ts'
import * as cycles from './initiative/cycles.ts'
import * as moves from './initiative/moves.ts'
import * as rules from './initiative/rules.ts'
import { initiativeTestimony } from './initiative/testimony.ts'
import { document, envelope, terms } from './initiative/view.ts'
import { declaredActions, type Fact, type MachineModule } from './machine.ts'

interface Step {
  readonly context: InitiativeContext
  readonly event: InitiativeMessage
}

type Move = (context: InitiativeContext, message: any) => Conclusion

/** Turns a move into an action: its facts and messages, then its change, all from the same conclusion. */
const carryOut = (move: Move) =>
  enqueueActions(({ context, event, enqueue }: any) => {
    const { context: next, facts, sends } = move(context, event)
    enqueue.assign(() => next)
    for (const fact of facts) enqueue.emit(fact)
    for (const params of sends) enqueue({ type: 'send', params })
  }) as any

const isSound = ({ context, event }: Step) => rules.isSound(context, event as Of<'decide'>)

const machineSetup = setup({
  types: { context: {} as InitiativeContext, events: {} as InitiativeMessage, emitted: {} as Fact },
  guards: {
    mayAsk: ({ context, event }: Step) => rules.mayAsk(context, event as Of<'advance'>),
    isEmitted: ({ event }: Step) => (event as Of<'advance'>).event_id !== undefined,
    hasNothingToDo: ({ context, event }: Step) => rules.hasNothingToDo(context, event as Of<'assess'>),
    isNext: ({ context, event }: Step) => rules.isNextRequest(context, event as Of<'assess'>),
    hasAnswered: ({ context, event }: Step) =>
      rules.isOfAssessment(context, event as Of<'item_reported'>) &&
      (event as Of<'item_reported'>).outcome === 'completed',
    ofAssessment: ({ context, event }: Step) => rules.isOfAssessment(context, event as Of<'item_reported'>),
    ofCycle: ({ context, event }: Step) => rules.isOfCycle(context, event as Of<'item_settled'>),
    namesMembers: isSound,
    isNewAction: isSound,
    isNewFinding: isSound,
  },
  actions: {
    ...declaredActions,
    create: carryOut((_, message: Of<'create'>) => moves.create(message)),
    request: carryOut(moves.request),
    assess: carryOut(moves.assess),
    keepResult: carryOut(moves.keepResult),
    fail: carryOut(moves.fail),
    endAssessment: carryOut(moves.ended),
    judge: carryOut(moves.judge),
    decide: carryOut(moves.decide),
    complete: carryOut(moves.complete),
    cancel: carryOut(moves.cancel),
    judgeCompleted: carryOut((context, message: Of<'item_reported'>) =>
      moves.judgeLate(moves.keepResult(context, message).context, 'completed', message.at),
    ),
    judgeCancelled: carryOut((context, message: Of<'item_reported'>) =>
      moves.judgeLate(moves.keepResult(context, message).context, 'cancelled', message.at),
    ),
    requestRefused: carryOut(moves.requestRefused),
    requestCompleted: carryOut(moves.requestLate('completed')),
    requestCancelled: carryOut(moves.requestLate('cancelled')),
    recordOwnerAction: carryOut(moves.recordOwnerAction),
    recordFinding: carryOut(cycles.recordFinding),
    cycleSettled: carryOut(cycles.cycleSettled),
    memberCycleSettled: carryOut(cycles.memberCycleSettled),
    cycleSettledLate: carryOut(cycles.cycleSettledLate),
    memberCycleSettledLate: carryOut(cycles.memberCycleSettledLate),
  },
})

/** What an owner does, and what members report, while the initiative is active. */
const owned = {
  advance: [
    { guard: 'mayAsk', actions: 'request' },
    { guard: 'isEmitted', actions: 'requestRefused' },
  ],
  decide: { guard: 'namesMembers', actions: 'decide' },
  complete: { target: 'completed', actions: 'complete' },
  cancel: { target: 'cancelled', actions: 'cancel' },
  record_owner_action: { guard: 'isNewAction', actions: 'recordOwnerAction' },
  record_finding: { guard: 'isNewFinding', actions: 'recordFinding' },
  member_cycle_settled: { actions: 'memberCycleSettled' },
} as const
const cycleSettled = { guard: 'ofCycle', actions: 'cycleSettled' } as const
/** The assessment's work item was settled by someone other than this initiative. */
const assessmentSettled = [{ guard: 'ofAssessment', target: 'active', actions: 'endAssessment' }, cycleSettled] as const
/** For an initiative that has ended: what is under way runs to its end, and landed work counts as landed. */
const late = (judge: 'judgeCompleted' | 'judgeCancelled', request: 'requestCompleted' | 'requestCancelled') =>
  ({
    advance: { guard: 'isEmitted', actions: request },
    item_reported: [
      { guard: 'hasAnswered', actions: judge },
      { guard: 'ofAssessment', actions: 'fail' },
    ],
    item_settled: [
      { guard: 'ofAssessment', actions: 'endAssessment' },
      { guard: 'ofCycle', actions: 'cycleSettledLate' },
    ],
    member_cycle_settled: { actions: 'memberCycleSettledLate' },
  }) as const

export const initiativeMachine = machineSetup.createMachine({
  id: 'initiative',
  initial: 'absent',
  context: {} as InitiativeContext,
  states: {
    absent: { on: { create: { target: 'active', actions: 'create' } } },
    active: {
      on: {
        ...owned,
        assess: [
          { guard: 'hasNothingToDo', actions: 'assess' },
          { guard: 'isNext', target: 'assessing', actions: 'assess' },
        ],
        item_settled: cycleSettled,
      },
    },
    assessing: {
      on: {
        ...owned,
        item_reported: [
          { guard: 'hasAnswered', target: 'deciding', actions: 'keepResult' },
          { guard: 'ofAssessment', target: 'active', actions: 'fail' },
        ],
        item_settled: assessmentSettled,
      },
    },
    deciding: {
      on: {
        ...owned,
        judge: { guard: 'ofAssessment', target: 'active', actions: 'judge' },
        item_settled: assessmentSettled,
      },
    },
    completed: { on: late('judgeCompleted', 'requestCompleted') },
    cancelled: { on: late('judgeCancelled', 'requestCancelled') },
  },
})

export const initiativeModule: MachineModule<InitiativeContext, InitiativeBody> = {
  kind: 'initiative',
  version: 7,
  machine: initiativeMachine,
  migrations: {
    // 2: hears of the cycles of member campaigns.
    1: (snapshot) => snapshot,
    // 3: answers requests that came too late or that others preceded.
    2: (snapshot) => snapshot,
    // 4: records no more findings once it has ended.
    3: (snapshot) => snapshot,
    // 5: remembers which question a decision named.
    4: (snapshot) => snapshot,
    // 6: remembers which requests are unnamed.
    5: (snapshot) => snapshot,
    // 7: remembers which member an assessment was pinned to.
    6: (snapshot) => snapshot,
  },
  internal: ['assess', 'judge', 'item_reported', 'item_settled', 'member_cycle_settled'],
  repeats: rules.repeats,
  refusal: rules.refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony: initiativeTestimony,
  document,
}
