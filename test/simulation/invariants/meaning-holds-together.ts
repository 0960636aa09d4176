/**
 * Links exist on both sides, and no records have replaced each other; an accepted hypothesis has exactly one record; a
 * record has heard of each of its observations in the log once; and its drift status is the one that its observations
 * give.
 */

import { intentRecordIdOf } from '../../../machines/documents/observation.ts'
import { driftState } from '../../../machines/drift/state.ts'
import { standing, withLapse } from '../../../machines/drift/status.ts'
import type { HypothesisContext } from '../../../machines/hypothesis/context.ts'
import { IntentCheck } from '../../../machines/intent-check.ts'
import { subjectOf } from '../../../machines/intent-record/changes.ts'
import type { IntentRecordContext } from '../../../machines/intent-record/context.ts'
import { isGuiding } from '../../../machines/intent-record.ts'
import type { SnapshotOf } from '../../../machines/machine.ts'
import type { Process } from '../process.ts'
import { Violation } from '../violation.ts'
import type { World } from '../world.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'intent records are consistent'

type Record = SnapshotOf<IntentRecordContext>

export const meaningHoldsTogether: MakeInvariant = (world) => {
  /** Record that was made of a hypothesis, as it was answered. */
  const accepted = new Map<string, string>()
  /** Observations that the log holds of each record. */
  const observed = new Map<string, number>()
  return {
    name: NAME,
    event({ type, payload }) {
      if (type !== 'evidence_observed') return
      const id = intentRecordIdOf(payload)
      if (id !== undefined) observed.set(id, (observed.get(id) ?? 0) + 1)
    },
    said(said) {
      const { call, status } = said
      if (status !== 200 || call.pattern !== '/hypotheses/:id/accept') return
      const { hypothesis, intent_record } = said.body
      const before = accepted.get(hypothesis.id) ?? intent_record.id
      if (before !== intent_record.id || hypothesis.intent_record_id !== intent_record.id)
        throw new Violation(NAME, `${hypothesis.id} was answered to be ${before}, and then ${intent_record.id}`)
      accepted.set(hypothesis.id, intent_record.id)
    },
    async finally(process) {
      await process.journal!.settled()
      for (const { key } of world.made.projects) look(world, process, key, accepted, observed)
    },
  }
}

function look(
  world: World,
  { runtime }: Process,
  project: string,
  accepted: ReadonlyMap<string, string>,
  observed: ReadonlyMap<string, number>,
): void {
  const records = new Map<string, Record>()
  for (const { snapshot } of runtime.scan('intent_record', 'project', project))
    records.set(snapshot.context.id, snapshot)
  const check = new IntentCheck(project, (id) => records.get(id))
  const made = new Map<string, number>()
  for (const record of records.values()) {
    const { id, hypothesis_id, drift } = record.context
    check.record(record)
    if (hypothesis_id !== undefined) made.set(hypothesis_id, (made.get(hypothesis_id) ?? 0) + 1)
    hasHeardOnce(record, observed.get(id) ?? 0, world.plan.isRetaining)
    for (const [peer, conflict] of Object.entries(drift.conflicts)) agrees(id, conflict, peer, records.get(peer))
    saysItsWord(record, new Date(world.clock.offsetMs + world.timeline.nowMs).toISOString())
  }
  for (const { snapshot } of runtime.scan('hypothesis', 'project', project)) {
    check.hypothesis(snapshot)
    isDecidedOnce(snapshot, made, accepted)
  }
  const errors = check.result().findings.filter(({ level }) => level === 'error')
  if (errors.length > 0) throw new Violation(NAME, JSON.stringify(errors.slice(0, 3)))
}

/** Where retention forgets engine runs, one may be said again. */
function hasHeardOnce({ context }: Record, inTheLog: number, isRetaining: boolean): void {
  if (isRetaining || context.drift.count === inTheLog) return
  throw new Violation(NAME, `${context.id} has heard of ${context.drift.count} observations, the log holds ${inTheLog}`)
}

type Conflict = IntentRecordContext['drift']['conflicts'][string]

function agrees(id: string, ours: Conflict, peerId: string, peer: Record | undefined): void {
  const theirs = peer?.context.drift.conflicts[id]
  const isTold = theirs !== undefined && theirs.theirs === ours.ours && theirs.ours === ours.theirs
  if (isTold && ours.guiding === isGuiding(peer!.value)) return
  throw new Violation(NAME, `${id} and ${peerId} do not agree on their conflict: ${JSON.stringify([ours, theirs])}`)
}

function saysItsWord({ value, context }: Record, now: string): void {
  const { status: known } = withLapse(driftState(context), now)
  const due = isGuiding(value) ? standing(subjectOf(context), now).status : undefined
  if (known !== due) throw new Violation(NAME, `the drift of ${context.id} is kept as ${known}, and is ${due}`)
}

function isDecidedOnce(
  { value, context }: SnapshotOf<HypothesisContext>,
  made: ReadonlyMap<string, number>,
  accepted: ReadonlyMap<string, string>,
): void {
  const { id, intent_record_id } = context
  const records = made.get(id) ?? 0
  if (records !== (value === 'accepted' ? 1 : 0))
    throw new Violation(NAME, `${id} is ${value}, with ${records} records`)
  const answered = accepted.get(id)
  if (answered !== undefined && answered !== intent_record_id)
    throw new Violation(NAME, `${id} was answered to be ${answered}, and is ${intent_record_id}`)
}
