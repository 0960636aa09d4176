/**
 * Which of the log's newest rows may hold the event of a given id: a ring of 32-bit hashes of ids, and a table from
 * each hash to the newest row that has it. Invariant: a row that was put and is still in the ring is found under its
 * hash, in whatever order rows were put; a row found may have another id and must be checked. With 100,000 rows it
 * takes 1.4 MB, and a look-up that finds nothing takes well under a microsecond.
 */

/** Digits of the longest id (machines/events/envelope.ts). */
const DIGITS_MAX = 128
const DIGIT_VALUES = 16
const HEX_DIGITS_PER_WORD = 8
const ID_PREFIX_CHARS = 'evt_'.length

/**
 * Hashes ids that begin `evt_` by simple tabulation (Carter and Wegman 1979): a random word for each digit at each
 * position. Other engines choose their ids themselves, so the words must be secret, lest they choose ids that collide.
 */
export class IdHash {
  readonly #words: Uint32Array

  /** @param randomHex returns fresh random hex digits */
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
  /** By sequence modulo the length; 0 for a row that was not put. */
  readonly #hashes: Uint32Array
  /**
   * Open addressing with linear probing: 1 + a row's place in the ring, 0 for none. The newest row of each hash has an
   * entry. An entry whose row has left is passed over, since its place now has another hash; when these become too
   * many, the table is rebuilt.
   */
  readonly #table: Uint32Array
  readonly #entriesMax: number
  #entries = 0
  #top = 0

  /** @param rowsMax how many sequences the ring reaches back */
  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax
    this.#hashes = new Uint32Array(rowsMax)
    this.#table = new Uint32Array(2 ** Math.ceil(Math.log2(2 * rowsMax)))
    this.#entriesMax = Math.floor((this.#table.length * 3) / 4)
  }

  /** Moves the ring's end to this sequence: rows up to it are yet to be put, and as many of the oldest drop out. */
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

  /** The newest row before this sequence with the hash; 0 if the ring has none. */
  newestBefore(before: number, hash: number): number {
    const at = this.#search(hash)
    if (at < 0) return 0
    const newest = this.#rowOf(at)
    if (newest < before) return newest
    // Another id (one look-up in 40,000) or another project's event. Older rows have no entry, so the ring is scanned.
    const oldest = Math.max(1, this.#top - this.#rowsMax + 1)
    for (let sequence = before - 1; sequence >= oldest; sequence -= 1) {
      if (this.#hashes[sequence % this.#rowsMax] === hash) return sequence
    }
    return 0
  }

  /** Index of the entry of the newest row with the hash; if none, the complement of the index to insert it at. */
  #search(hash: number): number {
    const mask = this.#table.length - 1
    let found = -1
    let at = hash & mask
    for (let entry = this.#table[at]!; entry !== 0; entry = this.#table[at]!) {
      // There may be two, if the place of a row that has left was taken by one with the same hash.
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

  /** Sequence of the row that a table entry leads to. */
  #rowOf(at: number): number {
    return this.#sequenceAt(this.#table[at]! - 1)
  }

  /** The one sequence in the ring at this place. */
  #sequenceAt(place: number): number {
    const back = (this.#top - place) % this.#rowsMax
    return this.#top - (back < 0 ? back + this.#rowsMax : back)
  }
}
