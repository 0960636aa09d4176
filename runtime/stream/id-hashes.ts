/**
 * Which of the newest rows of the log may hold an event of some id: a ring of 32-bit hashes of ids, and a table that
 * leads from a hash to the newest row that has it. Invariant: a row that was put and is still in the ring is found
 * under its hash, in whatever order rows were put; what is found may be another id's, and is to be looked at.
 * With 100,000 rows 1.4 MB, and a look-up that finds nothing takes well under a microsecond.
 */

/** Of the longest id (machines/events/envelope.ts). */
const DIGITS_MAX = 128
const DIGIT_VALUES = 16
const HEX_DIGITS_PER_WORD = 8
const ID_PREFIX_CHARS = 'evt_'.length

/**
 * The hash of an id that begins `evt_`: simple tabulation (Carter and Wegman 1979), a random word for each digit at
 * each place. Ids of other engines are kept as they are given, so whoever chooses them must not know which collide.
 */
export class IdHash {
  readonly #words: Uint32Array

  /** @param randomHex fresh random hex digits */
  constructor(randomHex: (digits: number) => string) {
    const digits = randomHex(DIGITS_MAX * DIGIT_VALUES * HEX_DIGITS_PER_WORD)
    this.#words = new Uint32Array(new Uint8Array(Buffer.from(digits, 'hex')).buffer)
  }

  /** 1 to 2^32 - 1. */
  of(id: string): number {
    const words = this.#words
    let hash = 0
    for (let i = ID_PREFIX_CHARS, row = 0; i < id.length; i += 1, row += DIGIT_VALUES) {
      const code = id.charCodeAt(i)
      // 0 to 9, and a to f.
      hash ^= words[row + (((code & 15) + 9 * (code >> 6)) & 15)]!
    }
    return hash >>> 0 || 1
  }
}

export class IdHashes {
  readonly #rowsMax: number
  /** By sequence modulo the length: 0 for a row that was not put. */
  readonly #hashes: Uint32Array
  /**
   * Open addressing with linear probing: 1 + the place of a row in the ring, 0 for none. Of rows with one hash the newest
   * has an entry. An entry whose row has left is passed over, since its place has another hash, until there are so
   * many that the table is made anew.
   */
  readonly #table: Uint32Array
  readonly #entriesMax: number
  #entries = 0
  #top = 0

  /** @param rowsMax sequences that the ring reaches back */
  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax
    this.#hashes = new Uint32Array(rowsMax)
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * rowsMax)))
    this.#entriesMax = Math.floor((this.#table.length * 3) / 4)
  }

  /** The ring ends at this sequence from now on: the rows up to it are still to be put, and as many of the oldest are out. */
  moveTo(top: number): void {
    const count = Math.min(top - this.#top, this.#rowsMax)
    const first = (top - count + 1) % this.#rowsMax
    const end = first + count
    this.#hashes.fill(0, first, end).fill(0, 0, Math.max(0, end - this.#rowsMax))
    this.#top = top
  }

  /** @param sequence within the ring */
  put(sequence: number, hash: number): void {
    const place = sequence % this.#rowsMax
    this.#hashes[place] = hash
    if (this.#entries < this.#entriesMax) this.#enter(place)
    else this.#renew()
  }

  /** The newest row before this sequence that has the hash; 0: there is none in the ring. */
  newestBefore(before: number, hash: number): number {
    const at = this.#search(hash)
    if (at < 0) return 0
    const newest = this.#rowOf(at)
    if (newest < before) return newest
    // The newest is not the one: another id, once in 40,000 look-ups, or the event of another project. Older ones have no entry.
    const oldest = Math.max(1, this.#top - this.#rowsMax + 1)
    for (let sequence = before - 1; sequence >= oldest; sequence -= 1) {
      if (this.#hashes[sequence % this.#rowsMax] === hash) return sequence
    }
    return 0
  }

  /** Index of the entry of the newest row with the hash; if there is none, the complement of where it would be made. */
  #search(hash: number): number {
    const mask = this.#table.length - 1
    let found = -1
    let at = hash & mask
    for (let entry = this.#table[at]!; entry !== 0; entry = this.#table[at]!) {
      // Two, where the place of a row that has left was taken by one with the same hash.
      if (this.#hashes[entry - 1] === hash && (found < 0 || this.#rowOf(found) < this.#rowOf(at))) found = at
      at = (at + 1) & mask
    }
    return found < 0 ? ~at : found
  }

  #enter(place: number): void {
    const at = this.#search(this.#hashes[place]!)
    if (at < 0) {
      this.#table[~at] = place + 1
      this.#entries += 1
    } else if (this.#rowOf(at) < this.#sequenceAt(place)) this.#table[at] = place + 1
  }

  #renew(): void {
    this.#table.fill(0)
    this.#entries = 0
    for (let place = 0; place < this.#rowsMax; place += 1) if (this.#hashes[place] !== 0) this.#enter(place)
  }

  /** Sequence of the row that the table's entry leads to. */
  #rowOf(at: number): number {
    return this.#sequenceAt(this.#table[at]! - 1)
  }

  /** The one sequence of the ring that has this place. */
  #sequenceAt(place: number): number {
    const back = (this.#top - place) % this.#rowsMax
    return this.#top - (back < 0 ? back + this.#rowsMax : back)
  }
}
