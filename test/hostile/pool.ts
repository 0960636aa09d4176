/** Values seen in answers, by member name, for use in later requests. */
import type { Random } from '../random.ts'

const VALUES_A_NAME_MAX = 128
const NAMES_MAX = 1_000

export type Scalar = string | number | boolean

export class Pool {
  readonly #byName = new Map<string, Scalar[]>()
  #turn = 0

  put(name: string, value: Scalar): void {
    let values = this.#byName.get(name)
    if (values === undefined) {
      if (this.#byName.size >= NAMES_MAX) return
      values = []
      this.#byName.set(name, values)
    }
    if (values.length < VALUES_A_NAME_MAX) values.push(value)
    else values[this.#turn++ % VALUES_A_NAME_MAX] = value
  }

  /** One of the values; only the most recent ones are kept for each name. */
  pick(name: string, random: Random): Scalar | undefined {
    const values = this.#byName.get(name)
    return values === undefined ? undefined : random.pick(values)
  }

  /** Any value of any name, for example an id of another kind. */
  any(random: Random): Scalar | undefined {
    if (this.#byName.size === 0) return undefined
    return random.pick(random.pick([...this.#byName.values()]))
  }
}
