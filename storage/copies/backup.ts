/**
 * Backup of a running journal, and its restore. The view is copied first and the log second, while no redo is trimmed,
 * so that the copied log always reaches back to the copied view. A restore makes another log of the files, with a
 * fresh epoch, so that no cursor of the lost one matches.
 */
import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { DiskJournal } from '../disk-journal.ts'
import { type Copy, type Environments, HEAD_EPOCH, MARKER, type Marker } from '../environments.ts'
import { copyFile } from '../files/copy-file.ts'
import { flushFile, flushNamesUpTo } from '../files/flush.ts'
import { makeFolder } from '../files/make-folder.ts'
import { FOLDER_MODE } from '../files/modes.ts'
import { asHomeRefused, assertEmpty, assertWhole } from '../home/home-checks.ts'
import { openEnvironments } from '../home/home-environments.ts'
import { adminTokenPath, dataFilesOf, environmentPaths, restoringPath } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { type InstanceLock, lockInstance, type ReadGuard } from '../home/instance-lock.ts'
import { assertSchema } from '../home/written-by.ts'
import type { BackupBounds, BackupReport } from '../journal.ts'
import { mintEpoch } from '../log/log-identity.ts'
import { type Platform, systemPlatform } from '../platform.ts'
import { assertManifest, lockAgainstWriters } from './backup-manifest.ts'

const BOUNDS_CHECK_MS = 100

/**
 * The backup was given up because others need what it takes: space, growth of the log, or time during a stop. What had
 * been copied is removed.
 */
export class BackupAborted extends Error {
  override readonly name = 'BackupAborted'
}

/**
 * Copies both environments into `directory`, which must be absent or empty, and gets the copy only once that is whole.
 * The copy pins what it reads, so the log grows meanwhile; past `growthBytesMax` the backup is given up. So it is if
 * it leaves, or would leave, less than `reserveBytes` free, when `giveUp` aborts (its reason is a BackupAborted), and
 * if no home could be made from the copy. `note` is called when everything is copied; what it returns is kept in the
 * manifest. Rejects with HomeRefused, BackupAborted, or whatever error the copying failed with.
 */
export function backup(
  journal: DiskJournal,
  directory: string,
  bounds: BackupBounds,
  giveUp?: AbortSignal,
  note?: () => object,
): Promise<BackupReport> {
  const { environments, platform } = journal
  return journal.whileRedoKept(async (releaseRedo) => {
    giveUp?.throwIfAborted()
    const copy = environments.copyTo(directory)
    const watch = new Watch(copy, bounds, releaseRedo, giveUp)
    const stop = watching(platform, () => watch.look())
    try {
      await watch.assertRoom()
      await copy.view()
      const sequence = journal.lastSequence
      await watch.assertKept()
      await copy.log()
      await watch.assertKept()
      // The copy contains the redo it needs.
      releaseRedo()
      const faults = await copy.faults()
      await watch.assertKept()
      const outcome = { sequence, faults }
      const bytes = copy.keep(note === undefined ? outcome : { ...outcome, note: note() })
      return { directory, bytes, ...outcome }
    } catch (error) {
      copy.discard()
      throw watch.crossed ?? error
    } finally {
      stop()
    }
  })
}

/** Enforces the bounds of a copy. */
class Watch {
  crossed: BackupAborted | undefined
  readonly #copy: Copy
  readonly #bounds: BackupBounds
  readonly #releaseRedo: () => void
  readonly #stop: AbortSignal | undefined
  #looking: Promise<void> | undefined

  constructor(copy: Copy, bounds: BackupBounds, releaseRedo: () => void, stop: AbortSignal | undefined) {
    this.#copy = copy
    this.#bounds = bounds
    this.#releaseRedo = releaseRedo
    this.#stop = stop
  }

  /** Rejects with BackupAborted. */
  async assertRoom(): Promise<void> {
    const bytes = this.#copy.bytesNeeded
    const freeBytes = await this.#freeBytes()
    const { reserveBytes } = this.#bounds
    if (freeBytes >= bytes + reserveBytes) return
    throw new BackupAborted(
      `a backup needs ${bytes} bytes besides the disk reserve of ${reserveBytes}, but only ${freeBytes} are free`,
    )
  }

  /** Rejects with BackupAborted. */
  async assertKept(): Promise<void> {
    // A check already under way may have seen an earlier state.
    await this.#looking
    await this.look()
    if (this.crossed !== undefined) throw this.crossed
  }

  /** Checks the bounds, one check at a time. Once one is crossed, each check gives the copy up again. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { growthBytesMax, reserveBytes } = this.#bounds
    if (this.#stop?.aborted) this.crossed ??= this.#stop.reason
    else if (this.#copy.grownBytes() > growthBytesMax)
      this.crossed ??= new BackupAborted(`the log grew by more than ${growthBytesMax} bytes during the backup`)
    else if ((await this.#freeBytes()) < reserveBytes)
      this.crossed ??= new BackupAborted('free disk space fell below the disk reserve during the backup')
    if (this.crossed === undefined) return
    this.#releaseRedo()
    this.#copy.giveUp()
  }

  /** A file system that does not report its free space counts as having room. */
  #freeBytes(): Promise<number> {
    return this.#copy.freeBytes().catch(() => Number.POSITIVE_INFINITY)
  }
}

/** Calls `look` at intervals, until the returned function is called. */
function watching(platform: Platform, look: () => unknown): () => void {
  const lookAgain = () => {
    look()
    timer = platform.setTimer(lookAgain, BOUNDS_CHECK_MS)
  }
  let timer = platform.setTimer(lookAgain, BOUNDS_CHECK_MS)
  return () => platform.clearTimer(timer)
}

/**
 * What is done with the copy before it becomes a home. Each step gets it as a home of its own, in a folder inside the
 * home that no service looks at.
 */
interface RestoreSteps {
  /**
   * Throws if the content of the files is wrong; their pages have been checked already. The copy is still as it was.
   */
  check?(draft: string): Promise<void>
  /**
   * Settles what the restored state means (attempts to raise, runs to declare lost), which takes knowledge of the
   * machines. A token file that it creates is moved along.
   */
  settle?(draft: string): Promise<void>
}

/**
 * Makes a home, empty or absent, from a backup, offline, with a fresh epoch. The home gets its log and view only when
 * the steps are done, so a restore that is killed half way is never served. The checks read the copy, not the backup,
 * since the copy will be served; without `check` it is only checked as at a start. Throws HomeRefused, and errors of
 * the steps; the home is then as it was.
 */
export async function restoreFiles(
  from: string,
  toHome: string,
  steps: RestoreSteps = {},
): Promise<{ epoch: string; previousEpoch: string }> {
  const { log, view } = environmentPaths(from)
  for (const path of [log, view]) assertThere(from, path)
  // `from` may be a home, too.
  const guard = await lockAgainstWriters(from)
  try {
    return await restoreStanding(from, toHome, guard, steps)
  } finally {
    await guard?.release()
  }
}

async function restoreStanding(
  from: string,
  toHome: string,
  guard: ReadGuard | undefined,
  { check, settle }: RestoreSteps,
): Promise<{ epoch: string; previousEpoch: string }> {
  const source = environmentPaths(from)
  assertManifest(from)
  assertEmpty(toHome, leftIn(toHome))
  const isNew = !existsSync(toHome)
  const draft = restoringPath(toHome)
  let lock: InstanceLock | undefined
  try {
    lock = await lockInstance(toHome)
    removeLeftIn(toHome)
    const made = environmentPaths(draft)
    for (const path of [made.log, made.view]) makeFolder(path, FOLDER_MODE)
    for (const part of ['view', 'log'] as const) {
      for (const file of dataFilesOf(source[part]))
        copyFile(file, join(made[part], basename(file)), (error) => asHomeRefused(file, error))
    }
    guard?.assertKept()
    await assertWhole(draft, 'pages')
    await check?.(draft)
    const epochs = await giveFreshEpochIn(draft)
    await settle?.(draft)
    for (const path of [made.log, made.view]) for (const one of [...dataFilesOf(path), path]) flushFile(one)
    moveUp(draft, toHome)
    return epochs
  } catch (error) {
    throw named(asHomeRefused(draft, error), draft, { from, toHome })
  } finally {
    if (lock !== undefined) removeIfPossible(toHome)
    await lock?.release()
    if (isNew) removeIfEmpty(toHome)
  }
}

/** Throws HomeRefused. */
function assertThere(from: string, environment: string): void {
  try {
    readdirSync(environment)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asHomeRefused(environment, error)
  }
  if (dataFilesOf(environment).length > 0) return
  throw new HomeRefused('corrupt', `${from} is not a backup: ${environment} is missing`)
}

/**
 * Moved from the draft into the home. The log comes last: without it the rest is no home yet, and a start refuses it.
 */
function movedParts(home: string): readonly string[] {
  const { log, view } = environmentPaths(home)
  return [view, adminTokenPath(home), log]
}

/** Names left by a killed restore: its draft, and what it had moved, which never includes the log. */
function leftIn(home: string): readonly string[] {
  const draft = restoringPath(home)
  const isLeft = existsSync(draft) && !existsSync(environmentPaths(home).log)
  return isLeft ? [draft, ...movedParts(home)].map((path) => basename(path)) : []
}

/** The draft goes last, since it shows that the rest was left by a restore. */
function removeLeftIn(home: string): void {
  if (leftIn(home).length === 0) return
  for (const path of [...movedParts(home), restoringPath(home)]) rmSync(path, { recursive: true, force: true })
}

/** Moves everything and flushes it, or leaves what the next restore removes: see `leftIn`. */
function moveUp(draft: string, home: string): void {
  const parts = movedParts(home)
  try {
    for (const [i, part] of movedParts(draft).entries()) if (existsSync(part)) renameSync(part, parts[i]!)
    flushFile(home)
    flushNamesUpTo(home)
  } catch (error) {
    const { log } = environmentPaths(home)
    if (existsSync(log)) renameSync(log, environmentPaths(draft).log)
    throw error
  }
}

/** Refusals that concern the folder being made rather than its source. */
const OF_TARGET: readonly unknown[] = ['locked', 'disk_reserve', 'disk_failed', 'not_permitted']

/** Replaces the draft's path in a refusal, since the draft is gone when the message is read. */
function named(error: unknown, draft: string, { from, toHome }: { from: string; toHome: string }): unknown {
  if (!(error instanceof HomeRefused) || !error.message.includes(draft)) return error
  const message = error.message.replaceAll(draft, OF_TARGET.includes(error.code) ? toHome : from)
  return new HomeRefused(error.code, message, { cause: error })
}

/** The next restore or start removes what cannot be removed here. */
function removeIfPossible(home: string): void {
  try {
    removeLeftIn(home)
    rmSync(restoringPath(home), { recursive: true, force: true })
  } catch {
    // The disk fails, and the failure before this one has been reported.
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // The folder is not empty.
  }
}

async function giveFreshEpochIn(home: string): Promise<{ epoch: string; previousEpoch: string }> {
  const environments = await openEnvironments(home, (head) => assertSchema(head, home))
  try {
    return await giveFreshEpoch(environments, home, systemPlatform)
  } finally {
    await environments.close()
  }
}

/** Turns the copy into another log than its original. Throws HomeRefused; `home` is the name for its messages. */
async function giveFreshEpoch(
  { log, view }: Environments,
  home: string,
  platform: Platform,
): Promise<{ epoch: string; previousEpoch: string }> {
  const epoch = mintEpoch(platform)
  const previousEpoch = log.head.get(HEAD_EPOCH)
  const marker = view.marker.get(MARKER)
  if (previousEpoch === undefined || marker === undefined) throw new HomeRefused('corrupt', `${home} is not a backup`)
  log.env.transactionSync(() => {
    log.head.put(HEAD_EPOCH, epoch)
  })
  await view.env.commit(() => {
    view.marker.put(MARKER, JSON.stringify({ ...(JSON.parse(marker) as Marker), epoch }))
  })
  return { epoch, previousEpoch }
}
