/** All randomness of a world comes from here: the same seed draws the same numbers on every machine. */

/** sfc32 (Chris Doty-Humphrey, PractRand): small, fast, and without visible patterns over 2^127 draws. */
export class Random {
  private a: number
  private b: number
  private c: number
  private counter = 1

  /** `stream`: seeds of different streams share no numbers. */
  constructor(seed: number, stream = 0) {
    this.a = seed >>> 0
    this.b = Math.floor(seed / 2 ** 32) >>> 0
    this.c = stream >>> 0
    for (let i = 0; i < 15; i++) this.word()
  }

  /** A generator of its own, so that what one actor draws does not shift what another draws. */
  fork(): Random {
    return new Random(this.word() * 2 ** 21 + (this.word() >>> 11), this.word())
  }

  /** 32 random bits. */
  word(): number {
    const sum = (this.a + this.b + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** In [0, 1). */
  next(): number {
    return this.word() / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  /** A time or the like, to the thousandth. */
  between(from: number, to: number): number {
    return from + Math.round(this.next() * (to - from) * 1000) / 1000
  }

  /** Mostly near `from`, at times as far as `to`: how long things take in the world. */
  skewed(from: number, to: number): number {
    return from + Math.round(this.next() ** 4 * (to - from) * 1000) / 1000
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)]!
  }

  /** One of the keys, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    let total = 0
    for (const key in weights) total += weights[key]
    let at = this.next() * total
    for (const key in weights) {
      at -= weights[key]
      if (at < 0) return key
    }
    return Object.keys(weights).at(-1) as K
  }

  hex(digits: number): string {
    let text = ''
    while (text.length < digits) text += this.word().toString(16).padStart(8, '0')
    return text.slice(0, digits)
  }
}
