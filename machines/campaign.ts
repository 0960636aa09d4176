/**
 * The campaign (SPEC 3.2, 6.8): a mission worked off one task at a time. A read-only run advises on each step (the
 * formation), and this machine decides. Invariants: at most one item is under way; a task is counted once, and only if
 * it was begun; a result is counted once; nothing follows on what was stopped, and nothing revives what is over.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import type { CampaignBody, CampaignContext, CampaignMessage, Of } from './campaign/context.ts'
import { PROVIDER_TIMER } from './campaign/draft.ts'
import { added } from './campaign/facts.ts'
import { create, draftOf, type StepName } from './campaign/moves.ts'
import * as rules from './campaign/rules.ts'
import { campaignTestimony } from './campaign/testimony.ts'
import { toVersion7, toVersion8 } from './campaign/upgrade.ts'
import { document, envelope, terms } from './campaign/view.ts'
import { declaredActions, type Fact, type MachineModule } from './machine.ts'

const machineSetup = setup({
  types: { context: {} as CampaignContext, events: {} as CampaignMessage, emitted: {} as Fact },
  guards: {
    isSound: ({ event }) => rules.isSound(event as Of<'create'>),
    forms: ({ context, event }) => rules.outlook(context, event) === 'form',
    waits: ({ context, event }) => rules.outlook(context, event) === 'wait',
    mustAsk: ({ context, event }) => rules.outlook(context, event) === 'escalate',
    hasCyclesToForm: ({ context, event }) =>
      rules.hasCycles(context, event as Of<'resume'>) && rules.outlook(context, event) === 'form',
    hasCyclesAndWaits: ({ context, event }) =>
      rules.hasCycles(context, event as Of<'resume'>) && rules.outlook(context, event) === 'wait',
    hasCyclesAndMustAsk: ({ context, event }) =>
      rules.hasCycles(context, event as Of<'resume'>) && rules.outlook(context, event) === 'escalate',
    isAskedStill: ({ context, event }) => rules.isAskedStill(context, event as Of<'resume'>),
    wasCalledOff: ({ context }) => rules.wasCalledOff(context),
    joinsForming: ({ context, event }) => rules.joinsForming(context, event as Of<'advance'>),
    isEmitted: ({ event }) => rules.isEmitted(event as Of<'advance'>),
    takesStep: ({ context, event }) => rules.verdictIs(context, event as Of<'item_reported'>, 'advance'),
    isDone: ({ context, event }) => rules.verdictIs(context, event as Of<'item_reported'>, 'done'),
    isOutage: ({ context, event }) => rules.verdictIs(context, event as Of<'item_reported'>, 'outage'),
    reports: ({ context, event }) => rules.reports(context, event as Of<'item_reported'>),
    cycleForms: ({ context, event }) => endsCycleWith(context, event, 'form'),
    cyclePauses: ({ context, event }) => endsCycleWith(context, event, 'pause'),
    cycleAsks: ({ context, event }) => endsCycleWith(context, event, 'escalate'),
    cycleHasResult: ({ context, event }) => rules.hasResult(context, event as Of<'item_settled'>),
    endsCycle: ({ context, event }) => rules.endsCycle(context, event as Of<'item_settled'>),
    endsAdvance: ({ context, event }) => rules.endsAdvance(context, event as Of<'item_settled'>),
    isOfHistory: ({ context, event }) => rules.isOfHistory(context, event as Of<'item_settled'>),
    endsStoppedCycle: ({ context, event }) => rules.endsStoppedCycle(context, event as Of<'item_settled'>),
    discardsCycle: ({ context, event }) => rules.discardsCycle(context, event as Of<'cancel'>),
    stopsCycle: ({ context, event }) => rules.stopsCycle(context, event as Of<'cancel'>),
  },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => create(event as Of<'create'>)),
    emitAdded: emit(({ context }) => added(context)),
  },
}).extend({
  actions: {
    /** One whole step: its changes, facts, messages and timers, in this order. */
    take: enqueueActions(({ context, event, enqueue }, { step }: { readonly step: StepName }) => {
      const draft = draftOf(step, context, event)
      enqueue.assign(() => draft.context)
      for (const fact of draft.facts) enqueue.emit(fact)
      const declared = enqueue as unknown as (action: { readonly type: string; readonly params: object }) => void
      for (const params of draft.sends) declared({ type: 'send', params })
      for (const params of draft.cancels) declared({ type: 'cancelTimer', params })
      for (const params of draft.schedules) declared({ type: 'schedule', params })
    }),
  },
})

function endsCycleWith(context: CampaignContext, event: CampaignMessage, outlook: string): boolean {
  return rules.endsCycle(context, event as Of<'item_settled'>) && rules.outlook(context, event) === outlook
}

const take = (step: StepName) => ({ type: 'take', params: { step } }) as const

/** While not stopped: formations lead to cycles, and cycles to the next formation. */
const goesOn = {
  advance: [
    { guard: 'forms', actions: take('form') },
    { guard: 'mustAsk', target: 'escalated', actions: take('escalateAtOnce') },
    { guard: 'joinsForming', actions: take('joinForming') },
    // The request was let in before the cycle was there; its sender is still told of an end.
    { guard: 'isEmitted', actions: take('answerBusy') },
  ],
  item_reported: [
    { guard: 'takesStep', target: 'active', actions: take('takeStep') },
    { guard: 'isDone', target: 'completed', actions: take('finish') },
    { guard: 'isOutage', target: 'paused', actions: take('pauseForming') },
    { guard: 'reports', target: 'escalated', actions: take('askOwner') },
  ],
  item_settled: [
    { guard: 'cycleForms', actions: take('formAfterCycle') },
    { guard: 'cyclePauses', target: 'paused', actions: take('pauseAfterCycle') },
    { guard: 'cycleAsks', target: 'escalated', actions: take('escalateAtOnce') },
    { guard: 'endsAdvance', target: 'escalated', actions: take('askAboutEnd') },
    { guard: 'isOfHistory', actions: take('note') },
  ],
} as const
const stops = {
  pause: { target: 'paused', actions: take('pause') },
  complete: { target: 'completed', actions: take('complete') },
} as const
const cancel = { target: 'cancelled', actions: take('cancel') } as const
const stopCycle = (from: 'Active' | 'Paused') =>
  [{ guard: 'stopsCycle', target: 'cancelling', actions: take(`stopCycleOf${from}`) }, cancel] as const
const discardCycle = { guard: 'discardsCycle', actions: take('discardCycle') } as const
/** For members of initiatives. Taken in every state: even when the campaign is over, its last cycle may land. */
const members = {
  join_initiative: { actions: take('join') },
  leave_initiative: { actions: take('leave') },
  share_finding: { actions: take('share') },
} as const
const noteBegun = { actions: take('noteBegun') } as const
const noteOnly = { guard: 'isOfHistory', actions: take('note') } as const

export const campaignMachine = machineSetup.createMachine({
  id: 'campaign',
  initial: 'absent',
  context: {} as CampaignContext,
  states: {
    absent: { on: { create: { guard: 'isSound', target: 'staged', actions: ['create', 'emitAdded'] } } },
    staged: { on: { ...members, ...goesOn, ...stops, cancel } },
    active: { on: { ...members, ...goesOn, ...stops, item_started: noteBegun, cancel: stopCycle('Active') } },
    paused: {
      on: {
        ...members,
        ...stops,
        resume: [
          { guard: 'isAskedStill', target: 'escalated', actions: take('resumeEscalated') },
          { guard: 'hasCyclesToForm', target: 'active', actions: take('resumeForming') },
          { guard: 'hasCyclesAndWaits', target: 'active', actions: take('resumeWaiting') },
          { guard: 'hasCyclesAndMustAsk', target: 'escalated', actions: take('resumeEscalating') },
        ],
        provider_back: [
          { guard: 'forms', target: 'active', actions: take('resumeForming') },
          { guard: 'waits', target: 'active', actions: take('resumeWaiting') },
          { guard: 'mustAsk', target: 'escalated', actions: take('resumeEscalating') },
        ],
        item_started: noteBegun,
        item_settled: [
          // Only an owner can have paused it here: a provider's pause begins only when nothing is under way.
          { guard: 'cyclePauses', actions: take('giveCycleBack') },
          { guard: 'cycleHasResult', actions: take('keepResult') },
          // The cycle was called off before a runner began it: its step is formed anew when the campaign goes on.
          { guard: 'cycleForms', actions: take('giveCycleBack') },
          { guard: 'endsCycle', target: 'escalated', actions: take('escalateAtOnce') },
          noteOnly,
        ],
        advance: { guard: 'isEmitted', actions: take('standDownPaused') },
        cancel: stopCycle('Paused'),
      },
    },
    escalated: {
      on: {
        ...members,
        ...stops,
        pause: { target: 'paused', actions: take('pauseEscalated') },
        resume: { guard: 'hasCyclesToForm', target: 'active', actions: take('resumeForming') },
        decide: { target: 'active', actions: take('resumeForming') },
        item_settled: noteOnly,
        advance: { guard: 'isEmitted', actions: take('standDownEscalated') },
        cancel,
      },
    },
    cancelling: {
      on: {
        ...members,
        item_started: noteBegun,
        item_settled: [{ guard: 'endsCycle', target: 'cancelled', actions: take('cancelStopped') }, noteOnly],
        cancel: discardCycle,
        advance: { guard: 'isEmitted', actions: take('answerBusy') },
      },
    },
    completed: {
      on: {
        ...members,
        item_started: { guard: 'wasCalledOff', actions: take('countAfterCompletion') },
        item_settled: [{ guard: 'endsCycle', actions: take('dropCompleted') }, noteOnly],
        advance: { guard: 'isEmitted', actions: take('standDownCompleted') },
      },
    },
    cancelled: {
      on: {
        ...members,
        item_started: { guard: 'wasCalledOff', actions: take('countAfterCancel') },
        item_settled: [
          { guard: 'endsStoppedCycle', actions: take('dropStopped') },
          { guard: 'endsCycle', actions: take('dropCancelled') },
          noteOnly,
        ],
        cancel: [{ guard: 'stopsCycle', actions: take('stopCycleOfCancelled') }, discardCycle],
        advance: { guard: 'isEmitted', actions: take('standDownCancelled') },
      },
    },
  },
})

export const campaignModule: MachineModule<CampaignContext, CampaignBody> = {
  kind: 'campaign',
  version: 9,
  machine: campaignMachine,
  migrations: {
    // 2: takes part in initiatives.
    1: (snapshot) => snapshot,
    // 3: answers every emitted request.
    2: (snapshot) => snapshot,
    // 4: also those that come while it forms; takes a stronger stop.
    3: (snapshot) => snapshot,
    // 5: stays paused by its owner.
    4: (snapshot) => snapshot,
    // 6: knows which work was given up.
    5: (snapshot) => snapshot,
    // 7: hears that its cycle has begun; keeps its question through a pause.
    6: toVersion7,
    // 8: knows which kept work each cycle was begun upon.
    7: toVersion8,
    // 9: for consecutive uncharged cycles, knows what the last one has kept.
    8: (snapshot) => snapshot,
  },
  internal: [
    'provider_back',
    'item_started',
    'item_reported',
    'item_settled',
    'join_initiative',
    'leave_initiative',
    'share_finding',
  ],
  repeats: rules.repeats,
  refusal: rules.refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  timers: ({ context }) => (context.paused?.until === undefined ? [] : [PROVIDER_TIMER]),
  testimony: campaignTestimony,
  document,
}
