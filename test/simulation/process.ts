/**
 * One life of the service: the real code from http/ down, on the simulated disk, clock and wire, until it is killed,
 * loses power, stops by itself or is stopped. What its code still does after its end reaches nobody.
 */
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { type Service, startService } from '../../http/service.ts'
import type { Runtime } from '../../runtime/api.ts'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import type { Opener } from './disk/disk.ts'
import { SimulatedPlatform } from './platform.ts'
import { Violation } from './violation.ts'
import { Wire } from './wire.ts'
import type { World } from './world.ts'

/** A service that has failed ends by itself within this time. */
const FATAL_EXIT_MS = 200

/** What the service may log as an error, because the disk broke. Anything else is an error of its own. */
const EXCUSED: readonly string[] = ['the storage failed', 'the journal has failed', 'a retention sweep ended early']

export class Process implements Opener {
  readonly number: number
  readonly wire = new Wire()
  isAlive = true
  /** Answers requests. */
  isServing = false
  /** Its log has failed: it ends in a moment, and cannot know whether its last batch is on disk. */
  isDoomed = false
  journal: DiskJournal | undefined
  private readonly world: World
  private service: Service | undefined

  constructor(world: World, number: number) {
    this.world = world
    this.number = number
  }

  get runtime(): Runtime {
    return this.service!.runtime
  }

  /** Resolves when it serves, or is gone. Rejects with what kept a living process from starting. */
  async start(): Promise<void> {
    const { world, wire } = this
    const { timeline, random, clock, settings, disk } = world
    const platform = new SimulatedPlatform(timeline, random.fork(), clock, () => this.isAlive)
    const medium = disk.medium(settings.home, this)
    const onFatal = (failure: Error): void => this.fail(failure)
    try {
      this.service = await startService(settings, {
        version: 'simulated',
        platform,
        log: this.log(),
        metrics: { registry: new Registry() },
        residentActorsMax: world.plan.residentActorsMax,
        createServer: () => wire,
        saveAdminToken: (token) => world.keepAdminToken(token),
        openJournal: async (onFailure) => {
          const journal = await openDiskJournal({ ...settings, medium, platform, onFailure })
          const append = journal.append.bind(journal)
          journal.append = (steps, done) => {
            world.appending(steps)
            append(steps, done)
          }
          this.journal = journal
          return journal
        },
        onFatal,
      })
    } catch (error) {
      if (!this.isAlive) return
      throw error
    }
    if (!this.isAlive) return
    this.isServing = true
  }

  /** Stops gracefully. Resolves when it has ended, even if it was killed on the way. */
  async stop(): Promise<void> {
    await Promise.race([this.service!.close(), this.gone])
    if (!this.isAlive) return
    this.end()
    // A write that failed at the very end is for the next process to find, and not for one after it.
    this.world.disk.abandon('kill')
    this.world.network.cutAll()
  }

  die(by: 'kill' | 'power'): void {
    if (!this.isAlive) return
    this.end()
    this.world.disk.abandon(by)
    this.world.network.cutAll()
    this.world.onDeath(this, by)
  }

  private end(): void {
    this.isAlive = false
    this.isServing = false
    this.leave()
  }

  private readonly mourners: (() => void)[] = []
  private readonly gone = new Promise<void>((resolve) => this.mourners.push(resolve))

  private leave(): void {
    for (const mourner of this.mourners.splice(0)) mourner()
  }

  /** Called once, when the process is gone. */
  whenGone(callback: () => void): void {
    this.mourners.push(callback)
  }

  /** The service reports that it cannot go on. */
  private fail(failure: Error): void {
    if (!this.isAlive || this.isDoomed) return
    this.isDoomed = true
    this.world.history.note(this.toString(), () => `cannot go on: ${failure.message}`)
    this.world.timeline.in(this.world.random.between(0, FATAL_EXIT_MS), () => this.die('kill'))
  }

  /** The structured log, checked for what must never be in it. */
  private log(): Logger {
    const tell = (level: string) => (fields: object, message?: string) => {
      if (!this.isAlive) return
      const { err } = fields as { err?: Error }
      const text = message ?? String(fields)
      this.world.history.note(this.toString(), () => `${level} ${text} ${err?.stack ?? ''}`)
      if (level === 'error' && !EXCUSED.includes(text))
        this.world.timeline.fail(new Violation('the service logs no error of its own', `${text}: ${err?.stack ?? ''}`))
    }
    const log = { info: tell('info'), warn: tell('warn'), error: tell('error'), fatal: tell('fatal') }
    return { ...log, isLevelEnabled: () => false } as unknown as Logger
  }

  toString(): string {
    return `service ${this.number}`
  }
}
