/**
 * The memory that all incoming bodies may hold together. Three kinds share it, and a later one in this list never takes
 * the last of it: small bodies, which carry heartbeats, polls and reports; larger ones; and uploads, which stay the
 * longest. Besides, a sender that already holds some may not hold more than what is left for others (the dynamic
 * threshold of Choudhury and Hahne, 1998): one token that opens many bodies and sends nothing gets half at most, and
 * another beside it a quarter.
 */
import { SMALL_BODIES_SHARE } from '../../runtime/settings.ts'
import { SMALL_BODY_BYTES } from './body-turns.ts'

type BodyKind = 'small' | 'large' | 'upload'

/** The sender of a body: a principal, or undefined on routes that need no token. */
type Sender = object | undefined

export class BodyRoom {
  readonly #bytesMax: Readonly<Record<BodyKind, number>>
  readonly #bySender = new Map<Sender, number>()
  #bytes = 0

  /**
   * @param bytesMax bound on all bodies together
   * @param largestBytes the largest body of each kind: accepted if it is alone, however small the room
   */
  constructor(bytesMax: number, largestBytes: { readonly large: number; readonly upload: number }) {
    const atLeast = (share: number, largest: number): number => Math.max(share, Math.min(bytesMax, largest))
    this.#bytesMax = {
      small: bytesMax,
      large: atLeast(bytesMax * (1 - SMALL_BODIES_SHARE), largestBytes.large),
      upload: atLeast(bytesMax / 2, largestBytes.upload),
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Why the sender may not hold this many more bytes now; undefined if it may. */
  whyNot(sender: Sender, bytes: number, kind: BodyKind): string | undefined {
    const free = this.#bytesMax[kind] - this.#bytes
    if (bytes > free) return `Bodies totalling ${this.#bytes} bytes are being received.`
    const own = this.#bySender.get(sender) ?? 0
    if (own === 0 || own + bytes <= free) return undefined
    return `This token is already sending ${own} bytes of the bodies being received: the rest is for other tokens.`
  }

  take(sender: Sender, bytes: number): void {
    this.#bytes += bytes
    this.#bySender.set(sender, (this.#bySender.get(sender) ?? 0) + bytes)
  }

  give(sender: Sender, bytes: number): void {
    this.#bytes -= bytes
    const left = (this.#bySender.get(sender) ?? 0) - bytes
    if (left > 0) this.#bySender.set(sender, left)
    else this.#bySender.delete(sender)
  }
}

/** The kind of a body that is read as a whole. */
export function kindOf(bytes: number): BodyKind {
  return bytes <= SMALL_BODY_BYTES ? 'small' : 'large'
}
