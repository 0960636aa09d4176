/**
 * What happened, one line each: a world's whole run as text, so that two runs of one seed can be compared byte for byte
 * and a person can read how something went wrong. Off unless asked for, since it is what costs.
 */
import { createHash } from 'node:crypto'
import type { Timeline } from './timeline.ts'

/** Patterns of what is drawn from real randomness, since no seed may lead to a valid token. */
const SECRETS = /itd_[\w-]{43}|"(?:credential_)?hash":"[0-9a-f]{64}"/g

export class History {
  readonly lines: string[] = []
  readonly isKept: boolean
  private readonly timeline: Timeline

  constructor(timeline: Timeline, isKept: boolean) {
    this.timeline = timeline
    this.isKept = isKept
  }

  /** `tell` is called only if the line will be read. */
  note(who: string, tell: () => string): void {
    if (!this.isKept) return
    const text = tell().replaceAll(SECRETS, 'secret')
    this.lines.push(`${this.timeline.nowMs.toFixed(3).padStart(12)} ${who.padEnd(10)} ${text}`)
  }

  digest(): string {
    return createHash('sha256').update(this.lines.join('\n')).digest('hex')
  }
}
