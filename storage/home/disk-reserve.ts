/**
 * Watches the free space of a home. A full disk can abort the process inside LMDB, so writes are refused while
 * there is still room: enough to finish what was acknowledged and to start again.
 */
import { statfs } from 'node:fs/promises'
import type { Nature } from '../nature.ts'

/** Free bytes of the file system. */
export type FreeBytes = () => Promise<number>

const CHECK_INTERVAL_MS = 2_000
/** Written since the last look: look again before the interval ends. */
const CHECK_AFTER_BYTES = 8 * 1024 * 1024

/**
 * Free space that a step of retention begins with under the reserve: the view's pages with two thousand ids and histories are written
 * anew before those that they replace can be used again.
 */
const FORGETTING_BYTES_MIN = 64 * 1024 * 1024

/** What an unprivileged process may still use on the file system of `path`. */
export function freeBytesOf(path: string): FreeBytes {
  return async () => {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  }
}

export class DiskReserve {
  /** Less than the reserve was free when the file system last gave an answer. */
  low = false
  /** The last look had an answer. */
  #answers = true
  readonly #freeBytes: FreeBytes
  readonly #reserveBytes: number
  readonly #nature: Nature
  #timer: unknown
  #writtenBytes = 0
  #checking: Promise<void> | undefined

  readonly #onNoAnswer: (failure: Error) => void

  /** `onNoAnswer` is told once of a file system that stops telling what is free. */
  constructor(
    freeBytes: FreeBytes,
    reserveBytes: number,
    nature: Nature,
    onNoAnswer: (failure: Error) => void = () => {},
  ) {
    this.#onNoAnswer = onNoAnswer
    this.#freeBytes = freeBytes
    this.#reserveBytes = reserveBytes
    this.#nature = nature
    this.#checkLater()
  }

  /** Tell of bytes written; looks at the disk after a large amount. */
  wrote(bytes: number): void {
    this.#writtenBytes += bytes
    if (this.#writtenBytes >= CHECK_AFTER_BYTES) this.check()
  }

  /** Looks now; one look at a time. A file system that gives no answer leaves the last one standing. */
  check(): Promise<void> {
    this.#writtenBytes = 0
    this.#checking ??= this.#freeBytes()
      .then(
        (bytes) => {
          this.#answers = true
          this.low = bytes < this.#reserveBytes
        },
        (failure: Error) => {
          if (this.#answers) this.#onNoAnswer(failure)
          this.#answers = false
        },
      )
      .finally(() => {
        this.#checking = undefined
      })
    return this.#checking
  }

  /** Whether a step of retention may begin, also a start that is to take some. A file system that gives no answer has no room. */
  async hasRoomToForget(): Promise<boolean> {
    if (!this.low) return true
    return this.#freeBytes().then(
      (free) => free >= FORGETTING_BYTES_MIN,
      () => false,
    )
  }

  stop(): void {
    this.#nature.clearTimer(this.#timer)
  }

  #checkLater(): void {
    this.#timer = this.#nature.setTimer(() => {
      this.check()
      this.#checkLater()
    }, CHECK_INTERVAL_MS)
  }
}
