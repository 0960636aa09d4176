/**
 * What a seed makes of its world before anything happens: how long things take, how many there are, how bad it gets.
 */
import { defaultSettings, type Settings } from '../../runtime/settings.ts'
import type { Random } from './random.ts'

export interface Plan {
  readonly settings: Settings
  /** How long things go wrong, virtual milliseconds. */
  readonly stormMs: number
  readonly projects: number
  readonly runners: number
  readonly watchers: number
  readonly operators: number
  /** Run requests of each operator. */
  readonly requests: number
  /** Work items that are submitted. */
  readonly items: number
  /** Actions of each reviewer. */
  readonly reviews: number
  /** Campaigns that are added. */
  readonly campaigns: number
  /** Whether an initiative steers them. */
  readonly isSteered: boolean
  /** Names that sentinels are added under. */
  readonly sentinels: number
  /** With sentinels: how far into a minute the world begins, so that a minute ends in the storm. */
  readonly intoMinuteMs: number
  /** Whether labels are limited, and most requests require one. */
  readonly isLimiting: boolean
  /** Whether projects have weights, and two of them much to do. */
  readonly isWeighing: boolean
  /** Mean time between two things that go wrong with the service, its disk or its clock. */
  readonly troubleMs: number
  /** Share of the network's worst. */
  readonly badWeather: number
  readonly isRetaining: boolean
  /** Actors kept in memory: few, so that they come and go all the time. */
  readonly residentActorsMax: number
}

const HOUR_MS = 3_600_000

export function planOf(random: Random): Plan {
  const isRetaining = random.chance(0.35)
  const leaseMs = random.pick([2_500, 6_000, 20_000, 60_000])
  const settings: Settings = {
    ...defaultSettings,
    home: '/simulated',
    logLevel: 'silent',
    offerMs: random.pick([1_000, 5_000, 30_000]),
    leaseMs,
    graceMs: random.pick([2_000, 10_000, 60_000]),
    presenceMs: random.pick([8_000, 30_000, 180_000]),
    lateEventsMs: random.pick([3_000, 600_000]),
    idempotencyMs: random.pick([4_000, 30_000, 24 * HOUR_MS]),
    ...(isRetaining ? { retentionMs: random.int(15, 60) * 1_000 } : {}),
  }
  return {
    settings,
    stormMs: random.int(8, isRetaining ? 150 : 50) * 1_000,
    projects: random.int(1, 3),
    runners: random.int(1, 3),
    watchers: random.int(1, 2),
    operators: random.int(1, 2),
    requests: random.int(2, 6),
    items: random.chance(0.5) ? random.int(2, 6) : 0,
    troubleMs: random.pick([3_000, 8_000, 15_000, 40_000]),
    badWeather: random.pick([0, 0, 0.3, 1]),
    isRetaining,
    residentActorsMax: random.pick([1, 3, 1_000]),
    reviews: random.chance(0.5) ? random.int(3, 12) : 0,
    campaigns: random.chance(0.3) ? random.int(1, 2) : 0,
    isSteered: random.chance(0.6),
    sentinels: random.chance(0.4) ? random.int(1, 3) : 0,
    intoMinuteMs: random.int(20_000, 59_000),
    // Drawn last, and in worlds of which no fault's table tells, so that other seeds still mean the same worlds.
    isLimiting: random.int(1, 10) === 6,
    isWeighing: [9, 11].includes(random.int(1, 20)),
  }
}
