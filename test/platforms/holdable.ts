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

  letGo(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const callback of held) callback()
  }
}
