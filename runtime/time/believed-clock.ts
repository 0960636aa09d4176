/**
 * The time by which history is forgotten. What is removed does not come back when a clock that was wrong for a minute is set right, so
 * one that is suddenly far ahead of the time that has passed (NTP, a restored machine, a dead battery) is not believed before it
 * has stood for a while; nor is one that, at a start, is days ahead of the events, or has leapt ahead of them a short time before.
 */
import type { Journal } from '../../storage/journal.ts'
import type { Nature } from '../api.ts'
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
  readonly nature: Pick<Nature, 'wallMs' | 'monotonicMs'>
  readonly log: Logger
  readonly journal: EventsOf
}

type EventsOf = Pick<Journal, 'event' | 'oldestSequence' | 'lastSequence'>

/**
 * When the newest event was recorded, milliseconds since the epoch; where days lie between two events of its last hours the one before
 * them: the clock that recorded what is behind it was not believed yet, or the service was at rest. NaN: nothing can be told.
 */
function lastBelievedMs(journal: EventsOf): number {
  const newestMs = recordedMs(journal, journal.lastSequence)
  // The last event before the last hours is searched for, and the next.
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
  /** A time that was believed, by both clocks. */
  private wallMs: number
  private monotonicMs: number
  /** Since when the clock has been too far ahead of it, monotonic. */
  private aheadSinceMs: number | undefined

  /** @param ageMs at which things are forgotten: a clock that is ahead by a good part of it would take as much of them. */
  constructor(parts: BelievedClockParts, ageMs: number) {
    this.parts = parts
    this.aheadMsMax = Math.max(clockAheadMsMin, Math.min(clockAheadMsMax, ageMs * clockAheadShareMax))
    this.monotonicMs = parts.nature.monotonicMs()
    const wallMs = parts.nature.wallMs()
    const believedMs = lastBelievedMs(parts.journal)
    this.wallMs = wallMs - believedMs > clockAheadAtStartMsMax ? believedMs : wallMs
  }

  /** Milliseconds since the epoch: what the clock says, or less. */
  nowMs(): number {
    const { nature, log } = this.parts
    const wallMs = nature.wallMs()
    const monotonicMs = nature.monotonicMs()
    const passedMs = this.wallMs + monotonicMs - this.monotonicMs
    const isAhead = wallMs - passedMs > this.aheadMsMax
    const hasStood = monotonicMs - (this.aheadSinceMs ?? monotonicMs) >= clockBelievedAfterMs
    if (isAhead && !hasStood) {
      if (this.aheadSinceMs === undefined) {
        this.aheadSinceMs = monotonicMs
        const times = { clock: new Date(wallMs).toISOString(), expected: new Date(passedMs).toISOString() }
        log.warn(
          { ...times, believed_after_ms: clockBelievedAfterMs },
          'the clock is ahead of the time that has passed: nothing is forgotten by it yet',
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
