/**
 * Forgets what is older than the setting allows: a prefix of the events, and entities whose life ended before it.
 * Works in small steps between other work, a little every minute, and never touches what is unsettled.
 */
import type { ActorKind, ActorRef, MachineModule, Retirement, Term } from '../machines/machine.ts'
import type { Journal } from '../storage/journal.ts'
import type { ActorTable } from './actor.ts'
import type { Nature } from './api.ts'
import { retentionRowsPerSweepMax, retentionSweepMs } from './limits.ts'
import type { Logger } from './log.ts'
import type { Reader } from './reader.ts'
import type { Settings } from './settings.ts'

export interface RetentionParts {
  readonly journal: Journal
  readonly actors: ActorTable
  readonly reader: Reader
  readonly nature: Nature
  readonly log: Logger
  readonly modules: Readonly<Record<ActorKind, MachineModule>>
}

interface Ages {
  /** Age at which events are forgotten. */
  readonly retentionMs: number
  /** Age, counted from their end, at which entities are: their keys and their late events are promised so long. */
  readonly entityRetentionMs: number
}

/** Undefined: the settings keep everything for ever. */
export function retentionOf(settings: Settings, parts: RetentionParts): Retention | undefined {
  const { retentionMs, idempotencyMs, lateEventsMs } = settings
  if (retentionMs === undefined) return undefined
  const entityRetentionMs = Math.max(retentionMs, idempotencyMs, lateEventsMs)
  return new Retention({ ...parts, retentionMs, entityRetentionMs })
}

interface Place {
  readonly order: string
  readonly id: string
}

export class Retention {
  private readonly parts: RetentionParts & Ages
  /** Where the next sweep goes on, by kind and index value. */
  private readonly places = new Map<string, Place>()
  private timer: unknown
  private sweeping: Promise<void> = Promise.resolve()
  private isStopped = false

  constructor(parts: RetentionParts & Ages) {
    this.parts = parts
  }

  start(): void {
    this.timer = this.parts.nature.setTimer(() => {
      this.sweeping = this.sweep()
        .catch((error) => this.parts.log.warn({ err: error }, 'a retention sweep was cut short'))
        .finally(() => this.isStopped || this.start())
    }, retentionSweepMs)
  }

  /** Resolves when nothing is being removed any more. */
  async stop(): Promise<void> {
    this.isStopped = true
    this.parts.nature.clearTimer(this.timer)
    await this.sweeping
  }

  /** One sweep over the events and over each kind that retires. */
  async sweep(): Promise<void> {
    const { journal, nature, retentionMs, entityRetentionMs, modules } = this.parts
    const beforeMs = nature.wallMs() - retentionMs
    let more = true
    while (more && this.mayGoOn()) more = (await journal.trim({ recordedBeforeMs: beforeMs })).more
    const before = new Date(nature.wallMs() - entityRetentionMs).toISOString()
    for (const module of Object.values(modules))
      for (const value of module.retirement?.values ?? [])
        if (this.mayGoOn()) await this.sweepIndex(module, module.retirement!, value, before)
  }

  private mayGoOn(): boolean {
    return !this.isStopped && this.parts.journal.refuses() === undefined
  }

  /** Looks at the oldest rows first; an entity never settles before it was made, so a young row ends the sweep. */
  private async sweepIndex(
    module: MachineModule,
    retirement: Retirement,
    value: string,
    before: string,
  ): Promise<void> {
    const { journal, reader } = this.parts
    const { kind } = module
    const placeKey = `${kind}/${value}`
    const after = this.places.get(placeKey)
    const query = { kind, index: retirement.index, value, limit: retentionRowsPerSweepMax, reverse: false }
    const page = await journal.list(after === undefined ? query : { ...query, after })
    const old = page.rows.filter((row) => row.order < before)
    const retired: { ref: ActorRef; terms: readonly Term[] }[] = []
    for (const row of old) {
      const snapshot = reader.open(kind, row.id, row.record)
      const endedAt = snapshot === undefined ? undefined : retirement.at(snapshot)
      if (endedAt !== undefined && endedAt < before)
        retired.push({ ref: { kind, id: row.id }, terms: module.terms(snapshot!) })
    }
    const last = old[old.length - 1]
    if (last !== undefined && old.length === page.rows.length && page.more) this.places.set(placeKey, last)
    else this.places.delete(placeKey)
    await this.forget(retired)
  }

  private async forget(retired: readonly { ref: ActorRef; terms: readonly Term[] }[]): Promise<void> {
    const { journal, actors, log } = this.parts
    const entities = retired
      .filter(({ ref }) => actors.forget(ref))
      .map(({ ref, terms }) => ({ kind: ref.kind, id: ref.id, terms }))
    if (entities.length === 0) return
    log.info({ removed: await journal.removeEntities(entities) }, 'entities past retention were forgotten')
  }
}
