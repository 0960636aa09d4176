import type { Journal } from '../../storage/journal.ts'
import { AdvanceablePlatform } from './advanceable.ts'

/** Turns are held back while somebody holds them, and each look at the clock may take a while. */
export class HoldablePlatform extends AdvanceablePlatform {
  lookMs = 0
  #lookedMs = 0
  #held: (() => void)[] | undefined

  override monotonicMs(): number {
    this.#lookedMs += this.lookMs
    return super.monotonicMs() + this.#lookedMs
  }

  override nextTurn(callback: () => void): void {
    if (this.#held === undefined) super.nextTurn(callback)
    else this.#held.push(callback)
  }

  /** Turns that are held back. */
  get held(): number {
    return this.#held?.length ?? 0
  }

  hold(): void {
    this.#held = []
  }

  /** Holds back all turns after that of the next commit. */
  holdAt(journal: Journal): void {
    const append = journal.append.bind(journal)
    journal.append = (steps, done) => {
      journal.append = append
      this.hold()
      append(steps, done)
    }
  }

  letGo(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const callback of held) callback()
  }
}
