/**
 * Whether two sets of rows are the same, told by reading each once and in its own order: the sum of the checksums of
 * their rows. Two that differ have the same sum once in four thousand million times; a difference says that there is
 * something to look for, not where.
 */
import { crc32 } from 'node:zlib'

const MODULUS = 2 ** 48

export class Fingerprint {
  #sum = 0
  #rows = 0

  /** Parts in the same order on both sides; no part but the last may hold a line break. */
  add(row: string): void {
    this.#sum = (this.#sum + crc32(row)) % MODULUS
    this.#rows += 1
  }

  equals(other: Fingerprint): boolean {
    return this.#sum === other.#sum && this.#rows === other.#rows
  }
}
