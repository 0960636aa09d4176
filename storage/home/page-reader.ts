/**
 * Reads pages of a data file one by one. Where the disk keeps that waiting, as after a restart of the machine, what is
 * wanted soon is read beside it by the pool of threads, into the kernel's memory: a home with a million entities has
 * 36,000 pages above its leaves, each of which waited for the disk alone.
 */
import { closeSync, fstatSync, openSync, read } from 'node:fs'
import { readWhole } from '../files/read-whole.ts'

/** What the kernel has takes some 3 us. */
const WAITED_MS = 0.05
/** Reads ahead of one check, some 200 bytes of memory each: it lets no turn go by, and hears of none before its end. */
const AHEAD_MAX = 100_000

export class PageReader {
  readonly #file: number
  readonly #waitedMs: number
  #waits = false
  #ahead = 0
  #onRead: () => void = () => {}
  /** What is read ahead goes here, and nobody looks at it. */
  #unread: Buffer = Buffer.alloc(0)

  /** @param waitedMs a read that took longer waited for the disk. Throws what the file system throws. */
  constructor(path: string, waitedMs = WAITED_MS) {
    this.#file = openSync(path, 'r')
    this.#waitedMs = waitedMs
  }

  /** Reads ahead of which no end is known yet. */
  get ahead(): number {
    return this.#ahead
  }

  /** Bytes of the file as it is now. */
  get size(): number {
    return fstatSync(this.#file).size
  }

  /** Fills the buffer; false when the file ends before. Throws what the file system throws. */
  read(at: number, bytes: Buffer): boolean {
    const fromMs = performance.now()
    const isWhole = readWhole(this.#file, bytes, at)
    this.#waits = performance.now() - fromMs > this.#waitedMs
    return isWhole
  }

  /** So many bytes there are read before long. */
  soon(at: number, bytes: number): void {
    if (!this.#waits || this.#ahead === AHEAD_MAX) return
    if (this.#unread.length < bytes) this.#unread = Buffer.allocUnsafeSlow(bytes)
    this.#ahead += 1
    // Whatever comes of it is met by whoever reads it.
    read(this.#file, this.#unread, 0, bytes, at, () => {
      this.#ahead -= 1
      this.#onRead()
    })
  }

  /** Resolves when nothing is read from it any more. */
  async close(): Promise<void> {
    if (this.#ahead > 0) {
      await new Promise<void>((resolve) => {
        this.#onRead = () => this.#ahead === 0 && resolve()
      })
    }
    closeSync(this.#file)
  }
}
