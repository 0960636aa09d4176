/**
 * Walks the trees of pages in an LMDB data file (as lmdb-js builds it) from their roots. Checks that every page is the
 * one its parent names, is reached once, and holds nodes that lie within it, in key order and within the bounds that
 * its branches set. LMDB can read what passes without leaving the file, and finds every key that is there. Hot at the
 * start of a large home: one page at a time, one buffer per level, no objects per node.
 */

/** A tree as a meta page or a node names it. */
export interface Tree {
  /** Levels of pages; 1 means that the root is a leaf. */
  readonly depth: number
  readonly root: bigint
}

/** LMDB's record of a tree: its depth, some counts, and its root. */
export function treeAt(bytes: Buffer, at: number): Tree {
  return { depth: bytes.readUInt16LE(at + TREE_DEPTH_AT), root: bytes.readBigUInt64LE(at + TREE_ROOT_AT) }
}

interface Forest {
  readonly pageBytes: number
  readonly free: Tree
  readonly main: Tree
  readonly lastPage: number
  readonly transaction: bigint
  /** Number of pages in the file. */
  readonly pages: number
  /**
   * Leaves below a page that was written before this transaction are not read, unless the file ends before its last
   * page and the lists of free pages do not name every page that it lacks.
   */
  readonly leavesSince: bigint
  /** Most leaves to read of the others, give or take a page. */
  readonly leavesMax: number
  /** Fills the buffer from the beginning of the page; false if the file ends first. */
  read(page: number, bytes: Buffer): boolean
  /** Announces that the page will be read soon. */
  soon(page: number): void
}

export class PageFault extends Error {
  override readonly name = 'PageFault'
  /** A page in use lies beyond the end of the file. */
  readonly isMissing: boolean

  constructor(message: string, isMissing = false) {
    super(message)
    this.isMissing = isMissing
  }
}

const NO_PAGE = 0xffffffffffffffffn
const PAGE = { number: 0, transaction: 8, flags: 18, lower: 20, upper: 22, overflowPages: 20, header: 24 }
const BRANCH = 0x01
const LEAF = 0x02
const OVERFLOW = 0x04
const NODE = { low: 0, high: 2, flags: 4, keyBytes: 6, header: 8 }
const BIG_DATA = 0x01
const SUB_TREE = 0x02
/** Our tables have no duplicates. */
const NODE_FLAGS = BIG_DATA | SUB_TREE
/** A node's reference to a value on pages of its own: its first page, a transaction, the number of pages. */
const BIG_DATA_BYTES = 24
const BIG_DATA_PAGES_AT = 16
const TREE_BYTES = 48
const TREE_DEPTH_AT = 6
const TREE_ROOT_AT = 40
/** A file that seems to lack more pages than this is checked whole. */
const LACKED_MAX = 100_000
/** LMDB's own bound. */
const TREE_DEPTH_MAX = 32
const META_PAGES = 2

/** A key, in place. */
interface KeyAt {
  readonly page: Buffer
  readonly start: number
  readonly stop: number
}

/** Bounds of a page's keys, as set by the branches above it: `low` inclusive, `high` exclusive. */
interface Bounds {
  readonly low: KeyAt | undefined
  readonly high: KeyAt | undefined
}

const UNBOUND: Bounds = { low: undefined, high: undefined }

/** Checks the trees of the file. Throws PageFault at the first fault. */
export function checkTree(forest: Forest): void {
  new Walk(forest).all()
}

class Walk {
  readonly #forest: Forest
  readonly #buffers: Buffer[] = []
  readonly #overflow: Buffer = Buffer.alloc(PAGE.header)
  readonly #seen: Uint8Array
  #leavesSince: bigint
  #leavesLeft: number
  #readsFree = false
  /** Pairs: a free page, and how many pages are free from there on. */
  readonly #free: number[] = []

  constructor(forest: Forest) {
    this.#forest = forest
    this.#leavesSince = forest.leavesSince
    this.#leavesLeft = forest.leavesMax
    if (forest.lastPage < 1 || forest.lastPage > Number.MAX_SAFE_INTEGER / forest.pageBytes) {
      throw new PageFault('the meta page counts impossibly many pages')
    }
    this.#seen = new Uint8Array(Math.min(forest.lastPage + 1, forest.pages))
  }

  all(): void {
    // The lists of free pages decide which pages are written next. They are short, and read whole.
    this.#readsFree = true
    this.#tree(this.#forest.free, true, 0)
    this.#readsFree = false
    if (!this.#lacksFreePagesOnly()) {
      this.#leavesSince = 0n
      this.#leavesLeft = Number.POSITIVE_INFINITY
    }
    this.#tree(this.#forest.main, true, 0)
    for (let i = 0; i < this.#free.length; i += 2) this.#assertFree(this.#free[i]!, this.#free[i + 1]!)
  }

  /**
   * The last pages of a file may rightly be missing: allocated, freed, and never written. Every page of the trees is
   * named above the leaves and is checked to exist; only the pages of long values are named by leaves alone.
   */
  #lacksFreePagesOnly(): boolean {
    const { lastPage, pages } = this.#forest
    if (lastPage + 1 - pages > LACKED_MAX) return false
    const isFree = new Set<number>()
    for (let i = 0; i < this.#free.length; i += 2) {
      const first = this.#free[i]!
      const end = Math.min(first + this.#free[i + 1]!, lastPage + 1)
      for (let page = Math.max(first, pages); page < end; page += 1) isFree.add(page)
    }
    return isFree.size >= lastPage + 1 - pages
  }

  #tree({ depth, root }: Tree, whole: boolean, level: number): void {
    if (root === NO_PAGE) return
    if (depth < 1 || depth + level > TREE_DEPTH_MAX) throw new PageFault(`a tree of ${depth} levels`)
    this.#page(Number(root), depth, whole, level, UNBOUND)
  }

  /** `height`: levels from here to the leaves, inclusive. */
  #page(number: number, height: number, whole: boolean, level: number, bounds: Bounds): void {
    const page = this.#read(number, level)
    const flags = page.readUInt16LE(PAGE.flags)
    if (flags !== (height > 1 ? BRANCH : LEAF)) fault(number, `is no ${height > 1 ? 'branch' : 'leaf'} (${flags})`)
    const lower = page.readUInt16LE(PAGE.lower)
    if (height > 1 && lower < 4) fault(number, 'is a branch with fewer than two children')
    this.#assertKeys(number, page, height > 1, bounds)
    const readsChildren = height !== 2 || whole || this.#readsLeavesOf(page)
    if (height === 1) this.#leavesLeft -= 1
    else if (readsChildren) this.#announceChildren(page, lower)
    for (let at = PAGE.header; at < PAGE.header + lower; at += 2) {
      const node = PAGE.header + page.readUInt16LE(at)
      if (height === 1) {
        const value = endOfKey(page, node)
        this.#leafNode(number, page, value, lowOf(page, node), page.readUInt16LE(node + NODE.flags), level)
      } else if (readsChildren) {
        const low = at === PAGE.header ? bounds.low : keyAt(page, at)
        const high = at + 2 === PAGE.header + lower ? bounds.high : keyAt(page, at + 2)
        this.#page(childAt(page, node), height - 1, whole, level + 1, { low, high })
      } else this.#reach(childAt(page, node), number)
    }
  }

  /**
   * Each node lies within the page together with its key, and the keys ascend within their bounds; a key out of place
   * would not be found. LMDB takes the first key of a branch for the lowest possible, and does not read it.
   */
  #assertKeys(number: number, page: Buffer, isBranch: boolean, { low, high }: Bounds): void {
    const { pageBytes } = this.#forest
    const end = PAGE.header + page.readUInt16LE(PAGE.lower)
    const upper = PAGE.header + page.readUInt16LE(PAGE.upper)
    if (end % 2 !== 0 || end > upper || upper > pageBytes) fault(number, 'has no sound bounds')
    const first = isBranch ? PAGE.header + 2 : PAGE.header
    let [start, stop] = [0, 0]
    for (let at = PAGE.header; at < end; at += 2) {
      const node = PAGE.header + page.readUInt16LE(at)
      if (node < upper || node + NODE.header > pageBytes) fault(number, 'has a node out of its bounds')
      const [startBefore, stopBefore] = [start, stop]
      start = node + NODE.header
      stop = endOfKey(page, node)
      if (stop > pageBytes) fault(number, 'has a key that is longer than the page')
      const isInOrder =
        at > first
          ? this.#compare(page, start, stop, page, startBefore, stopBefore) > 0
          : at < first || low === undefined || this.#compare(page, start, stop, low.page, low.start, low.stop) >= 0
      if (!isInOrder) fault(number, 'has keys out of their order')
    }
    if (high === undefined || end <= first) return
    if (this.#compare(page, start, stop, high.page, high.start, high.stop) >= 0)
      fault(number, 'has keys out of their order')
  }

  /** Above 0 if the key sorts after the other. In the lists of free pages the keys are transaction numbers. */
  #compare(page: Buffer, start: number, stop: number, other: Buffer, otherStart: number, otherStop: number): number {
    if (!this.#readsFree) return page.compare(other, otherStart, otherStop, start, stop)
    if (stop - start !== 8 || otherStop - otherStart !== 8) return 0
    return Number(page.readBigUInt64LE(start) - other.readBigUInt64LE(otherStart))
  }

  /** The page's nodes have not been checked yet. */
  #announceChildren(page: Buffer, lower: number): void {
    for (let at = PAGE.header; at < PAGE.header + lower; at += 2) {
      const node = PAGE.header + page.readUInt16LE(at)
      if (node + NODE.header <= page.length) this.#forest.soon(childAt(page, node))
    }
  }

  #readsLeavesOf(page: Buffer): boolean {
    return this.#leavesLeft > 0 && page.readBigUInt64LE(PAGE.transaction) >= this.#leavesSince
  }

  #leafNode(number: number, page: Buffer, value: number, bytes: number, flags: number, level: number): void {
    if ((flags & ~NODE_FLAGS) !== 0) fault(number, 'has a node of no known kind')
    const isBig = (flags & BIG_DATA) !== 0
    if (value + (isBig ? BIG_DATA_BYTES : bytes) > this.#forest.pageBytes) {
      fault(number, 'has a value that is longer than the page')
    }
    if (isBig) this.#overflowPages(number, page, value, bytes)
    if (this.#readsFree)
      this.#freeList(number, isBig ? this.#longValue(page, value, bytes) : page.subarray(value, value + bytes))
    if ((flags & SUB_TREE) === 0) return
    if (isBig || bytes !== TREE_BYTES) fault(number, 'has a table of no known shape')
    this.#tree(treeAt(page, value), false, level + 1)
  }

  #overflowPages(number: number, page: Buffer, value: number, bytes: number): void {
    const first = Number(page.readBigUInt64LE(value))
    const count = Number(page.readBigUInt64LE(value + BIG_DATA_PAGES_AT))
    if (count < 1 || PAGE.header + bytes > count * this.#forest.pageBytes || count > this.#forest.lastPage) {
      fault(number, 'has a value that is longer than the pages it lies on')
    }
    for (let i = 0; i < count; i += 1) this.#reach(first + i, number)
    const head = this.#overflow
    if (!this.#forest.read(first, head)) throw new PageFault(`page ${first} cannot be read`)
    const isSo =
      Number(head.readBigUInt64LE(PAGE.number)) === first &&
      head.readUInt16LE(PAGE.flags) === OVERFLOW &&
      head.readUInt32LE(PAGE.overflowPages) === count
    if (!isSo) fault(first, `is not the long value that page ${number} says it is`)
  }

  #longValue(page: Buffer, value: number, bytes: number): Buffer {
    const whole = Buffer.alloc(PAGE.header + bytes)
    const first = Number(page.readBigUInt64LE(value))
    if (!this.#forest.read(first, whole)) throw new PageFault(`page ${first} cannot be read`)
    return whole.subarray(PAGE.header)
  }

  /**
   * The list's length, then page numbers. A negative entry is the length of the run that begins with the next entry.
   */
  #freeList(number: number, list: Buffer): void {
    const entries = list.length < 8 ? 0 : Number(list.readBigInt64LE(0))
    if (list.length % 8 !== 0 || entries < 0 || entries > list.length / 8 - 1)
      fault(number, 'has no list of free pages')
    for (let i = 1; i <= entries; i += 1) {
      const entry = Number(list.readBigInt64LE(i * 8))
      if (entry > 0) this.#free.push(entry, 1)
      else if (entry < 0 && i < entries) this.#free.push(Number(list.readBigInt64LE(++i * 8)), -entry)
    }
  }

  #assertFree(first: number, count: number): void {
    if (first < META_PAGES || first + count > this.#forest.lastPage + 1)
      throw new PageFault(`page ${first} cannot be free`)
    for (let page = first; page < first + count && page < this.#seen.length; page += 1) {
      if (this.#seen[page] === 1) throw new PageFault(`page ${page} is in use and in the list of free pages`)
    }
  }

  #read(number: number, level: number): Buffer {
    this.#reach(number, undefined)
    this.#buffers[level] ??= Buffer.alloc(this.#forest.pageBytes)
    const page = this.#buffers[level]!
    if (!this.#forest.read(number, page)) throw new PageFault(`page ${number} cannot be read`)
    if (Number(page.readBigUInt64LE(PAGE.number)) !== number) fault(number, 'bears the number of another')
    if (page.readBigUInt64LE(PAGE.transaction) > this.#forest.transaction) fault(number, 'is newer than the file')
    return page
  }

  /** The page may be in use, and is used only here. */
  #reach(number: number, by: number | undefined): void {
    const from = by === undefined ? '' : `, named by page ${by},`
    if (number < META_PAGES || number > this.#forest.lastPage) throw new PageFault(`page ${number}${from} cannot be`)
    if (number >= this.#forest.pages) throw new PageFault(`page ${number}${from} is behind the end of the file`, true)
    if (this.#seen[number] === 1) throw new PageFault(`page ${number}${from} is used twice`)
    this.#seen[number] = 1
  }
}

const endOfKey = (page: Buffer, node: number): number => node + NODE.header + page.readUInt16LE(node + NODE.keyBytes)

/** For a node that lies within the page. */
function keyAt(page: Buffer, at: number): KeyAt {
  const node = PAGE.header + page.readUInt16LE(at)
  return { page, start: node + NODE.header, stop: endOfKey(page, node) }
}

const lowOf = (page: Buffer, node: number): number =>
  page.readUInt16LE(node + NODE.low) + page.readUInt16LE(node + NODE.high) * 65_536

/** The page number in a branch's node. */
const childAt = (page: Buffer, node: number): number =>
  lowOf(page, node) + page.readUInt16LE(node + NODE.flags) * 2 ** 32

function fault(page: number, what: string): never {
  throw new PageFault(`page ${page} ${what}`)
}
