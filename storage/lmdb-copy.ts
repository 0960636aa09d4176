/**
 * A copy of both environments into a folder. Until it is whole it grows in a folder beside that one, which the next
 * copy of this log removes should this one be killed.
 */
import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RootDatabase } from 'lmdb'
import type { Copy } from './environments.ts'
import { flushFile, flushNamesUpTo } from './flush.ts'
import { assertEmpty } from './home-checks.ts'
import { DATA_FILE, environmentPaths } from './home-paths.ts'

const DIRECTORY_MODE = 0o700

export class HomeCopy implements Copy {
  readonly #databases: { readonly log: RootDatabase; readonly view: RootDatabase }
  readonly #logFile: string
  readonly #bytesBefore: number
  readonly #directory: string
  readonly #unfinished: string
  readonly #paths: { readonly log: string; readonly view: string }

  /** Throws HomeRefused `not_empty`. */
  constructor(home: string, databases: { log: RootDatabase; view: RootDatabase }, directory: string, epoch: string) {
    assertEmpty(directory)
    this.#databases = databases
    this.#logFile = join(environmentPaths(home).log, DATA_FILE)
    this.#bytesBefore = statSync(this.#logFile).size
    this.#directory = directory
    this.#unfinished = join(dirname(directory), `unfinished-${epoch}`)
    this.#paths = environmentPaths(this.#unfinished)
    rmSync(this.#unfinished, { recursive: true, force: true })
    for (const path of [this.#paths.log, this.#paths.view]) mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
  }

  view(): Promise<void> {
    return this.#databases.view.backup(this.#paths.view, true)
  }

  log(): Promise<void> {
    return this.#databases.log.backup(this.#paths.log, true)
  }

  grownBytes(): number {
    return statSync(this.#logFile).size - this.#bytesBefore
  }

  keep(): number {
    const { log, view } = this.#paths
    const files = [log, view].map((path) => join(path, DATA_FILE))
    for (const file of files) flushFile(file)
    for (const path of [log, view, this.#unfinished]) flushFile(path)
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    renameSync(this.#unfinished, this.#directory)
    // The folder of the backups may be new itself.
    flushNamesUpTo(this.#directory)
    return bytes
  }

  discard(): void {
    rmSync(this.#unfinished, { recursive: true, force: true })
  }
}
