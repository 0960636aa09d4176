/**
 * A copy of both environments into a folder. Until it is whole it grows in a folder beside that one, which the next
 * copy of this log removes should this one be killed.
 */
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RootDatabase } from 'lmdb'
import { writeManifest } from './backup-manifest.ts'
import type { Copy } from './environments.ts'
import { flushFile, flushNamesUpTo } from './flush.ts'
import { assertEmpty } from './home-checks.ts'
import { dataFilesOf, environmentPaths } from './home-paths.ts'
import type { SegmentedLog } from './segments/segmented-log.ts'

const DIRECTORY_MODE = 0o700

interface Originals {
  readonly log: SegmentedLog
  readonly view: RootDatabase
}

export class HomeCopy implements Copy {
  readonly #of: Originals
  readonly #bytesBefore: number
  readonly #directory: string
  readonly #unfinished: string
  readonly #paths: { readonly log: string; readonly view: string }

  /** Throws HomeRefused `not_empty`. */
  constructor(of: Originals, directory: string, epoch: string) {
    assertEmpty(directory)
    this.#of = of
    this.#bytesBefore = of.log.bytes
    this.#directory = directory
    this.#unfinished = join(dirname(directory), `unfinished-${epoch}`)
    this.#paths = environmentPaths(this.#unfinished)
    rmSync(this.#unfinished, { recursive: true, force: true })
    for (const path of [this.#paths.log, this.#paths.view]) mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
  }

  view(): Promise<void> {
    return this.#of.view.backup(this.#paths.view, true)
  }

  log(): Promise<void> {
    return this.#of.log.copyTo(this.#paths.log)
  }

  grownBytes(): number {
    return this.#of.log.bytes - this.#bytesBefore
  }

  keep(): number {
    const { log, view } = this.#paths
    const files = [log, view].flatMap(dataFilesOf)
    for (const file of files) flushFile(file)
    const bytes = writeManifest(this.#unfinished)
    for (const path of [log, view, this.#unfinished]) flushFile(path)
    renameSync(this.#unfinished, this.#directory)
    // The folder of the backups may be new itself.
    flushNamesUpTo(this.#directory)
    return bytes
  }

  discard(): void {
    rmSync(this.#unfinished, { recursive: true, force: true })
  }
}
