/**
 * A copy of both environments into a folder. Until it is whole it grows in a folder beside that one. If the process is
 * killed, the next copy of this log removes that folder; the next start does, if it is among the home's own backups.
 */
import { renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BackupOutcome, Copy } from '../environments.ts'
import { flushFile, flushNamesUpTo } from '../files/flush.ts'
import { makeFolder } from '../files/make-folder.ts'
import { FOLDER_MODE } from '../files/modes.ts'
import { freeBytesOf } from '../home/disk-reserve.ts'
import { assertEmpty } from '../home/home-checks.ts'
import { backupsPath, dataFilesOf, environmentPaths, readingPath, restoringPath } from '../home/home-paths.ts'
import type { SegmentedLog } from '../segments/segmented-log.ts'
import { faultsOfLog } from '../verify/log-check.ts'
import type { OpenView } from '../view/lmdb-view.ts'
import { hasManifest, writeManifest } from './backup-manifest.ts'
import { copyView } from './view-copy.ts'

/** Never the name of a backup that somebody asks for: those begin with a letter or a digit. */
const unfinishedPath = (parent: string, epoch: string): string => join(parent, `.unfinished-${epoch}`)

/** The name in earlier builds, which a backup may have too. */
const formerPath = (parent: string, epoch: string): string => join(parent, `unfinished-${epoch}`)

/**
 * Removes from the home what a killed backup of this log has left, and the draft of a restore that was complete except
 * for this removal. `epoch`: undefined for a new log.
 */
export function removeUnfinished(home: string, epoch: string | undefined): void {
  if (epoch === undefined) return
  try {
    rmSync(restoringPath(home), { recursive: true, force: true })
    rmSync(readingPath(environmentPaths(home).view), { recursive: true, force: true })
    rmSync(unfinishedPath(backupsPath(home), epoch), { recursive: true, force: true })
    const former = formerPath(backupsPath(home), epoch)
    if (!hasManifest(former)) rmSync(former, { recursive: true, force: true })
  } catch {
    // The next backup reports why it cannot be removed; it is no reason not to serve.
  }
}

interface Originals {
  readonly log: SegmentedLog
  readonly logPath: string
  readonly view: OpenView
}

export class HomeCopy implements Copy {
  readonly #of: Originals
  readonly #bytesBefore: number
  readonly #directory: string
  readonly #unfinished: string
  readonly #paths: { readonly log: string; readonly view: string }
  readonly #givenUp = new AbortController()

  /** Throws HomeRefused `not_empty`. */
  constructor(of: Originals, directory: string, epoch: string) {
    assertEmpty(directory)
    this.#of = of
    this.#bytesBefore = of.log.bytes
    this.#directory = directory
    this.#unfinished = unfinishedPath(dirname(directory), epoch)
    this.#paths = environmentPaths(this.#unfinished)
    rmSync(this.#unfinished, { recursive: true, force: true })
    for (const path of [this.#paths.log, this.#paths.view]) makeFolder(path, FOLDER_MODE)
  }

  get bytesNeeded(): number {
    return this.#of.log.bytes + this.#of.view.bytesInUse()
  }

  freeBytes(): Promise<number> {
    return freeBytesOf(this.#unfinished)()
  }

  view(): Promise<void> {
    return copyView(this.#of.view, this.#paths.view, this.#givenUp.signal)
  }

  log(): Promise<void> {
    return this.#of.log.copyTo(this.#paths.log, this.#givenUp.signal)
  }

  async faults(): Promise<readonly string[]> {
    // The original has the same faults, and the copy may not exist much longer.
    const ofOriginal = (text: string): string => text.replaceAll(this.#paths.log, this.#of.logPath)
    try {
      return (await faultsOfLog(this.#paths.log, this.#givenUp.signal)).map(ofOriginal)
    } catch (error) {
      throw new Error(ofOriginal((error as Error).message), { cause: error })
    }
  }

  grownBytes(): number {
    return this.#of.log.bytes - this.#bytesBefore
  }

  giveUp(): void {
    this.#givenUp.abort()
  }

  keep(outcome: BackupOutcome): number {
    const { log, view } = this.#paths
    const files = [log, view].flatMap(dataFilesOf)
    for (const file of files) flushFile(file)
    const bytes = writeManifest(this.#unfinished, outcome)
    for (const path of [log, view, this.#unfinished]) flushFile(path)
    renameSync(this.#unfinished, this.#directory)
    // The backups' own folder may be new.
    flushNamesUpTo(this.#directory)
    return bytes
  }

  discard(): void {
    rmSync(this.#unfinished, { recursive: true, force: true })
  }
}
