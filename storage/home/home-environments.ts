/** The environments of a home in a folder: the log in append-only files, the view in LMDB. */

import { HomeCopy, removeUnfinished } from '../copies/home-copy.ts'
import { type Environments, HEAD_EPOCH, type LogTables, type Medium, type ViewTables } from '../environments.ts'
import { openLog } from '../log/log-files.ts'
import { Indexes } from '../view/indexes.ts'
import { type OpenView, openView } from '../view/lmdb-view.ts'
import type { OnRepeat } from '../view/repeated-commit.ts'
import { ViewThread } from '../view/view-thread.ts'
import { freeBytesOf } from './disk-reserve.ts'
import { assertWhole } from './home-checks.ts'
import { environmentPaths } from './home-paths.ts'
import { lockInstance } from './instance-lock.ts'
import { linkedInTemporary } from './separate-reader.ts'
import { beginCreation, type Creation, isNewHome } from './unfinished.ts'
import { assertMachines } from './written-by.ts'

export interface EnvironmentOptions {
  /**
   * Creates and writes nothing. The view's pages are not protected while being read: if a service runs meanwhile, they
   * may turn into garbage.
   */
  readonly readOnly?: boolean
  /** Receives a commit failure of LMDB's that had no cause and was repeated. */
  readonly onRepeat?: OnRepeat
  /** The thread that writes the view could not be started, or has ended; its writes are made without it. */
  readonly onThreadEnd?: (failure: Error) => void
  /** Size at which a file of the log is full, bytes. */
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
 * Opens both environments of a home. Unless `readOnly`, which requires that nobody writes, creates them if absent.
 * `check` sees the head before anything else is opened or created, and throws to stop there. Throws HomeRefused, and
 * lmdb and file system errors.
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
  // A view beside an unfinished log belongs to it, and is created again with it.
  if (!readOnly) creations.push(beginCreation(paths.view, creations[0]!.isAgain))
  const thread = new ViewThread(home, { onRepeat, onThreadEnd }, () => view.root.resetReadTxn())
  const reader = readOnly ? linkedInTemporary(paths.view) : undefined
  let view: OpenView
  try {
    view = openView(reader?.folder ?? paths.view, readOnly, onRepeat, () => thread.begin())
  } catch (error) {
    reader?.remove()
    throw error
  }
  const close = async (): Promise<void> => {
    try {
      await thread.close()
      await log.tables.env.close()
      await view.root.close()
    } finally {
      reader?.remove()
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
  // The log first: a view without its log is refused, while a log can rebuild its view.
  for (const creation of creations) creation.finish()
  return environments
}

/**
 * Programs of schema 3 and before noted their machine versions only in the view; later ones state them in the log. An
 * unreadable note tells nothing here; whoever needs it will report it. Throws HomeRefused `schema_version`.
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
