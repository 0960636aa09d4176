/** A promise of the service that a history breaks: ends the world, and names the invariant that found it. */
export class Violation extends Error {
  override readonly name = 'Violation'
  readonly invariant: string

  constructor(invariant: string, detail: string) {
    super(`${invariant}: ${detail}`)
    this.invariant = invariant
  }
}
