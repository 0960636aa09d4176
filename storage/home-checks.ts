/**
 * What is looked at before a home is served: that its files are whole, and that its view belongs to its log and is
 * not ahead of it. Whatever does not fit is refused with the way back; nothing is repaired by guessing.
 */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { CorruptRow } from './checked-text.ts'
import type { Marker } from './environments.ts'
import type { EventLog } from './event-log.ts'
import { DATA_FILE, environmentPaths } from './home-paths.ts'
import { HomeRefused } from './home-refused.ts'
import type { View } from './view.ts'

/** Where lmdb-js' LMDB keeps what is read here: a page header of 24 bytes, then the meta page's own fields. */
const META = { magic: 24, pageBytes: 48, lastPage: 144, transaction: 152, end: 160 }
const META_MAGIC = 0xbeefc0de
/** Pages at the very end that a transaction took and gave back are counted, and never written: two at most were seen. */
const UNWRITTEN_PAGES_MAX = 16

/**
 * Refuses what is no data file, and data files that end before their last page (a copy cut short, a file system that lost its tail): read,
 * they would end the process by a signal and without a word. Throws HomeRefused `corrupt`.
 */
export function assertWhole(home: string): void {
  for (const path of Object.values(environmentPaths(home))) {
    const file = join(path, DATA_FILE)
    if (!existsSync(file)) continue
    const missing = missingPages(file)
    if (missing === undefined) {
      throw new HomeRefused('corrupt', `${file} does not begin as a data file does: put it back, or restore a backup`)
    }
    if (missing > UNWRITTEN_PAGES_MAX) {
      throw new HomeRefused('corrupt', `${file} is cut short: its last ${missing} pages are missing; restore a backup`)
    }
  }
}

/** Pages that the newer of the two meta pages counts and the file does not have; undefined: the meta pages are not there. */
function missingPages(file: string): number | undefined {
  const descriptor = openSync(file, 'r')
  try {
    const { size } = fstatSync(descriptor)
    // Made, and killed before anything was in it: LMDB begins it anew.
    if (size === 0) return 0
    const first = metaAt(descriptor, 0)
    const second = first && metaAt(descriptor, first.pageBytes)
    if (second === undefined) return undefined
    const newer = second.transaction > first!.transaction ? second : first!
    return newer.lastPage + 1 - Math.floor(size / newer.pageBytes)
  } finally {
    closeSync(descriptor)
  }
}

/** Undefined: no meta page of this format. LMDB would end the process on it. */
function metaAt(descriptor: number, position: number) {
  const bytes = Buffer.alloc(META.end)
  if (readSync(descriptor, bytes, 0, META.end, position) < META.end) return undefined
  if (bytes.readUInt32LE(META.magic) !== META_MAGIC) return undefined
  return {
    pageBytes: bytes.readUInt32LE(META.pageBytes),
    lastPage: Number(bytes.readBigUInt64LE(META.lastPage)),
    transaction: bytes.readBigUInt64LE(META.transaction),
  }
}

/** `except`: what a restore that was killed may have left. Throws HomeRefused `not_empty`. */
export function assertEmpty(directory: string, except?: string): void {
  if (existsSync(directory) && readdirSync(directory).some((name) => name !== except)) {
    throw new HomeRefused('not_empty', `${directory} is not empty: choose a directory that is empty or absent`)
  }
}

/** Reads the view's marker, if it fits this log. A view without one is new: all of its redo must be there. */
export function assertMarker(view: View, log: EventLog, home: string): Marker {
  const marker = markerOf(view, home)
  if (marker === undefined) {
    const first = log.firstRedo
    if (log.lastBatch > 0 && first !== 1) {
      throw new HomeRefused(
        'redo_missing',
        `${home}/view is empty or was removed, and ${home}/log no longer holds what made it: put the view back, or restore a backup`,
      )
    }
    return { epoch: log.epoch, batch: 0, sequence: 0 }
  }
  if (marker.epoch !== log.epoch) {
    throw new HomeRefused(
      'view_of_another_log',
      `${home}/view belongs to log ${marker.epoch}, ${home}/log is ${log.epoch}: put back the two that belong together, or restore a backup`,
    )
  }
  if (marker.batch > log.lastBatch) {
    throw new HomeRefused(
      'view_ahead',
      `${home}/view is at batch ${marker.batch}, ${home}/log ends at ${log.lastBatch}: the log has lost batches; restore a backup`,
    )
  }
  return marker
}

function markerOf(view: View, home: string): Marker | undefined {
  try {
    return view.marker()
  } catch (error) {
    throw damaged(`${home}/view`, error)
  }
}

/** What LMDB says of bytes that it cannot make sense of. */
const DAMAGE = /MDB_(CORRUPTED|PAGE_NOTFOUND|INVALID|VERSION_MISMATCH)/

/** An error that means damage, named with its place and the way back, the cause kept; any other as it is. */
export function damaged(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HomeRefused) return error
  if (!(error instanceof CorruptRow || error instanceof SyntaxError || DAMAGE.test(error.message))) return error
  return new HomeRefused('corrupt', `${path} is damaged (${error.message}): restore a backup`, { cause: error })
}
