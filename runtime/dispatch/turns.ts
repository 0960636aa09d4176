/**
 * The projects that have something to offer, in the order of their turns. Without weights that is a plain round: each
 * turn is the last of all that were given, so a project that is served, or has just come, goes to the end. A project
 * of weight w goes back one w-th of the way to the end instead, so it comes w times while others come once, spread over
 * the round (virtual time, as in weighted fair queueing; Demers, Keshav and Shenker 1989). Measured by how far the
 * project itself lies behind, the step needs no clock that others could drive: work that only other runners take does
 * not disturb the shares.
 */
import { SortedChunks } from '../collections/sorted-chunks.ts'

/** A project's place among the others; only the list of turns changes it, except for the weight. */
export interface Turn {
  /** The lowest goes first. */
  turn: number
  /** Of equal turns, the one that was given first goes first. 0: it had none yet. */
  given: number
  isListed: boolean
  /** Turns that it gets while a project of weight 1 gets one. */
  weight: number
}

export function newTurn(weight = 1): Turn {
  return { turn: 0, given: 0, isListed: false, weight }
}

export class Turns<P extends Turn> {
  readonly #listed = new SortedChunks<P>(inTurn)
  #given = 0
  /** The last of all turns that were given. */
  #end = 0
  /** The turn of the project that was served last. */
  #served = 0
  /** Whether any project has a weight of its own. */
  isWeighted = false

  get first(): P | undefined {
    return this.#listed.first
  }

  /** All in order, some at a time. Valid until the next change. */
  chunks(): readonly (readonly P[])[] {
    return this.#listed.chunks()
  }

  /** Below 0: `a` goes first. */
  compare(a: P, b: P): number {
    return inTurn(a, b)
  }

  /**
   * The project has something to offer again. With weights it keeps its turn: one that asks for one thing at a time is
   * not put off each time. But its turn does not lie before those of all others: idleness earns no credit. One that had
   * no turn yet comes as if the turn of the first had been its own: else ever new projects would keep all others waiting.
   */
  join(project: P): void {
    if (!this.isWeighted) this.toEnd(project)
    else {
      this.leave(project)
      const first = this.first?.turn ?? this.#served
      project.turn = project.given === 0 ? this.#after(first, project.weight) : Math.max(project.turn, first)
      this.#enter(project)
    }
  }

  /** The project joins at the end, or moves there. */
  toEnd(project: P): void {
    this.leave(project)
    project.turn = ++this.#end
    this.#enter(project)
  }

  leave(project: P): void {
    if (project.isListed) this.#listed.remove(project)
    project.isListed = false
  }

  /** The project has had its turn, whether or not it has something left to offer. */
  served(project: P): void {
    const { isListed, weight, turn } = project
    this.leave(project)
    this.#end++
    this.#served = turn
    project.turn = this.#after(turn, weight)
    if (isListed) this.#enter(project)
  }

  /** The turn of a project of this weight that has had the given one. */
  #after(turn: number, weight: number): number {
    return weight === 1 ? this.#end : turn + (this.#end - turn) / weight
  }

  #enter(project: P): void {
    project.given = ++this.#given
    project.isListed = true
    this.#listed.add(project)
  }
}

function inTurn(a: Turn, b: Turn): number {
  return a.turn - b.turn || a.given - b.given
}
