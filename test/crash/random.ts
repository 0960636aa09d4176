/** Numbers in [0, 1) from one seed (mulberry32, Tommy Ettinger), so that a run can be repeated. */
export type Random = () => number

export function randomFrom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A whole number from 0 to `below` - 1. */
export const below = (random: Random, bound: number): number => Math.floor(random() * bound)

export const oneOf = <V>(random: Random, values: readonly V[]): V => values[below(random, values.length)]!
