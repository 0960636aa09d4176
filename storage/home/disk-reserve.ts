/**
 * Watches the free space of a home. A full disk can abort the process inside LMDB, so writes are refused while there
 * is still room to finish what was acknowledged and to start again.
 */
import type { StatsFs } from 'node:fs'
import { statfs } from 'node:fs/promises'
import type { Platform } from '../platform.ts'

/** Free bytes of the file system. */
export type FreeBytes = () => Promise<number>

const CHECK_INTERVAL_MS = 2_000
/** After this many bytes written, check again before the interval ends. */
const CHECK_AFTER_BYTES = 8 * 1024 * 1024

/**
 * Free space that a retention step needs below the reserve: the view's pages with two thousand ids and histories are
 * rewritten before the old ones can be reused.
 */
const FORGETTING_BYTES_MIN = 64 * 1024 * 1024

/** Files that a service must be able to make: the next ones of the log and the view, and those of a backup. */
const FILES_MIN = 16

/** What an unprivileged process may still use on the file system of `path`. */
export function freeBytesOf(path: string): FreeBytes {
  return async () => freeBytesIn(await statfs(path))
}

/** 0 where no file can be made, however many bytes are free. A file system that does not count its files has 0 `files`. */
export function freeBytesIn({
  bavail,
  bsize,
  files,
  ffree,
}: Pick<StatsFs, 'bavail' | 'bsize' | 'files' | 'ffree'>): number {
  return files > 0 && ffree < FILES_MIN ? 0 : bavail * bsize
}

export class DiskReserve {
  /** What was free at the last successful check; undefined before the first. */
  freeBytes: number | undefined = undefined
  /** Whether the last check succeeded. */
  #answers = true
  readonly #look: FreeBytes
  readonly #reserveBytes: number
  readonly #platform: Platform
  #timer: unknown
  #writtenBytes = 0
  #checking: Promise<void> | undefined

  readonly #onNoAnswer: (failure: Error) => void

  /** `onNoAnswer` is called once each time the file system stops reporting its free space. */
  constructor(
    look: FreeBytes,
    reserveBytes: number,
    platform: Platform,
    onNoAnswer: (failure: Error) => void = () => {},
  ) {
    this.#onNoAnswer = onNoAnswer
    this.#look = look
    this.#reserveBytes = reserveBytes
    this.#platform = platform
    this.#checkLater()
  }

  /** Less than the reserve was free at the last successful check. */
  get low(): boolean {
    return this.freeBytes !== undefined && this.freeBytes < this.#reserveBytes
  }

  /** Counts bytes written; checks the disk after a large amount. */
  wrote(bytes: number): void {
    this.#writtenBytes += bytes
    if (this.#writtenBytes >= CHECK_AFTER_BYTES) this.check()
  }

  /** Checks now, one check at a time. If the file system does not report its free space, the last result stands. */
  check(): Promise<void> {
    this.#writtenBytes = 0
    this.#checking ??= this.#look()
      .then(
        (bytes) => {
          this.#answers = true
          this.freeBytes = bytes
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

  /** Whether a retention step may begin, also at a start that needs some. False if the free space is unknown. */
  async hasRoomToForget(): Promise<boolean> {
    if (!this.low) return true
    return this.#look().then(
      (free) => free >= FORGETTING_BYTES_MIN,
      () => false,
    )
  }

  stop(): void {
    this.#platform.clearTimer(this.#timer)
  }

  #checkLater(): void {
    this.#timer = this.#platform.setTimer(() => {
      this.check()
      this.#checkLater()
    }, CHECK_INTERVAL_MS)
  }
}
