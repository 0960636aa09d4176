/**
 * What goes into a turn's batch: the waiting actors are stepped in turn, each with several messages, until the batch is
 * full. Those left over wait for the next turn, in order.
 */
import { type Journal, JournalFailure } from '../storage/journal.ts'
import type { Actor, ActorTable, Mail } from './actor.ts'
import { quarantined } from './answers.ts'
import type { Platform } from './api.ts'
import type { Batch } from './batch.ts'
import type { IsolatedSteps } from './isolated-steps.ts'
import * as limits from './limits.ts'
import type { Ready } from './ready.ts'
import type { SetAside } from './set-aside.ts'

const NOBODY: ReturnType<Ready['take']> = { begun: [], fresh: [] }

interface FillingParts {
  readonly platform: Pick<Platform, 'monotonicMs'>
  readonly journal: Journal
  readonly actors: ActorTable
  readonly ready: Ready
  readonly isolated: IsolatedSteps
  readonly setAside: SetAside
}

export class Filling {
  private readonly parts: FillingParts

  constructor(parts: FillingParts) {
    this.parts = parts
  }

  /**
   * Steps existing actors first, but always some new ones. Throws JournalFailure if the journal can no longer be read.
   * The actors then wait again, and the batch must be dropped, because committing a later delivery would mark an
   * earlier one from the same sender, which could not be stepped, as applied.
   */
  fill(batch: Batch): void {
    const { ready } = this.parts
    const isolated = this.parts.isolated.next()
    const { begun, fresh } = isolated === undefined ? ready.take() : NOBODY
    const keptForFresh = fresh.length === 0 ? 0 : limits.newStepsPerBatchMin
    try {
      if (isolated !== undefined) this.stepMails(isolated, batch, 1)
      this.stepSome(begun, limits.stepsPerBatchMax - keptForFresh, batch)
      this.stepSome(fresh, limits.stepsPerBatchMax, batch)
    } catch (error) {
      if (error instanceof JournalFailure) for (const actor of [...begun, ...fresh]) ready.push(actor)
      throw error
    }
  }

  private stepSome(actors: readonly Actor[], stepsMax: number, batch: Batch): void {
    const { platform, ready } = this.parts
    const endMs = platform.monotonicMs() + limits.stepsMsPerBatchMax
    const eventsMax = batch.events.length + limits.eventsPerBatchMax
    const charsMax = batch.chars + limits.charsPerBatchMax
    for (const actor of actors) {
      const hasRoom = batch.events.length < eventsMax && batch.chars < charsMax
      if (hasRoom && batch.steps.length < stepsMax && platform.monotonicMs() < endMs) this.stepActor(actor, batch)
      else ready.push(actor)
    }
  }

  private stepActor(actor: Actor, batch: Batch): void {
    const { journal, ready } = this.parts
    if (actor.committing) {
      // The journal answers asynchronously: once its step is durable, the actor is put back.
      actor.ready = false
      return
    }
    this.stepMails(actor, batch, journal.synchronous ? limits.stepsPerActorPerBatchMax : 1)
    actor.ready = actor.mailCount > 0
    if (actor.ready) ready.push(actor)
  }

  private stepMails(actor: Actor, batch: Batch, limit: number): void {
    actor.used = true
    const isReadable = this.parts.actors.load(actor)
    const before = actor.record
    const charsMax = batch.chars + limits.charsPerBatchMax
    for (let steps = 0; steps < limit && batch.chars < charsMax; steps++) {
      const mail = actor.take()
      if (mail === undefined) break
      if (steps > 0 && mail.source.from === 'deadline') {
        // A message stepped just before may have renewed or ended the deadline, which counts only once it is on disk.
        actor.putFirst([mail])
        break
      }
      if (isReadable) this.stepMail(actor, mail, batch)
      else batch.settled.push({ actor, mail, answer: quarantined(actor.ref) })
    }
    actor.committing = actor.record !== before
  }

  private stepMail(actor: Actor, mail: Mail, batch: Batch): void {
    const { setAside } = this.parts
    if (setAside.takesBehind(actor, mail)) return
    try {
      batch.step(actor, mail)
    } catch (error) {
      if (error instanceof JournalFailure) {
        actor.put(mail)
        throw error
      }
      const answer = setAside.failed(actor, mail, error)
      if (answer !== undefined) batch.settled.push({ actor, mail, answer })
    }
  }
}
