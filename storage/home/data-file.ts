/**
 * Checks an LMDB data file as bytes. LMDB trusts what it maps: a missing or damaged page ends the process by a signal,
 * without a word. So the pages are checked before the file is opened. Only their structure can be judged here; the
 * texts of the log have checksums of their own.
 */
import { PageReader } from './page-reader.ts'
import { checkTree, PageFault, type Tree, treeAt } from './page-tree.ts'

/** Offsets in a meta page of lmdb-js' LMDB: a page header of 24 bytes, then the meta page's own fields. */
const META = { magic: 24, pageBytes: 48, free: 48, main: 96, lastPage: 144, transaction: 152, end: 160 }
const META_MAGIC = 0xbeefc0de
const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536

/**
 * How many of the newest transactions have their leaves read, and how many leaves at most: a disk that lies may have
 * torn them.
 */
const RECENT_TRANSACTIONS = 16
const RECENT_LEAVES_MAX = 8_192
/** A file of up to this many pages (64 MiB) is checked whole, in 0.1 s. */
const SMALL_PAGES_MAX = 16_384

/** A file that is written faster than it can be checked cannot be judged. */
const TRIES_MAX = 5

/** What is wrong with a data file. */
export type DataFault =
  | { readonly kind: 'not_a_data_file' }
  | { readonly kind: 'cut_short'; readonly missingPages: number }
  | { readonly kind: 'damaged_page'; readonly detail: string }

/**
 * How much is checked. `inner`: every page above the leaves, which between them name all others, and the leaves
 * written last: about one page in a hundred. A small file is checked whole, and so is one that lacks a page not known
 * to be free. `every`: all pages in use.
 */
export type Depth = 'inner' | 'every'

interface Meta {
  readonly pageBytes: number
  readonly free: Tree
  readonly main: Tree
  readonly lastPage: number
  readonly transaction: bigint
}

/**
 * Undefined if the structure of the pages shows no fault. A fault found while another process wrote the file means
 * nothing, and the file is checked again. Rejects with file system errors.
 */
export async function faultOfDataFile(path: string, depth: Depth): Promise<DataFault | undefined> {
  const file = new PageReader(path)
  try {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const meta = newerMeta(file)
      const fault = meta === undefined ? ({ kind: 'not_a_data_file' } as const) : faultOfPages(file, meta, depth)
      // LMDB does not overwrite the pages of a transaction before it has committed another.
      if (fault === undefined || newerMeta(file)?.transaction === meta?.transaction) return fault
    }
    return undefined
  } finally {
    await file.close()
  }
}

function faultOfPages(file: PageReader, meta: Meta, depth: Depth): DataFault | undefined {
  const pages = Math.floor(file.size / meta.pageBytes)
  const missingPages = Math.max(0, meta.lastPage + 1 - pages)
  try {
    checkTree({
      ...meta,
      pages,
      ...(depth === 'every' || pages <= SMALL_PAGES_MAX
        ? { leavesSince: 0n, leavesMax: Number.POSITIVE_INFINITY }
        : { leavesSince: meta.transaction - BigInt(RECENT_TRANSACTIONS), leavesMax: RECENT_LEAVES_MAX }),
      read: (page, bytes) => file.read(page * meta.pageBytes, bytes),
      soon: (page) => {
        if (page < pages) file.soon(page * meta.pageBytes, meta.pageBytes)
      },
    })
    return undefined
  } catch (error) {
    if (!(error instanceof PageFault)) throw error
    if (error.isMissing) return { kind: 'cut_short', missingPages }
    return { kind: 'damaged_page', detail: error.message }
  }
}

function newerMeta(file: PageReader): Meta | undefined {
  const first = metaAt(file, 0)
  const second = first && metaAt(file, first.pageBytes)
  if (second === undefined) return undefined
  return second.transaction > first!.transaction ? second : first
}

/** Undefined if this is no meta page of this format. LMDB would crash on it. */
function metaAt(file: PageReader, position: number): Meta | undefined {
  const bytes = Buffer.alloc(META.end)
  if (!file.read(position, bytes)) return undefined
  if (bytes.readUInt32LE(META.magic) !== META_MAGIC) return undefined
  const pageBytes = bytes.readUInt32LE(META.pageBytes)
  // The page size is a power of two.
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX || (pageBytes & (pageBytes - 1)) !== 0) return undefined
  return {
    pageBytes,
    free: treeAt(bytes, META.free),
    main: treeAt(bytes, META.main),
    lastPage: Number(bytes.readBigUInt64LE(META.lastPage)),
    transaction: bytes.readBigUInt64LE(META.transaction),
  }
}
