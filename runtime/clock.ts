/**
 * The service's own timestamps: RFC 3339, UTC, microseconds, strictly increasing, so that two facts of the service never
 * share a time and therefore never an id. Also from one process to the next when the computer's clock was set back a
 * little between them: what retention forgets is a prefix of the log, which must not have older times behind newer ones.
 */
import type { Journal } from '../storage/journal.ts'
import { clockSetBackMsMax } from './limits.ts'

/** From where the clock of a process goes on: behind the newest event, unless that was recorded by a clock that was quite wrong. */
export function clockStartMicros(journal: Pick<Journal, 'event' | 'lastSequence'>, wallMs: number): number {
  const recordedMs = newestRecordedMs(journal)
  return recordedMs <= wallMs + clockSetBackMsMax ? (recordedMs + 1) * 1_000 : 0
}

/** NaN: there is none, or it cannot be read; what is damaged is told by whoever asks for it. */
function newestRecordedMs(journal: Pick<Journal, 'event' | 'lastSequence'>): number {
  try {
    const text = journal.event(journal.lastSequence)
    return text === undefined ? Number.NaN : Date.parse(JSON.parse(text).recorded_at)
  } catch {
    return Number.NaN
  }
}

export class Clock {
  private readonly wallMs: () => number
  private lastMicros: number
  private secondText = ''
  private second = -1
  private textMicros = -1
  private lastText = ''

  /** `startMicros`: every reading is later than this. */
  constructor(wallMs: () => number, startMicros = 0) {
    this.wallMs = wallMs
    this.lastMicros = startMicros
  }

  /** A reading that no earlier call of this clock returned. Whole microseconds since the epoch. */
  nextMicros(): number {
    const micros = Math.floor(this.wallMs() * 1000)
    this.lastMicros = micros > this.lastMicros ? micros : this.lastMicros + 1
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
