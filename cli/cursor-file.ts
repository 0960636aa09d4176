/**
 * The file of `--cursor-file`: the cursor behind the last event that a command has dealt with, so that its next start
 * goes on there. It is kept after the deed, so a crash between the two repeats a little, and leaves nothing out.
 */
import { ServiceRefused } from '../engine/errors.ts'
import { CliFailure } from './exit.ts'
import { keep, keptIn } from './kept-file.ts'
import { isPlaceLost } from './stream-breaks.ts'

export class CursorFile {
  readonly #file: string | undefined
  #cursor: string

  /**
   * Without a file, the cursor lives as long as the command.
   * @param since where to begin as long as no cursor is kept
   */
  constructor(file: string | undefined, since: string) {
    this.#file = file
    this.#cursor = (file === undefined ? undefined : cursorIn(file)) ?? since
  }

  get cursor(): string {
    return this.#cursor
  }

  /** On disk when it returns. Throws CliFailure. */
  keep(cursor: string): void {
    if (this.#file !== undefined) keep(this.#file, `${cursor}\n`)
    this.#cursor = cursor
  }

  /** The same error; if the log has nothing behind the kept cursor, it also says what to do. */
  explain(error: unknown): unknown {
    if (this.#file === undefined || !isPlaceLost(error)) return error
    const { method, path, problem, message } = error
    const way = `The cursor is that in ${this.#file}. To go on all the same, remove the file, and begin with --since earliest or latest.`
    return new ServiceRefused(method, path, { ...problem, detail: `${message} ${way}` })
  }
}

function cursorIn(file: string): string | undefined {
  const cursor = keptIn(file)?.trim()
  if (cursor === '') throw new CliFailure(`${file} holds no cursor. Remove it to begin at --since.`)
  return cursor
}
