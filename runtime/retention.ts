/**
 * Forgets what is older than the settings allow: a prefix of the events, entities that ended before it, and expired
 * reservations of keys (these even if events and entities are kept for ever). Works in small steps between other work,
 * every few seconds, and never removes what is unsettled or what something unsettled needs.
 */
import type { ActorKind, ActorRef, MachineModule, Retirement, Term } from '../machines/machine.ts'
import type { Journal, ListRow } from '../storage/journal.ts'
import { turn } from '../storage/platform.ts'
import type { ActorTable } from './actor.ts'
import type { Platform } from './api.ts'
import { isKeyOver, KEPT_KEYS } from './entities/kept-keys.ts'
import {
  retentionFirstSweepMs,
  retentionPagesUnderWay,
  retentionRowsKeptPerSweepMax,
  retentionRowsPerPage,
  retentionSweepMs,
  retentionToldMs,
} from './limits.ts'
import type { Logger } from './log.ts'
import type { Reader } from './reader.ts'
import type { Settings } from './settings.ts'
import { BelievedClock } from './time/believed-clock.ts'

interface RetentionParts {
  readonly journal: Journal
  readonly actors: ActorTable
  readonly reader: Reader
  readonly platform: Platform
  readonly log: Logger
  readonly modules: Readonly<Record<ActorKind, MachineModule>>
}

interface Ages {
  /** Age at which events are forgotten. */
  readonly retentionMs: number
  /** Age, counted from an entity's end, at which it is forgotten: keys and late events are promised for that long. */
  readonly entityRetentionMs: number
}

export function retentionOf(settings: Settings, parts: RetentionParts): Retention {
  const { retentionMs, idempotencyMs, lateEventsMs } = settings
  if (retentionMs === undefined) return new Retention(parts, idempotencyMs, undefined)
  const entityRetentionMs = Math.max(retentionMs, idempotencyMs, lateEventsMs)
  return new Retention(parts, idempotencyMs, { retentionMs, entityRetentionMs })
}

/** What sweeps have removed. */
interface Forgotten {
  events: number
  entities: number
}

interface Retired {
  readonly ref: ActorRef
  readonly terms: readonly Term[]
}

interface Place {
  readonly order: string
  readonly id: string
}

export class Retention {
  private readonly parts: RetentionParts
  /** Undefined: events and entities are kept for ever. */
  private readonly ages: Ages | undefined
  private readonly clock: BelievedClock
  private readonly needs: ((ref: ActorRef) => boolean)[] = []
  /** Where the next sweep continues, by kind and index value. */
  private readonly places = new Map<string, Place>()
  /** The key after which the next sweep continues. */
  private lastKey: string | undefined
  /** Removed since the last log line, which was written at `toldMs` (monotonic). */
  private readonly forgotten: Forgotten = { events: 0, entities: 0 }
  private toldMs = Number.NEGATIVE_INFINITY
  private timer: unknown
  private sweeping: Promise<void> = Promise.resolve()
  private isStopped = false

  /** @param idempotencyMs how long keys are kept: they expire even if events and entities are kept for ever. */
  constructor(parts: RetentionParts, idempotencyMs: number, ages: Ages | undefined) {
    this.parts = parts
    this.ages = ages
    this.clock = new BelievedClock(parts, Math.min(ages?.retentionMs ?? idempotencyMs, idempotencyMs))
  }

  /** An entity past retention is kept while any of these functions returns true for it. */
  addGuard(isNeeded: (ref: ActorRef) => boolean): void {
    this.needs.push(isNeeded)
  }

  start(): void {
    this.sweepIn(retentionFirstSweepMs)
  }

  /** Resolves when no removal is under way any more. */
  async stop(): Promise<void> {
    this.isStopped = true
    this.parts.platform.clearTimer(this.timer)
    await this.sweeping
  }

  private sweepIn(ms: number): void {
    this.timer = this.parts.platform.setTimer(() => {
      this.sweeping = this.sweep()
        .catch((error) => this.parts.log.warn({ err: error }, 'a retention sweep ended early'))
        .finally(() => this.isStopped || this.sweepIn(retentionSweepMs))
    }, ms)
  }

  async sweep(): Promise<void> {
    const nowMs = this.clock.nowMs()
    try {
      if (this.ages !== undefined) await this.sweepHistory(this.ages, nowMs)
    } finally {
      // No event mentions a key, so keys are swept even if events cannot be.
      await this.sweepKeys(nowMs)
    }
  }

  /**
   * One sweep over the events and over each kind that retires, with one cutoff, so that an entity never goes before the
   * events that mention it. What was removed is logged, even if the sweep was cut short.
   */
  private async sweepHistory({ retentionMs, entityRetentionMs }: Ages, nowMs: number): Promise<void> {
    const { modules } = this.parts
    const beforeMs = nowMs - retentionMs
    const entitiesBefore = new Date(nowMs - entityRetentionMs).toISOString()
    try {
      await this.sweepEvents(beforeMs)
      for (const module of Object.values(modules))
        for (const value of module.retirement?.values ?? [])
          if (this.mayGoOn())
            this.forgotten.entities += await this.sweepIndex(module, module.retirement!, value, entitiesBefore)
    } finally {
      this.tell(beforeMs)
    }
  }

  /** Logs the first removal at once, later ones in one line an hour. */
  private tell(beforeMs: number): void {
    const { platform, journal, log } = this.parts
    const { events, entities } = this.forgotten
    const nowMs = platform.monotonicMs()
    if ((events === 0 && entities === 0) || nowMs - this.toldMs < retentionToldMs) return
    this.toldMs = nowMs
    Object.assign(this.forgotten, { events: 0, entities: 0 })
    const upTo = { lastForgotten: journal.oldestSequence - 1, recordedBefore: new Date(beforeMs).toISOString() }
    log.info({ events, ...upTo, entities }, 'retention removed old events and entities')
  }

  /** Also below the disk reserve: removing log files is what frees space. */
  private async sweepEvents(beforeMs: number): Promise<void> {
    const { journal, log } = this.parts
    const mayGoOn = () => this.mayGoOn() || (!this.isStopped && journal.refuses() === 'disk_reserve')
    let more = true
    let lost = 0
    try {
      while (more && mayGoOn()) {
        const step = await journal.trim({ recordedBeforeMs: beforeMs })
        this.forgotten.events += step.removed
        lost += step.lost ?? 0
        more = step.more
      }
    } finally {
      if (lost > 0) log.warn({ lost }, 'retention removed old events that could not be read')
    }
  }

  /**
   * Visits the keys by name, which has nothing to do with age: sweeps take turns at those still kept, a bounded number
   * in each.
   */
  private async sweepKeys(nowMs: number): Promise<void> {
    const isOver = (value: string): boolean => isKeyOver(value, nowMs)
    let kept = 0
    let more = true
    while (more && kept < retentionRowsKeptPerSweepMax && this.mayGoOn()) {
      const place = { scope: KEPT_KEYS, after: this.lastKey, limit: retentionRowsPerPage }
      const page = await this.parts.journal.sweepReservations({ ...place, isOver })
      this.lastKey = page.last
      more = page.last !== undefined
      kept += page.looked - page.removed
    }
  }

  private mayGoOn(): boolean {
    return !this.isStopped && this.parts.journal.refuses() === undefined
  }

  /**
   * Visits the rows oldest first, page by page, up to the first young one: an entity never ends before it was made. A
   * sweep looks at a bounded number of rows that must still be kept, and the next continues after them, so that they
   * never block those that may go. Resolves to the number forgotten.
   */
  private async sweepIndex(
    module: MachineModule,
    retirement: Retirement,
    value: string,
    before: string,
  ): Promise<number> {
    const { kind } = module
    const placeKey = `${kind}/${value}`
    const removals: Promise<number>[] = []
    let removed = 0
    let kept = 0
    let more = true
    while (more && kept < retentionRowsKeptPerSweepMax && this.mayGoOn()) {
      const after = this.places.get(placeKey)
      const place = { kind, index: retirement.index, value, limit: retentionRowsPerPage, reverse: false }
      // Decided in the turn of this read: the removal passes over entities that an unapplied step has changed.
      const query = { ...place, mayLag: true } as const
      const page = await this.parts.journal.list(after === undefined ? query : { ...query, after })
      const old = page.rows.filter((row) => row.order < before)
      const retired = this.retired(module, retirement, old, before)
      const last = old[old.length - 1]
      more = last !== undefined && old.length === page.rows.length && page.more
      if (more) this.places.set(placeKey, last!)
      else this.places.delete(placeKey)
      kept += old.length - retired.length
      const removal = this.forget(retired)
      // Its rejection is handled below, in sumOf.
      removal.catch(() => {})
      removals.push(removal)
      if (removals.length === retentionPagesUnderWay) removed += await sumOf(removals.splice(0))
      else if (more) await turn(this.parts.platform)
    }
    return removed + (await sumOf(removals))
  }

  private retired(module: MachineModule, retirement: Retirement, rows: readonly ListRow[], before: string): Retired[] {
    const { kind } = module
    const retired: Retired[] = []
    for (const { id, record } of rows) {
      const snapshot = this.parts.reader.open(kind, id, record)
      const endedAt = snapshot === undefined ? undefined : retirement.at(snapshot)
      if (endedAt === undefined || endedAt >= before) continue
      // If a clock set back meanwhile made it end before it was made, the event that made it is still in the log.
      const madeAt = module.testimony.madeAt(snapshot!.context)
      if (madeAt !== undefined && madeAt >= before) continue
      const ref = { kind, id }
      if (!this.needs.some((isNeeded) => isNeeded(ref))) retired.push({ ref, terms: module.terms(snapshot!) })
    }
    return retired
  }

  private async forget(retired: readonly Retired[]): Promise<number> {
    const { journal, actors } = this.parts
    const entities = retired
      .filter(({ ref }) => actors.forget(ref))
      .map(({ ref, terms }) => ({ kind: ref.kind, id: ref.id, terms }))
    return entities.length === 0 ? 0 : journal.removeEntities(entities)
  }
}

/** Rejects once all have ended, if one has failed. */
async function sumOf(counts: readonly Promise<number>[]): Promise<number> {
  const ended = await Promise.allSettled(counts)
  let sum = 0
  for (const one of ended) {
    if (one.status === 'rejected') throw one.reason
    sum += one.value
  }
  return sum
}
