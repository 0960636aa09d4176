/** Jobs that a server pushes, and clients that wait for one: each delivery goes to one client, in order. */
export class Deliveries<M> {
  readonly #here: M[] = []
  readonly #waiting: ((message: M) => void)[] = []

  push(message: M): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#here.push(message)
    else waiting(message)
  }

  next(): Promise<M> {
    const message = this.#here.shift()
    return message === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(message)
  }
}
