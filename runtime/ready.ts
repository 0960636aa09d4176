/**
 * Actors that have mail, in two lines: those that exist, in the order in which mail came, and those that somebody asks to
 * make. What was begun goes before what is new, so that a runner's word about its run does not stand behind a flood
 * of requests for work. Hot.
 */
import type { Actor } from './actor.ts'

export class Ready {
  #begun: Actor[] = []
  #fresh: Actor[] = []

  get isEmpty(): boolean {
    return this.#begun.length === 0 && this.#fresh.length === 0
  }

  push(actor: Actor): void {
    const first = actor.next
    if (first?.body.type === 'create' && first.source.from === 'outside') this.#fresh.push(actor)
    else this.#begun.push(actor)
  }

  /** Takes them all out. */
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
