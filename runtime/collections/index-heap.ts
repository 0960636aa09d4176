/**
 * A binary heap of small integers that knows the place of each, so that any of them can be removed. Typed
 * arrays: four bytes per item here and four in the shared array of positions, with nothing for the collector to walk.
 */

/** The place of each item in the one heap that holds it; -1: in none. The owner grows the array. */
export interface Positions {
  of: Int32Array
}

export class IndexHeap {
  private readonly before: (a: number, b: number) => boolean
  private readonly positions: Positions
  private items = new Int32Array(2)
  private count = 0

  constructor(positions: Positions, before: (a: number, b: number) => boolean) {
    this.positions = positions
    this.before = before
  }

  get size(): number {
    return this.count
  }

  /** The first item, or -1. */
  get first(): number {
    return this.count === 0 ? -1 : this.items[0]!
  }

  /** The item at a place of the heap, for walks over all items in no particular order. */
  at(place: number): number {
    return this.items[place]!
  }

  has(item: number): boolean {
    const place = this.positions.of[item]!
    return place >= 0 && place < this.count && this.items[place] === item
  }

  /**
   * The first admitted item in order; -1 if none is. Looks at no more than `looksMax` items: undefined if that was not
   * enough to know.
   */
  firstWhere(looksMax: number, admits: (item: number) => boolean): number | undefined {
    if (this.count === 0) return -1
    // Unvisited places whose parents have been looked at: the next in order is one of them.
    const open = [0]
    for (let looks = 0; looks < looksMax; looks++) {
      let next = 0
      for (let i = 1; i < open.length; i++) if (this.before(this.items[open[i]!]!, this.items[open[next]!]!)) next = i
      const place = open[next]!
      const item = this.items[place]!
      if (admits(item)) return item
      const last = open.pop()!
      if (next < open.length) open[next] = last
      for (let child = 2 * place + 1; child <= 2 * place + 2 && child < this.count; child++) open.push(child)
      if (open.length === 0) return -1
    }
    return undefined
  }

  push(item: number): void {
    if (this.count === this.items.length) this.resize(this.count * 2)
    this.count++
    this.rise(this.count - 1, item)
  }

  remove(item: number): void {
    const place = this.positions.of[item]!
    this.positions.of[item] = -1
    this.count--
    if (place < this.count) {
      const last = this.items[this.count]!
      this.items[place] = last
      this.positions.of[last] = place
      this.moved(last)
    }
    if (this.count > 16 && this.count < this.items.length >> 2) this.resize(this.items.length >> 1)
  }

  /** The item's key has changed. */
  moved(item: number): void {
    const place = this.positions.of[item]!
    this.rise(place, item)
    if (this.positions.of[item] === place) this.sink(place, item)
  }

  private rise(from: number, item: number): void {
    const { items, positions, before } = this
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = items[parent]!
      if (!before(item, above)) break
      items[place] = above
      positions.of[above] = place
      place = parent
    }
    items[place] = item
    positions.of[item] = place
  }

  private sink(from: number, item: number): void {
    const { items, positions, before, count } = this
    let place = from
    for (;;) {
      let child = 2 * place + 1
      if (child >= count) break
      if (child + 1 < count && before(items[child + 1]!, items[child]!)) child++
      const below = items[child]!
      if (!before(below, item)) break
      items[place] = below
      positions.of[below] = place
      place = child
    }
    items[place] = item
    positions.of[item] = place
  }

  private resize(length: number): void {
    const items = new Int32Array(length)
    items.set(this.items.subarray(0, this.count))
    this.items = items
  }
}
