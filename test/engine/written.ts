/** A command that writes more output than a runner holds, and records in a file how far it has come. */
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { until } from '../until.ts'

export const LINE_BYTES = 60_001
/** A runner takes at least this many lines before it stops reading: 4 MB, less their envelopes. */
const LINES_HELD_MIN = 60
/** Including what is in pipes and not yet cut into events: twice what it may hold. */
export const LINES_HELD_MAX = 140
/** After this many refused posts since the last line the command is taken to be blocked. */
const STILL_POSTS = 20

export class Written {
  /** Writes its lines one by one, and a byte into a file after each. */
  readonly command: string
  readonly #file: string

  /** @param lines how many it writes; unlimited by default. */
  constructor(test: Test, lines = Number.POSITIVE_INFINITY) {
    this.#file = join(test.testdir(), 'written')
    writeFileSync(this.#file, '')
    const more = Number.isFinite(lines) ? `[ $i -lt ${lines} ]` : 'true'
    const line = `head -c ${LINE_BYTES - 1} /dev/zero | tr '\\0' x; echo; printf . >> '${this.#file}'`
    this.command = `i=0; while ${more}; do ${line}; i=$((i+1)); done`
  }

  get count(): number {
    return statSync(this.#file).size
  }

  /** The number of lines once none was added for STILL_POSTS posts that the service `refused`. */
  async standStill(refused: () => number): Promise<number> {
    let last = { count: 0, refused: 0 }
    const look = async () => {
      const { count } = this
      if (count !== last.count) last = { count, refused: refused() }
      return { ...last, posts: refused() - last.refused }
    }
    return (await until(look, ({ count, posts }) => count >= LINES_HELD_MIN && posts >= STILL_POSTS)).count
  }
}
