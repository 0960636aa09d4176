/**
 * The formation brief: the boundary between what a project means and what an engine runs. Invariants: exactly what was
 * approved is compiled; what a digest names never changes; from `queued` on, the brief follows the latest of its runs
 * that has not ended.
 */
import { assign, emit, enqueueActions, setup } from 'xstate'
import { FORMATION_BRIEF_SCHEMA_VERSION, type FormationBrief } from './documents/formation-brief.ts'
import { projectEnvelope } from './envelope.ts'
import type { Artifact } from './formation-brief/compiler.ts'
import type { FormationBriefBody, FormationBriefContext, FormationBriefMessage, Of } from './formation-brief/context.ts'
import * as moves from './formation-brief/moves.ts'
import * as rules from './formation-brief/rules.ts'
import { isFollowed, openRun } from './formation-brief/runs.ts'
import { textFaults } from './formation-brief/snapshot.ts'
import { TO_BE_RUN } from './formation-brief/states.ts'
import { formationBriefTestimony } from './formation-brief/testimony.ts'
import {
  declaredActions,
  type Fact,
  type FactEnvelope,
  type MachineModule,
  type SnapshotOf,
  type Term,
  UNCHANGED,
} from './machine.ts'

/** Identity and new state: the members of every fact of a brief. */
function told({ id, version, compiled }: FormationBriefContext, state: string): object {
  const digest = compiled === undefined ? {} : { digest: compiled.digest }
  return { ...digest, formation_brief_id: id, state, version }
}

function runChanged(context: FormationBriefContext, state: string): Fact {
  const { run, reason } = context
  const of = { digest: run!.digest, run_request_id: run!.run_request_id, throttle: run!.throttle }
  return {
    type: 'formation_brief_run_changed',
    payload: { ...told(context, state), ...of, ...(reason === undefined ? {} : { reason }) },
  }
}

const machineSetup = setup({
  types: { context: {} as FormationBriefContext, events: {} as FormationBriefMessage, emitted: {} as Fact },
  guards: {
    isVersionRead: ({ context, event }) => rules.isVersionRead(context, event as Of<'submit'>),
    changes: ({ context, event }) => rules.changes(context, event as Of<'update'>),
    approvable: ({ context, event }) => rules.approveRefusal(context, event as Of<'approve'>) === undefined,
    compilable: ({ context, event }) => rules.compileRefusal(context, event as Of<'compile'>) === undefined,
    editable: ({ context, event }) => rules.mayEdit(context, event as Of<'edit_prompt'>),
    hasNoRun: ({ context }) => context.internal.runs.length === 0,
    takesTheLead: ({ context, event }) => rules.takesTheLead(context, event as Of<'run_started'>),
    isOpen: ({ context, event }) => openRun(context, event as Of<'run_started'>) !== undefined,
    isAnother: ({ context, event }) =>
      openRun(context, event as Of<'run_stopped'>) !== undefined && !isFollowed(context, event as Of<'run_stopped'>),
    isFollowed: ({ context, event }) => rules.isFollowedAndOpen(context, event as Of<'run_stopped'>),
    isFollowedAndObserved: ({ context, event }) =>
      rules.isFollowedAndOpen(context, event as Of<'run_completed'>) && context.run!.observations > 0,
    isOfFollowed: ({ context, event }) => isFollowed(context, event as Of<'run_observed'>),
    leavesForQueued: ({ context, event }) => rules.leavesFor(context, event as Of<'run_stopped'>, 'queued'),
    leavesForAccepted: ({ context, event }) => rules.leavesFor(context, event as Of<'run_stopped'>, 'accepted'),
    leavesForStarted: ({ context, event }) => rules.leavesFor(context, event as Of<'run_stopped'>, 'started'),
  },
  actions: {
    ...declaredActions,
    /** The newest approval also releases each run that waits for exactly this approval. */
    sendApprovals: enqueueActions(({ context, enqueue }) => {
      const { sends, change } = moves.approvalOfRuns(context)
      for (const params of sends) enqueue({ type: 'send', params })
      enqueue.assign(change)
    }),
    /** A run was reported only after the approval it waits for had been given. */
    sendLateApproval: enqueueActions(({ context, event, enqueue }) => {
      const { sends, change } = moves.approvalOfLateRun(context, event as Of<'run_queued'>)
      for (const params of sends) enqueue({ type: 'send', params })
      enqueue.assign(change)
    }),
    cancelRun: enqueueActions(({ event, enqueue }) => {
      enqueue({ type: 'send', params: moves.cancelOfRun(event as Of<'run_queued'>) })
    }),
    touch: assign(() => UNCHANGED),
    compile: enqueueActions(({ context, event, enqueue }) => {
      const artifact = moves.artifactOf(context, event as Of<'compile'>)
      const change = moves.compiled(artifact, event.at, event.by)
      const next = { ...context, ...change }
      enqueue.assign(change)
      enqueue.emit(compiledFact(next))
      enqueue.emit(packFact('prompt_pack_compiled', next, artifact, {}))
      enqueue({ type: 'send', params: moves.keepArtifact(next, artifact) })
    }),
    editPrompt: enqueueActions(({ context, event, enqueue }) => {
      const message = event as Of<'edit_prompt'>
      const artifact = moves.edited(message)
      // A new version: approving the text one has read must not approve what somebody wrote since.
      const change = { ...moves.compiled(artifact, event.at, event.by), version: context.version + 1 }
      const next = { ...context, ...change }
      const previous_digest = message.artifact!.prompt_pack.digest
      enqueue.assign(change)
      enqueue.emit(packFact('prompt_pack_edited', next, artifact, { phase: message.phase, previous_digest }))
      enqueue.emit(compiledFact(next))
      enqueue({ type: 'send', params: moves.keepArtifact(next, artifact) })
    }),
    /** If observations were reported before the run completed, the result has already been compared with the intent. */
    emitCompleted: enqueueActions(({ context, enqueue }) => {
      enqueue.emit(runChanged(context, 'completed'))
      if (context.run!.observations > 0) enqueue.emit(runChanged(context, 'analyzed'))
    }),
  },
}).extend({
  actions: {
    create: assign(({ event }) => moves.created(event as Of<'create'>)),
    update: assign(({ context, event }) => moves.updated(context, event as Of<'update'>)),
    submit: assign(({ event }) => ({ submitted_at: event.at })),
    approve: assign(({ context, event }) => moves.approved(context, event as Of<'approve'>)),
    archive: assign(({ event }) => ({ archived_at: event.at, reason: (event as Of<'archive'>).reason })),
    runQueued: assign(({ context, event }) => moves.runQueued(context, event as Of<'run_queued'>)),
    runMoved: assign(({ context, event }) => moves.runMoved(context, event as Of<'run_started'>)),
    runCompleted: assign(({ context, event }) => moves.runCompleted(context, event as Of<'run_completed'>)),
    runStopped: assign(({ context, event }) => moves.runStopped(context, event as Of<'run_stopped'>)),
    followOther: assign(({ context, event }) => moves.followOther(context, event as Of<'run_stopped'>)),
    runObserved: assign(({ context, event }) => moves.runObserved(context, event as Of<'run_observed'>)),

    emitCreated: emit(({ context }) => ({
      type: 'formation_brief_created',
      payload: { ...told(context, 'draft'), throttle: context.sections.throttle },
    })),
    /** Runs before the change that it reports. */
    emitUpdated: emit(({ context, event }, { state }: { state: string }) => {
      const message = event as Of<'update'>
      const next = { ...context, ...moves.updated(context, message) }
      return {
        type: 'formation_brief_updated',
        payload: { ...told(next, state), changed: moves.changedSections(context, message) },
      }
    }),
    emitSubmitted: emit(({ context }) => ({
      type: 'formation_brief_submitted',
      payload: told(context, 'reviewable'),
    })),
    emitApproved: emit(({ context }, { state }: { state: string }) => {
      const { throttle, digest, revision } = context.approvals.at(-1)!
      const of = { digest, throttle, ...(revision === undefined ? {} : { revision }) }
      return { type: 'formation_brief_approved', payload: { ...told(context, state), ...of } }
    }),
    emitArchived: emit(({ context }) => ({
      type: 'formation_brief_archived',
      payload: { ...told(context, 'archived'), ...(context.reason === undefined ? {} : { reason: context.reason }) },
    })),
    emitRun: emit(({ context }, { state }: { state: string }) => runChanged(context, state)),
  },
})

function compiledFact(context: FormationBriefContext): Fact {
  return { type: 'formation_brief_compiled', payload: told(context, 'compiled') }
}

function packFact(type: string, { id }: FormationBriefContext, { prompt_pack }: Artifact, more: object): Fact {
  return { type, payload: { digest: prompt_pack.digest, formation_brief_id: id, ...more } }
}

const update = (state: string) =>
  ({ guard: 'changes', actions: [{ type: 'emitUpdated', params: { state } }, 'update'] }) as const
const approve = (state: string) =>
  ({
    guard: 'approvable',
    actions: ['approve', { type: 'emitApproved', params: { state } }, 'sendApprovals'],
  }) as const
const emitRun = (state: string) => ({ type: 'emitRun' as const, params: { state } })
const archive = { guard: 'hasNoRun', target: 'archived', actions: ['archive', 'emitArchived'] } as const
const edit_prompt = { guard: 'editable', target: 'compiled', actions: 'editPrompt' } as const

const run_observed = [
  { guard: 'isOfFollowed', actions: 'runObserved' },
  { guard: 'isOpen', actions: 'runObserved' },
] as const
const wasCompleted = ['runCompleted', 'emitCompleted'] as const
const wasStopped = ['runStopped', emitRun('compiled')] as const

/** A run ended or was lost: either the brief does not follow it, or it does and another one is under way. */
const goOn = <End extends typeof wasCompleted | typeof wasStopped>(end: End) =>
  [
    { guard: 'isAnother', actions: end[0] },
    { guard: 'leavesForQueued', target: 'queued', actions: [...end, 'followOther', emitRun('queued')] },
    { guard: 'leavesForAccepted', target: 'accepted', actions: [...end, 'followOther', emitRun('accepted')] },
    { guard: 'leavesForStarted', target: 'executing', actions: [...end, 'followOther', emitRun('executing')] },
  ] as const

/** For every run: the brief follows the latest one under way, and keeps track of the others. */
const running = {
  run_queued: [
    { guard: 'takesTheLead', target: 'queued', actions: ['runQueued', emitRun('queued'), 'sendLateApproval'] },
    { actions: ['runQueued', 'sendLateApproval'] },
  ],
  run_accepted: [
    { guard: 'takesTheLead', target: 'accepted', actions: ['runMoved', emitRun('accepted')] },
    { guard: 'isOpen', actions: 'runMoved' },
  ],
  // A later post of its runner implies the earlier ones, and a lost run may report again.
  run_started: [
    { guard: 'takesTheLead', target: 'executing', actions: ['runMoved', emitRun('executing')] },
    { guard: 'isOpen', actions: 'runMoved' },
  ],
  run_completed: [
    ...goOn(wasCompleted),
    { guard: 'isFollowedAndObserved', target: 'analyzed', actions: wasCompleted },
    { guard: 'isFollowed', target: 'completed', actions: wasCompleted },
  ],
  run_stopped: [...goOn(wasStopped), { guard: 'isFollowed', target: 'compiled', actions: wasStopped }],
  run_observed,
} as const

export const formationBriefMachine = machineSetup.createMachine({
  id: 'formation_brief',
  initial: 'absent',
  context: {} as FormationBriefContext,
  states: {
    absent: {
      on: { create: { target: 'draft', actions: ['create', 'emitCreated'] } },
    },
    draft: {
      on: {
        update: update('draft'),
        submit: { guard: 'isVersionRead', target: 'reviewable', actions: ['submit', 'emitSubmitted'] },
        archive,
      },
    },
    reviewable: {
      on: {
        update: update('reviewable'),
        approve: { target: 'approved', ...approve('approved') },
        archive,
      },
    },
    approved: {
      on: {
        approve: approve('approved'),
        compile: { guard: 'compilable', target: 'compiled', actions: 'compile' },
        archive,
      },
    },
    compiled: { on: { approve: approve('compiled'), edit_prompt, archive, ...running } },
    queued: { on: { approve: approve('queued'), ...running } },
    accepted: { on: { approve: approve('accepted'), ...running } },
    executing: { on: { approve: approve('executing'), ...running } },
    completed: {
      on: {
        approve: approve('completed'),
        edit_prompt,
        archive,
        ...running,
        run_observed: [
          { guard: 'isOfFollowed', target: 'analyzed', actions: ['runObserved', emitRun('analyzed')] },
          ...run_observed,
        ],
      },
    },
    analyzed: { on: { approve: approve('analyzed'), edit_prompt, archive, ...running } },
    // The run was requested just as the brief was archived.
    archived: { on: { run_queued: { actions: ['touch', 'cancelRun'] } } },
  },
})

function envelope({ project, sections }: FormationBriefContext): FactEnvelope {
  return { ...projectEnvelope(project), throttle: sections.throttle }
}

function terms({ value, context }: SnapshotOf<FormationBriefContext>): readonly Term[] {
  const order = context.created_at
  const inProject = { index: 'project', value: context.project, order }
  // For a brief that is to be run, a person is called if its approvals lapse; whether they have is checked when the row
  // is read.
  const called = value === 'reviewable' ? value : TO_BE_RUN.has(value) ? 'lapsed' : undefined
  return called === undefined ? [inProject] : [inProject, { index: 'attention', value: called, order }]
}

const UNCOMPILED = new Set(['draft', 'reviewable', 'approved'])
/** States in which one of its runs is under way. */
const WITH_RUN = new Set(['queued', 'accepted', 'executing'])

function document({ value, context }: SnapshotOf<FormationBriefContext>): FormationBrief {
  const { internal: _, sections, compiled, approvals, reason, created_by, ...shown } = context
  const missing = UNCOMPILED.has(value) ? textFaults(context) : []
  return {
    ...shown,
    schema_version: FORMATION_BRIEF_SCHEMA_VERSION,
    state: value as FormationBrief['state'],
    ...(compiled === undefined ? {} : { digest: compiled.digest, compiled }),
    ...sections,
    approvals: [...approvals],
    ...(reason === undefined ? {} : { reason }),
    ...(missing.length === 0 ? {} : { missing: [...missing] }),
    ...(created_by === undefined ? {} : { created_by: { ...created_by } }),
  } as FormationBrief
}

/** Version 1 knew only drafts, each with the digest of its sections. */
function fromDigestedDraft(persisted: any): unknown {
  const { digest: _, ...context } = persisted.context
  return { ...persisted, context: { ...context, approvals: [] } }
}

/** Up to version 4 a brief knew only its latest run, and whether that one waited for an approval. */
function fromOneRun(persisted: any): unknown {
  const { value, context } = persisted
  const { waiting, ...internal } = context.internal
  const isOpen = WITH_RUN.has(value) || (value !== 'archived' && context.run?.state === 'lost')
  const runs = isOpen ? [waiting === undefined ? context.run : { ...context.run, waiting }] : []
  return { ...persisted, context: { ...context, internal: { ...internal, runs } } }
}

export const formationBriefModule: MachineModule<FormationBriefContext, FormationBriefBody> = {
  kind: 'formation_brief',
  version: 6,
  machine: formationBriefMachine,
  migrations: {
    // 2: has states besides `draft`.
    1: fromDigestedDraft,
    // 3: refuses more approvals.
    2: (snapshot) => snapshot,
    // 4: refuses more submissions for review.
    3: (snapshot) => snapshot,
    // 5: remembers all of its runs that have not ended.
    4: fromOneRun,
    // 6: is listed in `attention` while it is to be run.
    5: (snapshot) => snapshot,
  },
  internal: ['run_queued', 'run_accepted', 'run_started', 'run_completed', 'run_stopped', 'run_observed'],
  repeats: rules.repeats,
  refusal: rules.refusal,
  envelope,
  terms,
  deadlineStates: [],
  deadlines: () => [],
  testimony: formationBriefTestimony,
  document,
}
