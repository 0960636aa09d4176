/** Places of the rows of one kind in one file, in the order of their keys. */
import { Buffer } from 'node:buffer'

const ROWS_FIRST = 64
/** Offset in the file, length, checksum. */
const PLACE_PARTS = 3
const ROW_BYTES = 8 + PLACE_PARTS * 4

export interface Place {
  readonly at: number
  readonly bytes: number
  readonly checksum: number
}

export class RowIndex {
  count = 0
  #keys: Float64Array
  #places: Uint32Array

  constructor(keys = new Float64Array(ROWS_FIRST), places = new Uint32Array(ROWS_FIRST * PLACE_PARTS), count = 0) {
    this.#keys = keys
    this.#places = places
    this.count = count
  }

  /** Decodes what `toBytes` returned. */
  static from(bytes: Uint8Array): RowIndex {
    const count = Math.floor(bytes.length / ROW_BYTES)
    // Copied, because typed arrays need an aligned start.
    const own = new Uint8Array(bytes)
    return new RowIndex(
      new Float64Array(own.buffer, 0, count),
      new Uint32Array(own.buffer, count * 8, count * PLACE_PARTS),
      count,
    )
  }

  toBytes(): Buffer {
    const { count } = this
    return Buffer.concat([
      Buffer.from(this.#keys.buffer, this.#keys.byteOffset, count * 8),
      Buffer.from(this.#places.buffer, this.#places.byteOffset, count * PLACE_PARTS * 4),
    ])
  }

  /** The key must be greater than all others. */
  push(key: number, at: number, bytes: number, checksum: number): void {
    if (this.count === this.#keys.length) this.#grow()
    this.#keys[this.count] = key
    const place = this.count * PLACE_PARTS
    this.#places[place] = at
    this.#places[place + 1] = bytes
    this.#places[place + 2] = checksum
    this.count += 1
  }

  key(row: number): number {
    return this.#keys[row]!
  }

  place(row: number): Place {
    const at = row * PLACE_PARTS
    return { at: this.#places[at]!, bytes: this.#places[at + 1]!, checksum: this.#places[at + 2]! }
  }

  /** The last row whose key is at most this one; -1 if there is none. */
  atOrBefore(key: number): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#keys[middle]! <= key) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #grow(): void {
    const room = Math.max(ROWS_FIRST, this.count * 2)
    const keys = new Float64Array(room)
    const places = new Uint32Array(room * PLACE_PARTS)
    keys.set(this.#keys)
    places.set(this.#places)
    this.#keys = keys
    this.#places = places
  }
}
