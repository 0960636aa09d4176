/** What goes wrong with the service, its disk, its clock and its network, and when: drawn from the seed. */
import type { HomeRefused } from '../../storage/home/home-refused.ts'
import type { Deed, DiskWorld, Phase } from './disk/disk.ts'
import type { Change } from './disk/environment.ts'
import { AHEAD_MS } from './model/sentinels.ts'
import { CLEAR, type Weather } from './network.ts'
import { Random } from './random.ts'
import type { Timeline } from './timeline.ts'
import type { World } from './world.ts'

/** Crashes in one storm: more would show nothing new. */
const CRASHES_MAX = 4
/** How often a client goes away just after a commit, and how soon. */
const IMPATIENCE = 0.04
const IMPATIENT_MS_MAX = 0.4
const STORMY: Readonly<Weather> = { requestLost: 0.08, answerLost: 0.1, doubled: 0.1, wayMsMax: 3_000 }

/** The share of worlds with sentinels in which the clock is days ahead for some seconds, about this many. */
const FAR_SHARE = 0.3
const FAR_DAYS = 3
/** From when it is calm until these days pass at once, so that what was to wait for the time that the clock showed ends. */
const DAYS_PASS_MS = 240_000
/** Draws of its own, so that all other worlds are what they were. */
const FAR_STREAM = 77
const MINUTE_MS = 60_000

interface Trap {
  /** Phases that still pass before it strikes. */
  left: number
  readonly deed: Deed
}

export class Fate implements DiskWorld {
  readonly timeline: Timeline
  /** Deeds done so far. */
  deeds = 0
  /** When the disk, the clock or the service was last troubled, virtual. */
  lastTroubleMs = 0
  wasClockSet = false
  clockSetMs = Number.NEGATIVE_INFINITY
  /** It was days ahead for a while. */
  wasFarAhead = false
  /** By how much it was set forward in total. */
  clockForwardMs = 0
  /** By how much it was set back in total: what was due before waits that much longer. */
  clockBackMs = 0
  private readonly world: World
  private readonly random: Random
  private trap: Trap | undefined
  private crashes = 0
  private isActive = false
  /** By how much the clock is to be set back again. */
  private farAheadMs = 0
  private isFull = false
  /** The phase that was last struck, until the next start. */
  private lastPhase: Phase | undefined

  constructor(world: World, random: Random) {
    this.world = world
    this.random = random
    this.timeline = world.timeline
  }

  begin(): void {
    this.isActive = true
    this.setWeather()
    this.troubleLater()
    const { plan, seed } = this.world
    if (plan.sentinels > 0) this.farAhead(new Random(seed, FAR_STREAM), plan.stormMs)
  }

  end(): void {
    this.isActive = false
    this.setRight()
    if (this.wasFarAhead) this.timeline.in(DAYS_PASS_MS, () => this.turnClock(FAR_DAYS * AHEAD_MS))
    this.trap = undefined
    this.world.network.weather = { ...CLEAR }
    this.emptyDisk()
  }

  /**
   * A service starts: it may be struck before it serves, most of all when the one before it ended in the middle of a
   * write.
   */
  onBoot(): void {
    const share = this.lastPhase === 'log written' ? 0.7 : 0.2
    this.lastPhase = undefined
    if (this.isActive && this.crashes < CRASHES_MAX && this.random.chance(share)) this.setTrap(this.random.int(0, 6))
  }

  /** Whether a home may be refused for this. */
  excuses(refused: HomeRefused): boolean {
    return refused.code === 'disk_reserve' && this.isFull
  }

  // -- the disk asks --------------------------------------------------------------------------------------------

  deedAt(phase: Phase): Deed {
    if (this.isFull && this.world.disk.freeBytes === 0 && phase.endsWith('begins')) return this.done('full', phase)
    const { trap } = this
    if (trap === undefined || trap.left-- > 0) return 'go on'
    this.trap = undefined
    return this.done(trap.deed, phase)
  }

  viewWriteMs(): number {
    return this.random.skewed(0.2, this.isActive ? 400 : 10)
  }

  viewNewsMs(): number {
    return this.random.skewed(0, this.isActive ? 50 : 1)
  }

  chance(probability: number): boolean {
    return this.random.chance(probability)
  }

  onFlushed(changes: readonly Change[]): void {
    this.world.flushed(changes)
    // News makes work: at times the runner that it is for goes away in the turn in between.
    if (this.isActive && this.random.chance(IMPATIENCE))
      this.timeline.in(this.random.between(0, IMPATIENT_MS_MAX), () => this.world.network.losePatience())
  }

  // -- trouble --------------------------------------------------------------------------------------------------

  private troubleLater(): void {
    this.timeline.in(this.random.between(0, 2 * this.world.plan.troubleMs), () => {
      if (!this.isActive) return
      this.trouble()
      this.troubleLater()
    })
  }

  private trouble(): void {
    const { world, random } = this
    const kind = random.weighted({ trap: 6, crash: 2, restart: 1.5, weather: 2, clock: 1, full: 1, backup: 0.5 })
    const isCrash = kind === 'trap' || kind === 'crash' || kind === 'restart' || kind === 'full'
    if (isCrash && ++this.crashes > CRASHES_MAX) return
    world.history.note('fate', () => `brings ${kind}`)
    this.lastTroubleMs = this.timeline.nowMs
    if (kind === 'trap') this.setTrap(Math.floor(random.skewed(0, 40)))
    else if (kind === 'crash') world.process?.die(random.pick(['kill', 'power']))
    else if (kind === 'restart') world.restart().catch((error: unknown) => this.timeline.fail(error))
    else if (kind === 'weather') this.setWeather()
    else if (kind === 'clock') this.setClock()
    else if (kind === 'full') this.fillDisk()
  }

  private setTrap(left: number): void {
    this.trap = {
      left,
      deed: this.random.weighted({ kill: 4, power: 4, fail: 1.5 } satisfies Partial<Record<Deed, number>>),
    }
  }

  private done(deed: Deed, phase: Phase): Deed {
    this.deeds++
    this.lastPhase = phase
    this.lastTroubleMs = this.timeline.nowMs
    this.world.history.note('fate', () => `${deed} at: ${phase}`)
    return deed
  }

  private setWeather(): void {
    const share = this.world.plan.badWeather * this.random.next()
    const { requestLost, answerLost, doubled } = STORMY
    this.world.network.weather = {
      requestLost: requestLost * share,
      answerLost: answerLost * share,
      doubled: doubled * (0.2 + share),
      wayMsMax: CLEAR.wayMsMax + STORMY.wayMsMax * share,
    }
  }

  /** NTP, a person, a machine that slept: mostly by a little, at times by a lot, forward or back. */
  private setClock(): void {
    const { random } = this
    const byMs =
      random.pick([-1, 1]) * (random.chance(0.3) ? random.skewed(60_000, 3_600_000) : random.skewed(1, 20_000))
    this.turnClock(byMs)
  }

  /** A machine that has just booted: days ahead, and just before a full minute, at which sentinels fall due. */
  private farAhead(random: Random, stormMs: number): void {
    if (!random.chance(FAR_SHARE)) return
    this.timeline.in(random.between(0, stormMs / 2), () => {
      if (!this.isActive) return
      const toMs = this.world.wallMs + FAR_DAYS * AHEAD_MS
      this.farAheadMs = Math.ceil(toMs / MINUTE_MS) * MINUTE_MS - random.int(500, 4_000) - this.world.wallMs
      this.turnClock(this.farAheadMs)
      this.wasFarAhead = true
      this.timeline.in(random.between(2_000, 12_000), () => this.setRight())
    })
  }

  private setRight(): void {
    if (this.farAheadMs > 0) this.turnClock(-this.farAheadMs)
    this.farAheadMs = 0
  }

  private turnClock(byMs: number): void {
    const { world } = this
    world.setClock(byMs)
    this.wasClockSet = true
    this.clockForwardMs += Math.max(0, byMs)
    this.clockBackMs += Math.max(0, -byMs)
    this.clockSetMs = this.timeline.nowMs
    world.history.note('fate', () => `sets the clock by ${byMs} ms`)
  }

  /** The disk fills up, at times faster than it is checked; then somebody makes room. */
  private fillDisk(): void {
    if (this.isFull) return
    this.isFull = true
    this.world.disk.fill(this.random.chance(0.5) ? 0 : this.world.settings.diskReserveBytes / 2)
    this.timeline.in(this.random.between(1_000, 12_000), () => {
      if (this.isActive) this.emptyDisk()
    })
  }

  private emptyDisk(): void {
    if (!this.isFull) return
    this.isFull = false
    this.lastTroubleMs = this.timeline.nowMs
    this.world.disk.fill()
    // Opened with hardly any room, a home stays read-only until it is opened again.
    if (this.world.process?.journal?.refuses() === 'read_only') {
      this.world.restart().catch((error: unknown) => this.timeline.fail(error))
    }
  }
}
