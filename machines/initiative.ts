/**
 * The initiative (SPEC 3.4, 6.18): a shared outcome, the members that serve it, and steering. Its invariants: one
 * assessment at a time; an answer is advice until the guards have let it through; an action is on disk before it is
 * dispatched, and applied once; nobody but an owner ends an initiative.
 *
 * `active`, `assessing` and `deciding` are one status: `active`. What a move changes, states and sends is worked out
 * together by one pure function (`initiative/moves.ts`), and the chart only says which move it is.
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

/** One move as an action: its facts and messages, then its change, all from the same conclusion. */
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

/** What an owner does, and what members tell, while it is active. */
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
/** Its assessment's work item has settled by somebody else's word. */
const assessmentSettled = [{ guard: 'ofAssessment', target: 'active', actions: 'endAssessment' }, cycleSettled] as const
/** Of one that has ended: what is under way comes to its end, and what landed has landed. */
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
  version: 6,
  machine: initiativeMachine,
  migrations: {
    // 2: hears of the cycles of member campaigns.
    1: (snapshot) => snapshot,
    // 3: ends what was asked for too late, or what others were quicker with.
    2: (snapshot) => snapshot,
    // 4: finds nothing more when it has ended.
    3: (snapshot) => snapshot,
    // 5: remembers of a decision which question it named.
    4: (snapshot) => snapshot,
    // 6: remembers which requests have no name.
    5: (snapshot) => snapshot,
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
