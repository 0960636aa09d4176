/** A binary min-heap over numbers: the smallest key comes out first. */
export class MinHeap<T> {
  private readonly keys: number[] = []
  private readonly items: T[] = []

  get size(): number {
    return this.keys.length
  }

  /** The smallest key, or undefined when empty. */
  peekKey(): number | undefined {
    return this.keys[0]
  }

  /** The item of the smallest key, or undefined when empty. */
  peek(): T | undefined {
    return this.items[0]
  }

  push(key: number, item: T): void {
    const { keys, items } = this
    let at = keys.length
    keys.push(key)
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (keys[parent]! <= key) break
      keys[at] = keys[parent]!
      items[at] = items[parent]!
      at = parent
    }
    keys[at] = key
    items[at] = item
  }

  /** Drops the items that are no longer wanted. */
  keep(isWanted: (item: T) => boolean): void {
    const keys = this.keys.splice(0)
    const items = this.items.splice(0)
    for (let at = 0; at < keys.length; at++) if (isWanted(items[at]!)) this.push(keys[at]!, items[at]!)
  }

  /** Removes and returns the item of the smallest key. */
  pop(): T | undefined {
    const { keys, items } = this
    if (keys.length === 0) return undefined
    const top = items[0]!
    const key = keys.pop()!
    const item = items.pop()!
    const size = keys.length
    if (size === 0) return top
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && keys[child + 1]! < keys[child]!) child++
      if (keys[child]! >= key) break
      keys[at] = keys[child]!
      items[at] = items[child]!
      at = child
    }
    keys[at] = key
    items[at] = item
    return top
  }
}
