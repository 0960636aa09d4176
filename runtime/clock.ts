/**
 * The service's own timestamps: RFC 3339, UTC, microseconds, strictly increasing within a process, so that two
 * facts of the service never share a time and therefore never an id.
 */

export class Clock {
  private readonly wallMs: () => number
  private lastMicros = 0
  private secondText = ''
  private second = -1

  constructor(wallMs: () => number) {
    this.wallMs = wallMs
  }

  /** A reading that no earlier call of this clock returned. Whole microseconds since the epoch. */
  nextMicros(): number {
    const micros = Math.floor(this.wallMs() * 1000)
    this.lastMicros = micros > this.lastMicros ? micros : this.lastMicros + 1
    return this.lastMicros
  }

  /** `2026-11-21T09:00:00.123456Z`. */
  text(micros: number): string {
    const second = Math.floor(micros / 1_000_000)
    if (second !== this.second) {
      this.second = second
      this.secondText = new Date(second * 1000).toISOString().slice(0, 20)
    }
    const rest = micros - second * 1_000_000
    return `${this.secondText}${String(rest).padStart(6, '0')}Z`
  }
}
