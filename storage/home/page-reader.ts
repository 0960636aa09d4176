/**
 * Reads pages of a data file one by one. When reads have to wait for the disk, as after a restart of the machine,
 * pages needed soon are read in parallel by the thread pool, into the kernel's cache: a home with a million entities
 * has 36,000 pages above its leaves, and each would wait for the disk by itself.
 */
import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { readWhole } from '../files/read-whole.ts'

/** A read from the kernel's cache takes some 3 us. */
const WAITED_MS = 0.05
/**
 * Most reads ahead of one check, some 200 bytes of memory each. The check yields no turn, so none completes before its
 * end.
 */
const AHEAD_MAX = 100_000

export class PageReader {
  readonly #file: number
  readonly #waitedMs: number
  #waits = false
  #ahead = 0
  #onRead: () => void = () => {}
  /** Receives what is read ahead; nobody looks at it. */
  #unread: Buffer = Buffer.alloc(0)

  /** @param waitedMs a read that took longer has waited for the disk. Throws file system errors. */
  constructor(path: string, waitedMs = WAITED_MS) {
    this.#file = openSync(path, 'r')
    this.#waitedMs = waitedMs
  }

  /** Reads ahead that have not completed. */
  get ahead(): number {
    return this.#ahead
  }

  /** Present size of the file, bytes. */
  get size(): number {
    return fstatSync(this.#file).size
  }

  /** Fills the buffer; false if the file ends first. Throws file system errors. */
  read(at: number, bytes: Buffer): boolean {
    const fromMs = performance.now()
    const isWhole = readWhole(this.#file, bytes, at)
    this.#waits = performance.now() - fromMs > this.#waitedMs
    return isWhole
  }

  /** Announces that these bytes will be read soon. */
  soon(at: number, bytes: number): void {
    if (!this.#waits || this.#ahead === AHEAD_MAX) return
    if (this.#unread.length < bytes) this.#unread = Buffer.allocUnsafeSlow(bytes)
    this.#ahead += 1
    // Errors are left to the actual read.
    read(this.#file, this.#unread, 0, bytes, at, () => {
      this.#ahead -= 1
      this.#onRead()
    })
  }

  /** Resolves when no read is under way any more. */
  async close(): Promise<void> {
    if (this.#ahead > 0) {
      await new Promise<void>((resolve) => {
        this.#onRead = () => this.#ahead === 0 && resolve()
      })
    }
    closeSync(this.#file)
  }
}
