/**
 * Actors with mail, in two queues: existing entities, in the order mail arrived, and entities that a caller asks to
 * create. Existing ones go first, so that a runner's post about its run does not wait behind a flood of requests for
 * new work. Hot.
 */
import type { Actor } from './actor.ts'

export class Ready {
  #begun: Actor[] = []
  #fresh: Actor[] = []

  get isEmpty(): boolean {
    return this.#begun.length === 0 && this.#fresh.length === 0
  }

  /** Existing entities with mail. */
  get begunCount(): number {
    return this.#begun.length
  }

  push(actor: Actor): void {
    const first = actor.next
    if (first?.body.type === 'create' && first.source.from === 'outside') this.#fresh.push(actor)
    else this.#begun.push(actor)
  }

  /** Takes all actors out. */
  take(): { readonly begun: readonly Actor[]; readonly fresh: readonly Actor[] } {
    const taken = { begun: this.#begun, fresh: this.#fresh }
    this.#begun = []
    this.#fresh = []
    return taken
  }

  takeAll(): readonly Actor[] {
    const { begun, fresh } = this.take()
    return [...begun, ...fresh]
  }
}
