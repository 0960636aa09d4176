/**
 * Checks made before a home is served: its files are whole, and its view belongs to its log and is not ahead of it.
 * Whatever does not fit is refused, and the message says how to recover; nothing is repaired by guessing.
 */
import { existsSync, readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { CorruptRow } from '../checked-text.ts'
import type { Marker } from '../environments.ts'
import { errnoOf, messageOf } from '../files/system-error.ts'
import { JournalFailure } from '../journal.ts'
import { identityOf } from '../log/event-identity.ts'
import type { EventLog } from '../log/event-log.ts'
import { SegmentedLog } from '../segments/segmented-log.ts'
import type { View } from '../view/view.ts'
import { type DataFault, type Depth, faultOfDataFile } from './data-file.ts'
import { DATA_FILE, dataFilesOf, environmentPaths, restoringPath } from './home-paths.ts'
import { HomeRefused } from './home-refused.ts'
import { isUnfinished } from './unfinished.ts'

const { EIO, ENOSPC, EROFS, EDQUOT, EACCES, EPERM } = constants.errno

/**
 * Refuses files that are not LMDB data files, and data files with missing or damaged pages in use (a truncated copy, a
 * file system that lost its tail, a disk that lies): reading them would end the process by a signal, without a word.
 * `inner` is for a home that is to be served; its log's files are checked when they are opened. `every` checks all
 * pages, and every byte of the log, which nobody may be writing; `pages` checks all pages of LMDB only. Rejects with
 * HomeRefused `corrupt`.
 */
export async function assertWhole(home: string, depth: Depth | 'pages' = 'inner'): Promise<void> {
  if (await assertLogWhole(home, depth)) await assertDataFile(environmentPaths(home).view, depth)
}

/**
 * Checks the log alone. Resolves to false if its creation was cut short, so that nothing in it was ever acknowledged.
 */
export async function assertLogWhole(home: string, depth: Depth | 'pages' = 'inner'): Promise<boolean> {
  const { log, view } = environmentPaths(home)
  if (isUnfinished(log)) return false
  if (dataFilesOf(log).length === 0 && existsSync(restoringPath(home))) {
    throw new HomeRefused(
      'restore_unfinished',
      `a restore into ${home} was cut short: run that restore again, or empty the folder`,
    )
  }
  if (dataFilesOf(log).length === 0 && existsSync(join(view, DATA_FILE))) {
    throw new HomeRefused(
      'log_missing',
      `${log} is empty or was removed, but ${view}, which was made from it, exists: put the log back, or restore a backup`,
    )
  }
  await assertDataFile(log, depth)
  // Segments beside a log of LMDB are an unfinished conversion.
  if (depth === 'every' && existsSync(log) && !existsSync(join(log, DATA_FILE))) assertEveryFrame(log)
  return true
}

async function assertDataFile(environment: string, depth: Depth | 'pages'): Promise<void> {
  const file = join(environment, DATA_FILE)
  const pages = depth === 'inner' ? 'inner' : 'every'
  const fault = existsSync(file) && !isUnfinished(environment) ? await faultOfDataFile(file, pages) : undefined
  if (fault !== undefined) throw new HomeRefused('corrupt', sentence(file, fault))
}

function assertEveryFrame(path: string): void {
  const log = new SegmentedLog(path, { readOnly: true, isUndisturbed: true })
  try {
    log.assertEvery()
  } finally {
    void log.close()
  }
}

function sentence(file: string, fault: DataFault): string {
  switch (fault.kind) {
    case 'not_a_data_file':
      return `${file} does not begin like a data file: put the right file back, or restore a backup`
    case 'cut_short':
      return `${file} is truncated: its last ${fault.missingPages} pages are missing; put it back, or restore a backup`
    case 'damaged_page':
      return `${file} is damaged (${fault.detail}): put it back, or restore a backup`
  }
}

/** `except`: names that a killed restore may have left. Throws HomeRefused `not_empty`. */
export function assertEmpty(directory: string, except: readonly string[] = []): void {
  if (existsSync(directory) && readdirSync(directory).some((name) => !except.includes(name))) {
    throw new HomeRefused('not_empty', `${directory} is not empty: choose an empty or new directory`)
  }
}

/** The view's marker, if it fits this log. A view without one is new, and needs the redo from the first batch on. */
export function assertMarker(view: View, log: EventLog, home: string): Marker {
  const marker = markerOf(view, home)
  if (marker === undefined) {
    const first = log.firstRedo
    if (log.lastBatch > 0 && first !== 1) {
      throw new HomeRefused(
        'redo_missing',
        `${home}/view is empty or was removed, and ${home}/log can no longer rebuild it: put the view back, or restore a backup`,
      )
    }
    return { epoch: log.epoch, batch: 0, sequence: 0 }
  }
  if (marker.epoch !== log.epoch) {
    throw new HomeRefused(
      'view_of_another_log',
      `${home}/view belongs to log ${marker.epoch}, ${home}/log is ${log.epoch}: put back a matching pair, or restore a backup`,
    )
  }
  if (marker.batch > log.lastBatch) {
    throw new HomeRefused(
      'view_ahead',
      `${home}/view is at batch ${marker.batch}, ${home}/log ends at ${log.lastBatch}: the log has lost batches; restore a backup`,
    )
  }
  if (!knowsEvent(view, log, marker.sequence)) {
    throw new HomeRefused(
      'view_of_another_log',
      `${home}/view belongs to another copy of this log, which diverged: event ${marker.sequence} of ${home}/log is not in it; put back a matching pair, or restore a backup`,
    )
  }
  return marker
}

/**
 * Detects a view of another copy of this home, if both copies went on separately under the same numbers. Unreadable
 * rows tell nothing here; whoever needs them will report them.
 */
function knowsEvent(view: View, log: EventLog, sequence: number): boolean {
  if (sequence < log.oldestSequence) return true
  try {
    const text = log.event(sequence)
    // A hole in the log is another fault, which `verify` reports.
    if (text === undefined) return true
    const { project, traceId, id } = identityOf(text)
    return view.eventSequence(project, traceId, id) === sequence
  } catch {
    return true
  }
}

function markerOf(view: View, home: string): Marker | undefined {
  try {
    return view.marker()
  } catch (error) {
    throw asHomeRefused(`${home}/view`, error)
  }
}

/** LMDB's messages for bytes that it cannot make sense of. */
const DAMAGE = /MDB_(CORRUPTED|PAGE_NOTFOUND|CURSOR_FULL|BAD_TXN|INVALID|VERSION_MISMATCH)/
/** What to do about a disk that accepts no writes, by its error. */
const DISK_FAILED: ReadonlyMap<number | undefined, string> = new Map([
  [EIO, 'repair the disk'],
  [ENOSPC, 'free some space (or files, if `df -i` shows none free)'],
  [EDQUOT, 'free some space, or raise the quota,'],
  [EROFS, 'make it writable (in a systemd unit, name it in ReadWritePaths)'],
])
/** Errors for a file of another user. */
const NOT_PERMITTED: readonly number[] = [EACCES, EPERM]

/**
 * Turns an error that means damage, a failing disk or another user's files into a HomeRefused that names the place and
 * how to recover, with the cause. Returns any other error as it is.
 */
export function asHomeRefused(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HomeRefused || error instanceof JournalFailure) return error
  const { path: named = path } = error as NodeJS.ErrnoException
  const errno = errnoOf(error)
  const message = messageOf(error)
  if (errno !== undefined && NOT_PERMITTED.includes(errno)) {
    const advice = `the user running this (id ${process.getuid?.()}) must own it and everything else in the home (chown -R), or choose another place`
    return new HomeRefused('not_permitted', `${named} cannot be opened (${message}): ${advice}`, { cause: error })
  }
  const remedy = DISK_FAILED.get(errno)
  if (remedy !== undefined) {
    const advice = `${remedy} and start again; nothing acknowledged is lost as long as the disk keeps its data`
    return new HomeRefused('disk_failed', `the disk of ${path} fails (${message}): ${advice}`, { cause: error })
  }
  if (!(error instanceof CorruptRow || error instanceof SyntaxError || DAMAGE.test(error.message))) return error
  return new HomeRefused('corrupt', `${path} is damaged (${error.message}): restore a backup`, { cause: error })
}
