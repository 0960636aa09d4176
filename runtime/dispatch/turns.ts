/**
 * The projects that have something to offer, in the order of their turns. A project only ever joins at the end, so
 * a linked list keeps the order without sorting, and the first is found without looking at the others.
 */

/** Links that the list keeps in each project; only the list touches them. */
export interface TurnLinks {
  turn: number
  before: this | undefined
  after: this | undefined
  isListed: boolean
}

export class Turns<P extends TurnLinks> {
  #first: P | undefined
  #last: P | undefined
  #lastTurn = 0

  get first(): P | undefined {
    return this.#first
  }

  /** The project joins at the end, or moves there. */
  toEnd(project: P): void {
    this.leave(project)
    project.turn = ++this.#lastTurn
    project.isListed = true
    project.before = this.#last
    if (this.#last === undefined) this.#first = project
    else this.#last.after = project
    this.#last = project
  }

  leave(project: P): void {
    if (!project.isListed) return
    const { before, after } = project
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    project.before = undefined
    project.after = undefined
    project.isListed = false
  }

  /** The project has had its turn: it moves to the end, if it is listed at all. */
  served(project: P): void {
    if (project.isListed) this.toEnd(project)
    else project.turn = ++this.#lastTurn
  }
}
