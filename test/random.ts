/**
 * Choices from one seed: the same seed makes the same choices, so that a run can be repeated. A simulated world, which
 * draws far more of them and gives each actor its own, has another generator: test/simulation/random.ts.
 */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A separate generator for a part of the work. */
  fork(salt: number): Random {
    return new Random(Math.imul(this.#state ^ 0x9e3779b9, (salt << 1) | 1))
  }

  /** In [0, 1): mulberry32 (Tommy Ettinger). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** A member of the list, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!
  }

  hex(digits: number): string {
    let text = ''
    while (text.length < digits) text += this.between(0, 15).toString(16)
    return text
  }
}
