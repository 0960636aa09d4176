/**
 * The service's own timestamps: RFC 3339, UTC, microseconds, strictly increasing, so that no two facts of the service
 * share a time, and therefore an id. This holds even if the computer's clock is set back a little, while the service
 * runs or between two processes: the times run on, since retention forgets a prefix of the log, where older times after
 * newer ones would stay longer. A clock that is set back by more had been wrong: the service's times go back with it,
 * because everything requested for a time of day would otherwise come that much early or late.
 */
import type { Journal } from '../../storage/journal.ts'
import type { Platform } from '../api.ts'
import { clockSetBackMsMax } from '../limits.ts'
import type { Logger } from '../log.ts'

/** Where a process's clock starts: after the newest event, unless a clock that was far wrong recorded that event. */
export function clockStartMicros(journal: Pick<Journal, 'event' | 'lastSequence'>, wallMs: number): number {
  const newestMs = recordedMs(journal, journal.lastSequence)
  return newestMs <= wallMs + clockSetBackMsMax ? (newestMs + 1) * 1_000 : 0
}

/**
 * When an event was recorded, milliseconds since the epoch. NaN if it does not exist or cannot be read: damage is
 * reported by whoever asks for the event itself.
 */
export function recordedMs(journal: Pick<Journal, 'event'>, sequence: number): number {
  try {
    const text = journal.event(sequence)
    return text === undefined ? Number.NaN : Date.parse(JSON.parse(text).recorded_at)
  } catch {
    return Number.NaN
  }
}

/** The clock of a service on this journal. */
export function serviceClock(
  journal: Pick<Journal, 'event' | 'lastSequence'>,
  platform: Pick<Platform, 'wallMs'>,
  log: Logger,
): Clock {
  return new Clock(
    () => platform.wallMs(),
    clockStartMicros(journal, platform.wallMs()),
    (byMs) => log.warn({ by_ms: Math.round(byMs) }, 'the clock was set back; the service’s times go back with it'),
  )
}

export class Clock {
  private readonly wallMs: () => number
  private lastMicros: number
  private secondText = ''
  private second = -1
  private textMicros = -1
  private lastText = ''
  private readonly onSetBack: (byMs: number) => void

  /** `startMicros`: every reading is later. `onSetBack` receives how far the clock was set back, milliseconds. */
  constructor(wallMs: () => number, startMicros = 0, onSetBack: (byMs: number) => void = () => {}) {
    this.wallMs = wallMs
    this.lastMicros = startMicros
    this.onSetBack = onSetBack
  }

  /**
   * Whole microseconds since the epoch: later than the last reading, unless the clock was set back by more than a
   * little.
   */
  nextMicros(): number {
    const micros = Math.floor(this.wallMs() * 1000)
    if (micros > this.lastMicros) this.lastMicros = micros
    else if (this.lastMicros - micros <= clockSetBackMsMax * 1000) this.lastMicros += 1
    else {
      this.onSetBack((this.lastMicros - micros) / 1000)
      this.lastMicros = micros
    }
    return this.lastMicros
  }

  /** Moves the newest reading on by this much, whatever the wall clock says: those in between are never given out. */
  passMicros(micros: number): number {
    this.lastMicros += micros
    return this.lastMicros
  }

  /** `2026-11-21T09:00:00.123456Z`. */
  text(micros: number): string {
    // The time of a message is also that of its first fact.
    if (micros === this.textMicros) return this.lastText
    const second = Math.floor(micros / 1_000_000)
    if (second !== this.second) {
      this.second = second
      this.secondText = new Date(second * 1000).toISOString().slice(0, 20)
    }
    const rest = micros - second * 1_000_000
    this.textMicros = micros
    this.lastText = `${this.secondText}${String(rest).padStart(6, '0')}Z`
    return this.lastText
  }
}
