/** The environments of a home in a folder: the log in files that are written at their end, the view in LMDB. */

import { HomeCopy, removeUnfinished } from '../copies/home-copy.ts'
import { type Environments, HEAD_EPOCH, type LogTables, type Medium, type ViewTables } from '../environments.ts'
import { openLog } from '../log/log-files.ts'
import { Indexes } from '../view/indexes.ts'
import { type OpenView, openView } from '../view/lmdb-view.ts'
import type { OnRepeat } from '../view/repeated-commit.ts'
import { ViewThread } from '../view/view-thread.ts'
import { apartElsewhere } from './apart.ts'
import { freeBytesOf } from './disk-reserve.ts'
import { assertWhole } from './home-checks.ts'
import { environmentPaths } from './home-paths.ts'
import { lockInstance } from './instance-lock.ts'
import { beginCreation, type Creation, isNewHome } from './unfinished.ts'
import { assertMachines } from './written-by.ts'

export interface EnvironmentOptions {
  /** Nothing is made or written. What is read of the view is kept by nobody: where a service goes on meanwhile it may be no view at all. */
  readonly readOnly?: boolean
  /** Told of a commit that LMDB failed for nothing and that was made again. */
  readonly onRepeat?: OnRepeat
  /** Told that the thread that writes the view could not be started, or has ended: what it would have written is written without it. */
  readonly onThreadEnd?: (failure: Error) => void
  /** How long a file of the log may grow, bytes. */
  readonly logFileBytesMax?: number
}

const IGNORE = () => {}

/** A folder of this machine's file system. */
export function folderMedium(home: string, options: EnvironmentOptions = {}): Medium {
  return {
    home,
    get isNew() {
      return isNewHome(home)
    },
    freeBytes: freeBytesOf(home),
    lock: () => lockInstance(home),
    assertWhole: () => assertWhole(home),
    open: (check) =>
      openEnvironments(
        home,
        (head) => {
          check(head)
          removeUnfinished(home, head.get(HEAD_EPOCH))
        },
        options,
      ),
  }
}

/**
 * Opens (and unless `readOnly`, for who knows that nobody writes, creates) both environments of a home. `check` sees the head before anything else is
 * opened or made, and throws to stop there. Throws HomeRefused, and what lmdb and the file system throw.
 */
export async function openEnvironments(
  home: string,
  check: (head: LogTables['head']) => void,
  { readOnly = false, onRepeat = IGNORE, onThreadEnd = IGNORE, logFileBytesMax }: EnvironmentOptions = {},
): Promise<Environments> {
  const paths = environmentPaths(home)
  const creations: Creation[] = []
  if (!readOnly) creations.push(beginCreation(paths.log))
  const log = await openLog(paths.log, { readOnly, isUndisturbed: readOnly, segmentBytesMax: logFileBytesMax }, check)
  // A view beside an unfinished log is of that log, and goes with it.
  if (!readOnly) creations.push(beginCreation(paths.view, creations[0]!.isAgain))
  const thread = new ViewThread(home, { onRepeat, onThreadEnd }, () => view.root.resetReadTxn())
  const apart = readOnly ? apartElsewhere(paths.view) : undefined
  let view: OpenView
  try {
    view = openView(apart?.folder ?? paths.view, readOnly, onRepeat, () => thread.begin())
  } catch (error) {
    apart?.remove()
    throw error
  }
  const close = async (): Promise<void> => {
    try {
      await thread.close()
      await log.tables.env.close()
      await view.root.close()
    } finally {
      apart?.remove()
    }
  }
  try {
    assertNote(view.tables, home)
  } catch (error) {
    await close()
    throw error
  }
  const environments: Environments = {
    log: log.tables,
    view: view.tables,
    forgetter: thread,
    copyTo: (directory) =>
      new HomeCopy({ log: log.files!, logPath: paths.log, view }, directory, log.tables.head.get(HEAD_EPOCH)!),
    close,
  }
  // The log first: a view without its log is refused, and a log without its view makes it.
  for (const creation of creations) creation.finish()
  return environments
}

/**
 * Programs of schema 3 and before say nowhere else of which versions their records are; those that came after them state it in the log.
 * What cannot be read says nothing: whoever needs it will say so. Throws HomeRefused `schema_version`.
 */
function assertNote(view: ViewTables, home: string): void {
  let noted = {}
  try {
    noted = new Indexes(view).versions()
  } catch {
    return
  }
  assertMachines(noted, home)
}
