/**
 * The journal on the disk of one machine. The true state is the view at batch k plus the redo after k. An append is
 * one flushed transaction of the log, and calls `done` before it returns. The process may be killed at any moment: the
 * next start applies the redo. After a failed commit nothing more is written, since neither disk nor LMDB can be
 * trusted then.
 */

import { backup } from './copies/backup.ts'
import type { Environments, Marker, Medium } from './environments.ts'
import { messageOf } from './files/system-error.ts'
import type { DiskReserve, FreeBytes } from './home/disk-reserve.ts'
import { asHomeRefused } from './home/home-checks.ts'
import type { EnvironmentOptions } from './home/home-environments.ts'
import { environmentPaths } from './home/home-paths.ts'
import type { InstanceLock } from './home/instance-lock.ts'
import type {
  BackupBounds,
  BackupReport,
  EventPage,
  IndexRow,
  Journal,
  LastingLists,
  ListPage,
  ListQuery,
  ListRow,
  OutboxKey,
  OutboxRow,
  RemovedEntity,
  ReservationSweep,
  Step,
  SweptReservations,
  TrimCut,
  TrimStep,
} from './journal.ts'
import { JournalFailure, LIST_WAIT_MS } from './journal.ts'
import type { EventLog } from './log/event-log.ts'
import type { Platform } from './platform.ts'
import { applyRedo } from './recovery.ts'
import { trimOldest } from './retention/retention.ts'
import { Applier } from './view/applier.ts'
import { Indexes } from './view/indexes.ts'
import { assertStep } from './view/keys.ts'
import {
  countAcross,
  historyAcross,
  historyBackAcross,
  indexAcross,
  listAcross,
  outboxAcross,
  timersAcross,
} from './view/overlay.ts'
import { sweepReservations } from './view/removals.ts'
import { type DueTimer, scanPages, type View } from './view/view.ts'

export interface DiskJournalOptions extends Pick<EnvironmentOptions, 'onRepeat' | 'onThreadEnd' | 'logFileBytesMax'> {
  /** `ENGINE_HOME`. Created if absent. */
  readonly home: string
  readonly diskReserveBytes: number
  /** How to read the free space; defaults to the file system of the home. */
  readonly freeBytes?: FreeBytes
  /** The file system no longer reports its free space, and the last value stands. Called once each time this begins. */
  readonly onNoFreeSpaceTold?: (failure: Error) => void
  /** Called before a new home is made. If it throws, none is. */
  readonly beforeMaking?: () => Promise<void>
  /** Where the home is stored; defaults to the folder `home`. */
  readonly medium?: Medium
  /** Clocks, timers and randomness; defaults to the real ones. */
  readonly platform?: Platform
  /** A commit failed: answer 503 to everything in flight and end the process. Called once. */
  readonly onFailure: (failure: JournalFailure) => void
}

type Done = Parameters<Journal['append']>[1]
const entityName = (kind: string, id: string): string => `${kind}\n${id}`

export class DiskJournal implements Journal {
  readonly home: string
  readonly synchronous = true
  readonly environments: Environments
  readonly platform: Platform
  readonly disk: DiskReserve
  readonly #log: EventLog
  readonly #view: View
  readonly #applier: Applier
  readonly #lock: InstanceLock
  #readOnly: boolean
  readonly #onFailure: (failure: JournalFailure) => void
  #failure: JournalFailure | undefined
  #closed = false
  #closing: Promise<void> | undefined
  /** Entities that are being removed from the view. */
  readonly #leaving = new Set<string>()
  #trimming: Promise<unknown> = Promise.resolve()

  /** Use `openDiskJournal`. */
  constructor(
    options: DiskJournalOptions,
    parts: {
      environments: Environments
      log: EventLog
      view: View
      applied: Marker
      disk: DiskReserve
      lock: InstanceLock
      platform: Platform
    },
    readOnly: boolean,
  ) {
    this.home = options.home
    this.environments = parts.environments
    this.platform = parts.platform
    this.#log = parts.log
    this.#view = parts.view
    this.disk = parts.disk
    this.#lock = parts.lock
    this.#readOnly = readOnly
    this.#onFailure = options.onFailure
    this.#applier = new Applier(
      parts.view,
      parts.applied,
      parts.platform,
      (batch) => this.#log.applied(batch),
      (error) => this.#fail('the view could not be written', error),
    )
  }

  get epoch(): string {
    return this.#log.epoch
  }

  incarnationAt(sequence: number): string | undefined {
    return this.#log.incarnationAt(sequence)
  }

  get lastSequence(): number {
    return this.#log.lastSequence
  }

  get oldestSequence(): number {
    return this.#log.oldestSequence
  }

  /** What the view holds on disk: the last batch, or an earlier one. */
  get applied(): Marker {
    return this.#applier.applied
  }

  append(steps: readonly Step[], done: Done): void {
    for (const step of steps) assertStep(step)
    if (this.#failure !== undefined || this.#readOnly || this.#closed) {
      done(this.#failure ?? new JournalFailure('the journal accepts no writes'), null)
      return
    }
    let written: ReturnType<EventLog['append']>
    try {
      written = this.#log.append(steps)
    } catch (error) {
      done(this.#fail('the log could not be written', error), null)
      return
    }
    this.#applier.add(written.batch)
    this.disk.wrote(written.chars)
    done(null, written.batch)
  }

  actor(kind: string, id: string): string | undefined {
    const record = this.#applier.overlay((fold) => fold.record(kind, id))
    if (record !== undefined) return record
    return this.#leaving.has(entityName(kind, id)) ? undefined : this.#view.record(kind, id)
  }

  eventSequence(project: string, traceId: string | null, eventId: string): number | undefined {
    const sequence =
      this.#applier.overlay((fold) => fold.eventSequence(project, traceId, eventId)) ??
      this.#view.eventSequence(project, traceId, eventId)
    return sequence !== undefined && sequence < this.oldestSequence ? undefined : sequence
  }

  hasTrace(project: string, traceId: string): boolean {
    return (
      this.#applier.overlay((fold) => fold.hasTrace(project, traceId) || undefined) ??
      this.#view.hasTrace(project, traceId)
    )
  }

  reservation(scope: string, key: string): string | undefined {
    return this.#applier.overlay((fold) => fold.reservations.get(scope)?.get(key)) ?? this.#view.reservation(scope, key)
  }

  events(afterSequence: number, limit: number, bytesMax: number): EventPage {
    return this.#log.page(afterSequence, limit, bytesMax)
  }

  eventsBackward(beforeSequence: number, limit: number, bytesMax: number): EventPage {
    return this.#log.pageBackward(beforeSequence, limit, bytesMax)
  }

  event(sequence: number): string | undefined {
    return this.#log.event(sequence)
  }

  history(of: 'trace' | 'item', id: string, afterSequence: number, limit: number): readonly number[] {
    const after = Math.max(afterSequence, this.oldestSequence - 1)
    return historyAcross(this.#view.history(of, id, after, limit), this.#applier.foldsUnseen(), of, id, after, limit)
  }

  historyBackward(of: 'trace' | 'item', id: string, beforeSequence: number, limit: number): readonly number[] {
    const held = this.#view.historyBackward(of, id, beforeSequence, limit)
    const across = historyBackAcross(held, this.#applier.foldsUnseen(), of, id, beforeSequence, limit)
    return across.filter((sequence) => sequence >= this.oldestSequence)
  }

  async list(query: ListQuery): Promise<ListPage> {
    if (this.#readOnly || query.mayLag === true) return this.#listNow(query)
    await this.#applier.reached(this.#log.lastBatch, query.waits === true ? undefined : LIST_WAIT_MS)
    return this.#view.list(query)
  }

  count(kind: string, index: string, value: string): number {
    return countAcross(this.#view.count(kind, index, value), this.#applier.foldsUnseen(), kind, index, value)
  }

  timers(fromMs: number, toMs: number, limit: number): readonly DueTimer[] {
    return timersAcross((max) => this.#view.timers(fromMs, toMs, max), this.#applier.folds(), fromMs, toMs, limit)
  }

  outbox(): Iterable<OutboxKey & OutboxRow> {
    return outboxAcross(this.#view.outbox(), this.#applier.folds())
  }

  scan(kind: string, index: string, value: string): Iterable<ListRow> {
    return scanPages((query) => this.#listNow(query), kind, index, value)
  }

  scanIndex(kind: string, index: string): Iterable<IndexRow> {
    return indexAcross(this.#view.scanIndex(kind, index), this.#applier.foldsUnseen(), kind, index)
  }

  refuses(): string | undefined {
    if (this.#readOnly || this.#failure !== undefined || this.#closed) return 'read_only'
    if (this.disk.low) return 'disk_reserve'
    return this.#applier.refuses ? 'view_backlog' : undefined
  }

  waitForRoom(resume: () => void): boolean {
    return this.#applier.waitForRoom(resume)
  }

  settled(): Promise<void> {
    return this.#applier.reached(this.#log.lastBatch)
  }

  trim(cut: TrimCut): Promise<TrimStep> {
    return this.#serially(() =>
      trimOldest(cut, this.#log, this.#applier, this.environments.forgetter, {
        platform: this.platform,
        hasRoom: () => this.disk.hasRoomToForget(),
        assertWritable: () => this.#assertWritable(),
        onFailure: (error) => this.#fail('retention failed', error),
      }),
    )
  }

  /**
   * From this call on the entities are gone for every reader. A step on one of them is the first of a new life, and is
   * written after the removal.
   */
  async removeEntities(entities: readonly RemovedEntity[]): Promise<number> {
    this.#assertWritable()
    const idle = entities.filter(({ kind, id }) => this.#applier.overlay((fold) => fold.record(kind, id)) === undefined)
    const names = idle.map(({ kind, id }) => entityName(kind, id))
    for (const name of names) this.#leaving.add(name)
    try {
      return await this.#applier.exclusive(() => this.environments.forgetter.removeEntities(idle))
    } finally {
      for (const name of names) this.#leaving.delete(name)
    }
  }

  async sweepReservations(sweep: ReservationSweep): Promise<SweptReservations> {
    this.#assertWritable()
    return sweepReservations(this.#view, this.#applier, sweep, (scope, key) => this.reservation(scope, key))
  }

  /**
   * Runs `copy` while retention and redo trimming are paused, so that the copied log reaches back to the copied view.
   * `copy` gets a function that releases the redo early.
   */
  whileRedoKept<V>(copy: (releaseRedo: () => void) => Promise<V>): Promise<V> {
    return this.#serially(async () => {
      const releaseRedo = this.#log.keepRedo()
      return copy(releaseRedo).finally(releaseRedo)
    })
  }

  get lists(): LastingLists {
    return new Indexes(this.environments.view)
  }

  backup(directory: string, bounds: BackupBounds, giveUp?: AbortSignal, note?: () => object): Promise<BackupReport> {
    return backup(this, directory, bounds, giveUp, note)
  }

  get backlogBatches(): number {
    return this.#log.lastBatch - this.applied.batch
  }

  onFlush(observe: (ms: number) => void): void {
    this.#log.onFlush.push(observe)
  }

  /** Writes nothing to the view until the promise settles: for maintenance that needs it at rest. */
  holdView(until: Promise<void>): Promise<void> {
    return this.#applier.exclusive(() => until)
  }

  /** Brings the view up to date and closes both environments. A failed journal is closed as it is. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#trimming
    if (this.#failure === undefined && !this.#readOnly) {
      try {
        await this.settled()
        // Wait for any other write of the view: an environment must not be closed during a write.
        await this.#applier.exclusive(async () => {})
        this.#log.flush()
      } catch (error) {
        this.#fail('closing failed', error)
      }
    }
    this.#closed = true
    this.#applier.fail(new JournalFailure('the journal is closed'))
    this.disk.stop()
    // A fold that was being written when the journal failed may still be reading the view.
    await this.#applier.atRest()
    await this.environments.close()
    await this.#lock.release()
  }

  /** The view refuses reads, and no failed write has told why. */
  readFailed(error: Error): void {
    this.#fail('stored data cannot be read', asHomeRefused(environmentPaths(this.home).view, error) as Error)
  }

  stayReadOnly(): void {
    this.#readOnly = true
  }

  /** Called once by `openDiskJournal`, before anyone else has the journal. */
  async start(): Promise<void> {
    const recordBefore = (kind: string, id: string) => this.actor(kind, id)
    // Flush what an earlier process wrote and did not flush, before anyone sees it and before the view takes it in: a
    // power cut between the two would leave the view ahead of its log.
    this.environments.log.env.sync()
    const redo = this.#log.redoAfter(this.applied.batch, recordBefore)
    if (this.#readOnly) for (const batch of redo) this.#applier.hold(batch)
    else await applyRedo(redo, this.#log, this.#view, this.#applier)
  }

  /**
   * A page of an index, without waiting. In read-only mode the view is never brought up to date, so the folds are
   * added.
   */
  #listNow(query: ListQuery): ListPage {
    if (!this.#readOnly) return this.#view.list(query)
    return listAcross((more) => this.#view.list(more), this.#applier.folds(), query, this.lastSequence)
  }

  #fail(what: string, cause: unknown): JournalFailure {
    if (this.#failure === undefined) {
      const reason = cause instanceof Error ? messageOf(cause) : String(cause)
      this.#failure = new JournalFailure(`${what}: ${reason}`, { cause })
      this.#applier.fail(this.#failure)
      this.#onFailure(this.#failure)
    }
    return this.#failure
  }

  #assertWritable(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#readOnly || this.#closed) throw new JournalFailure('the journal accepts no writes')
  }

  /** Runs retention and backups one at a time. */
  #serially<V>(work: () => Promise<V>): Promise<V> {
    const result = this.#trimming.then(work)
    this.#trimming = result.catch(() => {})
    return result
  }
}
