/**
 * The histories of several traces or items merged into one, in log order or reverse. Each is read in parts, as the
 * search reaches them: a history of a hundred thousand events, read whole, held everyone up for as long as a long page.
 */
import type { Journal } from '../../storage/journal.ts'
import { rowsPerTurnMax } from './limits.ts'

/** Sequences read at once from each history, if there are many. */
const sequencesMin = 16

/** Indexed events: the histories of these traces or items. */
export interface Histories {
  readonly of: 'trace' | 'item'
  readonly ids: readonly string[]
}

interface WalkRange {
  readonly order: 'asc' | 'desc'
  /** Exclusive start. */
  readonly from: number
  /** The last sequence, in that order. */
  readonly to: number
}

/** What was read of one history. */
interface Part {
  readonly id: string
  sequences: readonly number[]
  at: number
  /** Nothing follows these sequences. */
  isLast: boolean
}

export class HistoryWalk {
  readonly #log: Pick<Journal, 'history' | 'historyBackward'>
  readonly #of: Histories['of']
  readonly #range: WalkRange
  readonly #readAtOnce: number
  readonly #parts: Part[]

  constructor(log: Pick<Journal, 'history' | 'historyBackward'>, { of, ids }: Histories, range: WalkRange) {
    this.#log = log
    this.#of = of
    this.#range = range
    this.#readAtOnce = Math.max(sequencesMin, Math.ceil(rowsPerTurnMax / Math.max(1, ids.length)))
    this.#parts = [...new Set(ids)].map((id) => ({ id, sequences: [], at: 0, isLast: false }))
  }

  /** The next sequence; undefined if the range holds no more. */
  get next(): number | undefined {
    const { order, to } = this.#range
    let next: number | undefined
    for (const part of this.#parts) {
      const one = this.#nextOf(part)
      if (one === undefined || (order === 'asc' ? one > to : one < to)) continue
      if (next === undefined || (order === 'asc' ? one < next : one > next)) next = one
    }
    return next
  }

  /** Moves past the sequence in each history that has it. */
  pass(sequence: number): void {
    for (const part of this.#parts) if (part.sequences[part.at] === sequence) part.at += 1
  }

  #nextOf(part: Part): number | undefined {
    if (part.at < part.sequences.length || part.isLast) return part.sequences[part.at]
    const { order, from } = this.#range
    const behind = part.sequences.at(-1) ?? from
    const read = this.#readAtOnce
    part.sequences =
      order === 'asc'
        ? this.#log.history(this.#of, part.id, behind, read)
        : this.#log.historyBackward(this.#of, part.id, behind, read)
    part.at = 0
    part.isLast = part.sequences.length < read
    return part.sequences[0]
  }
}
