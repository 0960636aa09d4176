/**
 * Splits a command's output into lines as it arrives. A line that does not end (a prompt, progress dots) is passed on
 * in pieces, so that a remote viewer sees what the command is doing.
 */
import { type Line, LineSplitter } from './output.ts'

/** How long a line may stay open before its beginning is passed on, in milliseconds. */
const OPEN_LINE_MS = 1_000

export class LineReader {
  readonly #lines = new LineSplitter()
  readonly #give: (lines: readonly Line[]) => void
  #timer: NodeJS.Timeout | undefined

  constructor(give: (lines: readonly Line[]) => void) {
    this.#give = give
  }

  push(chunk: Buffer): void {
    this.#give(this.#lines.push(chunk))
    if (this.#lines.isWithin) this.#timer ??= setTimeout(() => this.#giveBegun(), OPEN_LINE_MS)
    else this.#rest()
  }

  /** The output has ended. */
  end(): void {
    this.#rest()
    this.#give(this.#lines.end())
  }

  #giveBegun(): void {
    this.#rest()
    this.#give(this.#lines.begun())
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
