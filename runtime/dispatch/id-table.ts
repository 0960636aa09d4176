/**
 * Finds a run request's slot in the queue by its id: an open-addressing table over the id's 96 bits. A Map of
 * strings would cost 150 bytes of garbage-collected heap per queued request; this costs 20 outside it.
 */

const prefix = 'runreq_'

/** The three 32-bit words (24 hex digits after `runreq_`) of the id last given to `readId`. */
const word = new Uint32Array(3)

function readId(id: string): void {
  if (id.length !== 31 || !id.startsWith(prefix)) throw new Error(`not the id of a run request: ${id}`)
  for (let index = 0; index < 3; index++) {
    const digits = id.slice(7 + 8 * index, 15 + 8 * index)
    word[index] = Number.parseInt(digits, 16)
  }
}

export class IdTable {
  /** The words of the ids, three per slot. */
  private words: Uint32Array
  /** Slot + 1 in each place; 0: free. At most half full, so that a probe is short. */
  private places: Int32Array
  private mask: number

  constructor(capacity: number) {
    this.words = new Uint32Array(capacity * 3)
    this.places = new Int32Array(capacity * 2)
    this.mask = capacity * 2 - 1
  }

  /** The slot of the id, or -1. */
  find(id: string): number {
    readId(id)
    for (let place = hash() & this.mask; ; place = (place + 1) & this.mask) {
      const slot = this.places[place]! - 1
      if (slot < 0) return -1
      const at = slot * 3
      if (this.words[at] === word[0] && this.words[at + 1] === word[1] && this.words[at + 2] === word[2]) return slot
    }
  }

  /** The id must not be in the table. */
  add(id: string, slot: number): void {
    readId(id)
    this.words.set(word, slot * 3)
    this.place(slot)
  }

  remove(slot: number): void {
    let free = this.home(slot)
    while (this.places[free] !== slot + 1) free = (free + 1) & this.mask
    // Backward shift (Knuth 6.4, algorithm R): no tombstones, so a long-lived queue stays as fast as a new one.
    for (let place = free; ; ) {
      place = (place + 1) & this.mask
      const other = this.places[place]! - 1
      if (other < 0) break
      const distance = (place - this.home(other)) & this.mask
      if (distance < ((place - free) & this.mask)) continue
      this.places[free] = other + 1
      free = place
    }
    this.places[free] = 0
  }

  idOf(slot: number): string {
    let id = prefix
    for (let index = 0; index < 3; index++) id += this.words[slot * 3 + index]!.toString(16).padStart(8, '0')
    return id
  }

  /** Whether the id of slot a comes before that of slot b. */
  before(a: number, b: number): boolean {
    const { words } = this
    for (let index = 0; index < 3; index++) {
      const left = words[a * 3 + index]!
      const right = words[b * 3 + index]!
      if (left !== right) return left < right
    }
    return false
  }

  /** Make room for `capacity` slots, a power of two; slots 0 to `used` - 1 are taken. */
  grow(capacity: number, used: number): void {
    const words = new Uint32Array(capacity * 3)
    words.set(this.words)
    this.words = words
    this.places = new Int32Array(capacity * 2)
    this.mask = capacity * 2 - 1
    for (let slot = 0; slot < used; slot++) this.place(slot)
  }

  private place(slot: number): void {
    let place = this.home(slot)
    while (this.places[place] !== 0) place = (place + 1) & this.mask
    this.places[place] = slot + 1
  }

  private home(slot: number): number {
    word[0] = this.words[slot * 3]!
    word[1] = this.words[slot * 3 + 1]!
    word[2] = this.words[slot * 3 + 2]!
    return hash() & this.mask
  }
}

/** Ids are digests and so already uniform; the multiplications (murmur3's finalizer) are for the ids of tests. */
function hash(): number {
  let h = word[0]! ^ Math.imul(word[1]!, 0x85ebca6b) ^ Math.imul(word[2]!, 0xc2b2ae35)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
