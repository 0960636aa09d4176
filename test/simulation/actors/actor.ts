/** An actor of a world: acts on its own, from the beginning of the storm to the end. */
import type { Call, Heard, Method, Pending } from '../network.ts'
import type { Random } from '../random.ts'
import type { World } from '../world.ts'

export interface Actor {
  /** Lives until the world is over. */
  live(): Promise<void>
  /** The storm is over: from now on it does what is expected of it. */
  calm?(): void
}

export type MakeActors = (world: World) => readonly Actor[]

/** Answers after which the same request may be made again: nothing is known, nobody was there, or not now. */
export function mayBeRepeated({ status }: Heard): boolean {
  return status <= 0 || status === 503 || status === 429
}

/** What most actors are: clients with a token, randomness and time of their own. */
export abstract class Client implements Actor {
  readonly name: string
  readonly world: World
  readonly random: Random
  token: string

  constructor(world: World, name: string, token: string) {
    this.world = world
    this.name = name
    this.random = world.random.fork()
    this.token = token
  }

  abstract live(): Promise<void>

  pass(fromMs: number, toMs = fromMs): Promise<void> {
    return this.world.timeline.pass(this.random.skewed(fromMs, toMs))
  }

  call(method: Method, pattern: string, rest: Partial<Call> = {}): Promise<Heard> {
    return this.world.network.call(this.callOf(method, pattern, rest))
  }

  begin(method: Method, pattern: string, rest: Partial<Call> = {}): Pending {
    return this.world.network.begin(this.callOf(method, pattern, rest))
  }

  /** Repeats the same request until it is answered, or until that is no use. */
  async insist(method: Method, pattern: string, rest: Partial<Call> = {}, tries = 12): Promise<Heard> {
    for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 5_000)) {
      const heard = await this.call(method, pattern, rest)
      if (!mayBeRepeated(heard) || --tries <= 0) return heard
      await this.pass(pauseMs, pauseMs * 2)
    }
  }

  private callOf(method: Method, pattern: string, rest: Partial<Call>): Call {
    return { by: this.name, token: this.token, method, pattern, ...rest }
  }
}
