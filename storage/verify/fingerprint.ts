/**
 * Tells whether two sets of rows are the same by reading each once, in any order: the sum of the rows' checksums. Two
 * different sets have the same sum once in four thousand million times. A difference shows that something is wrong,
 * not where.
 */
import { crc32 } from 'node:zlib'

const MODULUS = 2 ** 48

export class Fingerprint {
  #sum = 0
  #rows = 0

  /** Both sides give the parts in the same order; only the last part may contain a line break. */
  add(row: string): void {
    this.#sum = (this.#sum + crc32(row)) % MODULUS
    this.#rows += 1
  }

  equals(other: Fingerprint): boolean {
    return this.#sum === other.#sum && this.#rows === other.#rows
  }
}
