/**
 * The service's own timestamps: RFC 3339, UTC, microseconds, strictly increasing, so that two facts of the service never
 * share a time and therefore never an id, also where the computer's clock was set back a little, while the service ran or
 * between two processes: what retention forgets is a prefix of the log, in which older times behind newer ones stay for
 * longer. A clock that was set back by more had been wrong: the service's times go back with it, or all that is asked for
 * by a time of day would come that much early or late.
 */
import type { Journal } from '../../storage/journal.ts'
import type { Nature } from '../api.ts'
import { clockSetBackMsMax } from '../limits.ts'
import type { Logger } from '../log.ts'

/** From where the clock of a process goes on: behind the newest event, unless that was recorded by a clock that was quite wrong. */
export function clockStartMicros(journal: Pick<Journal, 'event' | 'lastSequence'>, wallMs: number): number {
  const newestMs = recordedMs(journal, journal.lastSequence)
  return newestMs <= wallMs + clockSetBackMsMax ? (newestMs + 1) * 1_000 : 0
}

/**
 * When an event was recorded, milliseconds since the epoch. NaN: there is none, or it cannot be read; what is damaged
 * is told by whoever asks for it.
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
  nature: Pick<Nature, 'wallMs'>,
  log: Logger,
): Clock {
  return new Clock(
    () => nature.wallMs(),
    clockStartMicros(journal, nature.wallMs()),
    (byMs) => log.warn({ by_ms: Math.round(byMs) }, 'the clock was set back: the times of the service go back with it'),
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

  /** `startMicros`: every reading is later than this. `onSetBack` is told by how much it was, milliseconds. */
  constructor(wallMs: () => number, startMicros = 0, onSetBack: (byMs: number) => void = () => {}) {
    this.wallMs = wallMs
    this.lastMicros = startMicros
    this.onSetBack = onSetBack
  }

  /** A reading behind the last one, but for a clock that was set back by more than a little. Whole microseconds since the epoch. */
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

  /** The newest reading is now so much later than it was, whatever the wall clock says: it, and those between, are given to nobody else. */
  passMicros(micros: number): number {
    this.lastMicros += micros
    return this.lastMicros
  }

  /** `2026-11-21T09:00:00.123456Z`. */
  text(micros: number): string {
    // The time of a message is that of its first fact.
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
