/**
 * What a command writes, line by line as it comes. A line that does not end (a prompt, dots of progress) is told in
 * pieces, so that one sees from afar what the command is at.
 */
import { type Line, LineSplitter } from './output.ts'

/** How long a line may take to end before what there is of it is given out, milliseconds. */
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

  /** The output is over. */
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
