/** A campaign's steps, by the names the chart uses; and its creation. */
import { nameOf, SERVICE_BY } from '../machine.ts'
import { creationRecord } from '../repeated-create.ts'
import { ownedIds } from '../work-item/owner.ts'
import { answerBusy, form, joinForming, type Step, standDownRequest } from './advance.ts'
import { tellLandedBefore } from './chain.ts'
import { askAboutEnd, askOwner, finish, pauseForming, takeStep } from './conclusions.ts'
import type { CampaignContext, CampaignMessage, Of } from './context.ts'
import {
  countAfterAll,
  dropResult,
  escalateAtOnce,
  formAfterCycle,
  giveCycleBack,
  keepResult,
  note,
  noteBegun,
  pauseAfterCycle,
} from './cycles.ts'
import { Draft } from './draft.ts'
import * as facts from './facts.ts'
import { join, leave, share, tellInitiatives } from './initiatives.ts'
import {
  cancel,
  cancelStopped,
  complete,
  discardCycle,
  dropStopped,
  pause,
  pauseEscalated,
  resumeEscalated,
  resumeEscalating,
  resumeForming,
  resumeWaiting,
  stopCycle,
} from './owners.ts'

export function create(message: Of<'create'>): CampaignContext {
  const { name, project, project_id, max_cycles, authorized_by, by, at } = message
  const { item_id: _, ...place } = ownedIds({ kind: 'campaign', ref: name, role: 'advance' }, at)
  return {
    name,
    project,
    project_id,
    asked: askedOf(message),
    max_cycles,
    ...(authorized_by === undefined ? {} : { authorized_by }),
    cycles_completed: 0,
    cycles_landed: 0,
    reason: `added by ${nameOf(by)}`,
    since: at,
    owner_decisions: [],
    history: [],
    created_at: at,
    internal: {
      creation: creationRecord(message),
      ...place,
      place: { ...place, causation_id: null },
      items: 0,
      requests: [],
      kept: [],
    },
  }
}

const OPTIONAL = [
  'intent_refs',
  'context_paths',
  'writable_repositories',
  'escalation',
  'agent_provider',
  'labels',
  'runner_id',
] as const

function askedOf(message: Of<'create'>): CampaignContext['asked'] {
  const { mission, done_evidence, by = SERVICE_BY } = message
  const given = OPTIONAL.flatMap((name) => (message[name] === undefined ? [] : [[name, message[name]]]))
  return { mission, done_evidence, added_by: by, ...Object.fromEntries(given) }
}

const STEPS = {
  form,
  joinForming,
  answerBusy,
  noteBegun,
  countAfterCompletion: countAfterAll(facts.completed),
  countAfterCancel: countAfterAll(facts.cancelled),
  formAfterCycle,
  escalateAtOnce,
  pauseAfterCycle,
  giveCycleBack,
  takeStep,
  finish,
  askOwner,
  pauseForming,
  askAboutEnd,
  pause,
  pauseEscalated,
  resumeEscalated,
  resumeWaiting,
  resumeForming,
  resumeEscalating,
  keepResult,
  standDownPaused: standDownRequest('paused'),
  standDownEscalated: standDownRequest('escalated'),
  standDownCompleted: standDownRequest('completed'),
  standDownCancelled: standDownRequest('cancelled'),
  dropCompleted: dropResult('completed'),
  dropCancelled: dropResult('cancelled'),
  complete,
  cancel,
  stopCycleOfActive: stopCycle('active'),
  stopCycleOfPaused: stopCycle('paused'),
  stopCycleOfCancelled: stopCycle('cancelled'),
  discardCycle,
  cancelStopped,
  dropStopped,
  note,
  join,
  leave,
  share,
} satisfies Record<string, Step>
export type StepName = keyof typeof STEPS

export function draftOf(name: StepName, context: CampaignContext, message: CampaignMessage): Draft {
  const draft = new Draft(context, message.at)
  STEPS[name](draft, message)
  tellLandedBefore(draft)
  tellInitiatives(draft, message)
  return draft
}
