/**
 * The clock that retention goes by. What is removed does not come back when a wrong clock is corrected a minute later.
 * So a clock that is suddenly far ahead of the time that has passed (NTP, a restored machine, a dead battery) is
 * believed only once it has stood for a while. The same holds for a clock that, at start, is days ahead of the newest
 * events, or that leapt ahead of them shortly before.
 */
import type { Journal } from '../../storage/journal.ts'
import type { Platform } from '../api.ts'
import {
  clockAheadAtStartMsMax,
  clockAheadMsMax,
  clockAheadMsMin,
  clockAheadShareMax,
  clockBelievedAfterMs,
} from '../limits.ts'
import type { Logger } from '../log.ts'
import { recordedMs } from './clock.ts'

interface BelievedClockParts {
  readonly platform: Pick<Platform, 'wallMs' | 'monotonicMs'>
  readonly log: Logger
  readonly journal: EventsOf
}

type EventsOf = Pick<Journal, 'event' | 'oldestSequence' | 'lastSequence'>

/**
 * When the newest event was recorded, milliseconds since the epoch. But if days lie between the events of the last
 * hours and the event before them, when that one was recorded: the clock of the later events was not believed yet, or
 * the service was idle. NaN if unknown.
 */
function lastBelievedMs(journal: EventsOf): number {
  const newestMs = recordedMs(journal, journal.lastSequence)
  // Binary search for the last event before the last hours, and the one after it.
  let before = journal.oldestSequence - 1
  let next = journal.lastSequence
  while (next - before > 1) {
    const between = Math.floor((before + next) / 2)
    if (recordedMs(journal, between) > newestMs - clockBelievedAfterMs) next = between
    else before = between
  }
  const beforeMs = recordedMs(journal, before)
  return recordedMs(journal, next) - beforeMs > clockAheadAtStartMsMax ? beforeMs : newestMs
}

export class BelievedClock {
  private readonly parts: BelievedClockParts
  private readonly aheadMsMax: number
  /** The last time that was believed, by both clocks. */
  private wallMs: number
  private monotonicMs: number
  /** Since when the wall clock has been too far ahead of that, monotonic. */
  private aheadSinceMs: number | undefined

  /** @param ageMs retention age: a clock ahead by a good part of it would forget that much too much. */
  constructor(parts: BelievedClockParts, ageMs: number) {
    this.parts = parts
    this.aheadMsMax = Math.max(clockAheadMsMin, Math.min(clockAheadMsMax, ageMs * clockAheadShareMax))
    this.monotonicMs = parts.platform.monotonicMs()
    const wallMs = parts.platform.wallMs()
    const believedMs = lastBelievedMs(parts.journal)
    this.wallMs = wallMs - believedMs > clockAheadAtStartMsMax ? believedMs : wallMs
  }

  /** Milliseconds since the epoch: the wall clock's reading, or earlier. */
  nowMs(): number {
    const { platform, log } = this.parts
    const wallMs = platform.wallMs()
    const monotonicMs = platform.monotonicMs()
    const passedMs = this.wallMs + monotonicMs - this.monotonicMs
    const isAhead = wallMs - passedMs > this.aheadMsMax
    const hasStood = monotonicMs - (this.aheadSinceMs ?? monotonicMs) >= clockBelievedAfterMs
    if (isAhead && !hasStood) {
      if (this.aheadSinceMs === undefined) {
        this.aheadSinceMs = monotonicMs
        const times = { clock: new Date(wallMs).toISOString(), expected: new Date(passedMs).toISOString() }
        log.warn(
          { ...times, believed_after_ms: clockBelievedAfterMs },
          'the clock is ahead of the elapsed time: nothing is removed by it yet',
        )
      }
      return passedMs
    }
    this.aheadSinceMs = undefined
    this.wallMs = wallMs
    this.monotonicMs = monotonicMs
    return wallMs
  }
}
