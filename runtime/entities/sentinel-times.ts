/**
 * Tells sentinels that they may fall due sooner than they think: after the computer's clock was set back, since they
 * may have reckoned by a clock that was far ahead, and after a start, which may bring other time zones. A sentinel that
 * thinks of a time that is too late would otherwise be silent until that time, whatever the clock shows.
 */
import type { SentinelContext } from '../../machines/sentinel/context.ts'
import { mayComeSooner } from '../../machines/sentinel/times.ts'
import { turn } from '../../storage/platform.ts'
import type { ActorRef, Runtime, SnapshotOf } from '../api.ts'
import { clockRecheckMs, clockSetBackMsMax, sentinelsPerTurnMax } from '../limits.ts'
import type { Logger } from '../log.ts'

export class SentinelTimes {
  readonly #runtime: Runtime
  readonly #log: Logger
  /** How far the wall clock has been ahead of the monotonic one since it was last found to be set back. */
  #aheadMs: number
  /**
   * How often to look, once a minute. Not at the start itself: a machine that has just booted may still have to learn
   * the time. Twice after the clock was set back, since the view may lack what was reckoned just before that.
   */
  #looksOwed = 1
  #isLooking = false
  #isClosed = false
  #timer: unknown

  constructor(runtime: Runtime, log: Logger) {
    this.#runtime = runtime
    this.#log = log
    this.#aheadMs = this.#ahead()
    this.#wait()
  }

  close(): void {
    this.#isClosed = true
    this.#runtime.platform.clearTimer(this.#timer)
  }

  #ahead(): number {
    const { platform } = this.#runtime
    return platform.wallMs() - platform.monotonicMs()
  }

  #wait(): void {
    this.#timer = this.#runtime.platform.setTimer(() => {
      this.#wait()
      this.#minute()
    }, clockRecheckMs)
  }

  #minute(): void {
    const aheadMs = this.#ahead()
    if (aheadMs < this.#aheadMs - clockSetBackMsMax) {
      this.#looksOwed = 2
      this.#aheadMs = aheadMs
    } else this.#aheadMs = Math.max(this.#aheadMs, aheadMs)
    if (this.#looksOwed === 0 || this.#isLooking) return
    this.#looksOwed--
    this.#isLooking = true
    this.#look()
      .catch((error: unknown) => {
        this.#looksOwed ||= 1
        this.#log.error({ err: error }, 'sentinels could not be asked when they fall due next')
      })
      .finally(() => {
        this.#isLooking = false
      })
  }

  async #look(): Promise<void> {
    let looked = 0
    for (const { ref, snapshot } of this.#runtime.scan('sentinel', 'state', 'active')) {
      if (this.#isClosed) return
      if (++looked % sentinelsPerTurnMax === 0) await turn(this.#runtime.platform)
      await this.#tell(ref, snapshot)
    }
  }

  async #tell(ref: ActorRef, snapshot: SnapshotOf<SentinelContext>): Promise<void> {
    if (!mayComeSooner(snapshot, this.#runtime.platform.wallMs())) return
    const answer = await this.#runtime.askAsync(ref, { type: 'reckon' })
    if (!answer.ok && answer.isPassing === true) this.#looksOwed ||= 1
  }
}
