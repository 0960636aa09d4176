/**
 * Whether a data file of LMDB holds every page that is in use, told from its bytes before LMDB maps it: a read past
 * the end of a mapped file ends the process by a signal and without a word. Pages at the end that a transaction took
 * and gave back are counted by the meta page and never written, so a file may rightly be shorter than its last page:
 * it is whole when each page that it lacks is in its list of free pages.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Where lmdb-js' LMDB keeps what is read here: a page header of 24 bytes, then the meta page's own fields. */
const META = { magic: 24, pageBytes: 48, freeRoot: 88, lastPage: 144, transaction: 152, end: 160 }
const META_MAGIC = 0xbeefc0de
const PAGE = { flags: 18, lower: 20, header: 24 }
const BRANCH = 0x01
const LEAF = 0x02
/** A leaf's value lies on pages of its own, and the node holds the number of the first. */
const BIG_DATA = 0x01
const NODE_HEADER = 8
const NO_PAGE = 0xffffffffffffffffn
/** Deeper than any tree of 2^48 pages. */
const TREE_DEPTH_MAX = 32

/** What is wrong with a data file. */
export type DataFault = 'not_a_data_file' | { readonly missingPages: number }

interface Meta {
  readonly pageBytes: number
  readonly freeRoot: bigint
  readonly lastPage: number
  readonly transaction: bigint
}

/** Undefined: every page in use is there. Reads the two meta pages, and the list of free pages only of a short file. */
export function faultOfDataFile(path: string): DataFault | undefined {
  const descriptor = openSync(path, 'r')
  try {
    const { size } = fstatSync(descriptor)
    // Made, and killed before anything was in it: LMDB begins it anew.
    if (size === 0) return undefined
    const meta = newerMeta(descriptor)
    if (meta === undefined) return 'not_a_data_file'
    const pages = Math.floor(size / meta.pageBytes)
    const short = meta.lastPage + 1 - pages
    if (short <= 0) return undefined
    const missingPages = short - freePagesFrom(new Pages(descriptor, meta.pageBytes, pages), meta.freeRoot, pages)
    return missingPages <= 0 ? undefined : { missingPages }
  } finally {
    closeSync(descriptor)
  }
}

function newerMeta(descriptor: number): Meta | undefined {
  const first = metaAt(descriptor, 0)
  const second = first && metaAt(descriptor, first.pageBytes)
  if (second === undefined) return undefined
  return second.transaction > first!.transaction ? second : first
}

/** Undefined: no meta page of this format. LMDB would end the process on it. */
function metaAt(descriptor: number, position: number): Meta | undefined {
  const bytes = Buffer.alloc(META.end)
  if (readSync(descriptor, bytes, 0, META.end, position) < META.end) return undefined
  if (bytes.readUInt32LE(META.magic) !== META_MAGIC) return undefined
  return {
    pageBytes: bytes.readUInt32LE(META.pageBytes),
    freeRoot: bytes.readBigUInt64LE(META.freeRoot),
    lastPage: Number(bytes.readBigUInt64LE(META.lastPage)),
    transaction: bytes.readBigUInt64LE(META.transaction),
  }
}

class Pages {
  readonly #descriptor: number
  readonly #pageBytes: number
  readonly #count: number

  constructor(descriptor: number, pageBytes: number, count: number) {
    this.#descriptor = descriptor
    this.#pageBytes = pageBytes
    this.#count = count
  }

  /** The bytes from the beginning of a page; undefined when the file does not hold them all. */
  read(page: number, byteCount: number = this.#pageBytes): Buffer | undefined {
    if (page >= this.#count) return undefined
    const bytes = Buffer.alloc(byteCount)
    return readSync(this.#descriptor, bytes, 0, byteCount, page * this.#pageBytes) === byteCount ? bytes : undefined
  }
}

/** How many different pages at or behind `from` are in the tree of free pages. A part that cannot be read has none. */
function freePagesFrom(pages: Pages, root: bigint, from: number): number {
  const free = new Set<number>()
  if (root !== NO_PAGE) walk(pages, Number(root), 0, (list) => collect(list, from, free))
  return free.size
}

function walk(pages: Pages, number: number, depth: number, onList: (list: Buffer) => void): void {
  const page = pages.read(number)
  if (page === undefined || depth > TREE_DEPTH_MAX) return
  const flags = page.readUInt16LE(PAGE.flags)
  const end = Math.min(page.readUInt16LE(PAGE.lower), page.length)
  for (let at = PAGE.header; at + 2 <= end; at += 2) {
    const node = page.readUInt16LE(at)
    if (node + NODE_HEADER > page.length) continue
    const low = page.readUInt16LE(node) + page.readUInt16LE(node + 2) * 2 ** 16
    const nodeFlags = page.readUInt16LE(node + 4)
    if ((flags & BRANCH) !== 0) walk(pages, low + nodeFlags * 2 ** 32, depth + 1, onList)
    else if ((flags & LEAF) !== 0) {
      const value = node + NODE_HEADER + page.readUInt16LE(node + 6)
      const list = valueAt(pages, page, value, low, (nodeFlags & BIG_DATA) !== 0)
      if (list !== undefined) onList(list)
    }
  }
}

function valueAt(pages: Pages, page: Buffer, at: number, byteCount: number, isBig: boolean): Buffer | undefined {
  if (!isBig) return at + byteCount <= page.length ? page.subarray(at, at + byteCount) : undefined
  if (at + 8 > page.length) return undefined
  const first = Number(page.readBigUInt64LE(at))
  return pages.read(first, PAGE.header + byteCount)?.subarray(PAGE.header)
}

/** A list of free pages: its length, then page numbers; a negative number is the length of the run that follows it. */
function collect(list: Buffer, from: number, free: Set<number>): void {
  const length = list.length < 8 ? 0 : Math.min(Number(list.readBigInt64LE(0)), list.length / 8 - 1)
  for (let i = 1; i <= length; i++) {
    const entry = Number(list.readBigInt64LE(i * 8))
    const run = entry < 0 ? -entry : 1
    const first = entry < 0 ? Number(list.readBigInt64LE(++i * 8)) : entry
    if (first === 0) continue
    for (let page = Math.max(first, from); page < first + run; page++) free.add(page)
  }
}
