/**
 * Splits a stream of bytes into JSON texts: lines, or the elements of one array. Holds no more than the current chunk
 * and the one incomplete element; of an element that is too long it keeps only the number.
 */
import { GrowingBuffer } from './growing-buffer.ts'

/** One line, or one element of the array, as raw bytes. */
export interface Element {
  /** Its position, from 1. */
  readonly number: number
  /** Undefined if it was longer than allowed. */
  readonly bytes: Uint8Array | undefined
}

export interface Elements {
  /** Adds the next bytes. Call it only after `next` has returned undefined, when the earlier bytes are used up. */
  push(chunk: Uint8Array): void
  /** The next element; undefined until it is complete. */
  next(): Element | undefined
  /** Called when all bytes have come. Returns an unterminated last element, if one is allowed. */
  end(): Element | undefined
  /** Why nothing more can be read from the stream. */
  readonly fault: string | undefined
}

const LINE_FEED = 0x0a
const NOTHING = new Uint8Array(0)

/** The bytes received so far of the element being read. */
class Piece {
  readonly #bytesMax: number
  readonly #gathered = new GrowingBuffer()
  /** Most elements come whole, within one chunk, and are returned without a copy. */
  #first: Uint8Array | undefined
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  add(part: Uint8Array): void {
    if (part.length === 0) return
    const isFirst = this.#bytes === 0
    this.#bytes += part.length
    if (this.#bytes > this.#bytesMax) this.#drop()
    else if (isFirst) this.#first = part
    else {
      if (this.#first !== undefined) this.#gathered.add(this.#first)
      this.#first = undefined
      this.#gathered.add(part)
    }
  }

  /** Returns the whole element, or undefined if it was too long, and starts anew. */
  take(): Uint8Array | undefined {
    const whole = this.#first ?? this.#gathered.take()
    const isTooLong = this.#bytes > this.#bytesMax
    this.#first = undefined
    this.#bytes = 0
    return isTooLong ? undefined : whole
  }

  #drop(): void {
    this.#first = undefined
    this.#gathered.take()
  }
}

/** JSON lines: one JSON text per line; blank lines are skipped. `fault` is always undefined. */
export class Lines implements Elements {
  readonly fault = undefined
  readonly #piece: Piece
  #chunk: Uint8Array = NOTHING
  #at = 0
  #number = 0

  constructor(bytesMax: number) {
    this.#piece = new Piece(bytesMax)
  }

  push(chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
  }

  next(): Element | undefined {
    while (this.#at < this.#chunk.length) {
      this.#passBlankLines()
      const end = this.#chunk.indexOf(LINE_FEED, this.#at)
      this.#piece.add(this.#chunk.subarray(this.#at, end < 0 ? this.#chunk.length : end))
      if (end < 0) break
      this.#at = end + 1
      const element = this.#line()
      if (element !== undefined) return element
    }
    this.#chunk = NOTHING
    this.#at = 0
    return undefined
  }

  end(): Element | undefined {
    return this.#line()
  }

  /**
   * Scanned byte by byte, since a chunk may consist of blank lines only: taking each as a line is forty times slower.
   */
  #passBlankLines(): void {
    if (!this.#piece.isEmpty) return
    for (let at = this.#at; at < this.#chunk.length && isSpace(this.#chunk[at]!); ) {
      if (this.#chunk[at++] !== LINE_FEED) continue
      this.#number++
      this.#at = at
    }
  }

  #line(): Element | undefined {
    this.#number++
    const bytes = this.#piece.take()
    return bytes?.every(isSpace) === true ? undefined : { number: this.#number, bytes }
  }
}

type Where = 'before' | 'between' | 'inside' | 'behind' | 'after'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** `{"events":` with any whitespace. A longer prefix before the array cannot be it. */
const HEAD = /^\s*\{\s*"events"\s*:\s*$/
const HEAD_BYTES_MAX = 1_024

/**
 * The elements of one JSON array, which stands alone or is the only member, `events`, of an object. Only the brackets
 * around the elements are checked here; whoever parses an element checks the rest.
 */
export class ArrayElements implements Elements {
  fault: string | undefined = undefined
  readonly #piece: Piece
  #chunk: Uint8Array = NOTHING
  #at = 0
  #number = 0
  #where: Where = 'before'
  /** The text before the array. */
  #head = ''
  #isWrapped = false
  #isClosed = false
  /** A comma was read, so one more element must follow. */
  #owesElement = false
  #depth = 0
  #inString = false
  #isEscaped = false

  constructor(bytesMax: number) {
    this.#piece = new Piece(bytesMax)
  }

  push(chunk: Uint8Array): void {
    this.#chunk = chunk
    this.#at = 0
  }

  next(): Element | undefined {
    while (this.#at < this.#chunk.length && this.fault === undefined) {
      if (this.#where === 'inside') {
        const element = this.#inside()
        if (element !== undefined) return element
      } else this.#outside(this.#chunk[this.#at]!)
    }
    this.#chunk = NOTHING
    this.#at = 0
    return undefined
  }

  end(): undefined {
    if (this.fault !== undefined) return
    if (this.#where === 'before') this.fault = this.#head.trim() === '' ? 'The body is empty.' : NO_ARRAY
    else if (this.#where !== 'after') this.fault = 'The body ends before its array does.'
    else if (this.#isWrapped && !this.#isClosed) this.fault = 'The body ends before its object does.'
  }

  /** Reads one byte outside the elements. */
  #outside(byte: number): void {
    const where = this.#where
    if (where === 'before') {
      this.#at++
      this.#beginning(byte)
      return
    }
    if (isSpace(byte)) {
      this.#at++
      return
    }
    if (where === 'after') {
      this.#at++
      if (byte === CLOSE_OBJECT && this.#isWrapped && !this.#isClosed) this.#isClosed = true
      else
        this.fault = this.#isWrapped ? 'The object has members other than `events`.' : 'There is more after the array.'
      return
    }
    if (where === 'between' && byte !== CLOSE_ARRAY && byte !== COMMA) {
      this.#where = 'inside'
      return
    }
    this.#at++
    if (byte === CLOSE_ARRAY && !this.#owesElement) this.#where = 'after'
    else if (byte === COMMA && where === 'behind') {
      this.#where = 'between'
      this.#owesElement = true
    } else this.fault = `A comma or the end of the array was expected after element ${this.#number}.`
  }

  #beginning(byte: number): void {
    if (byte !== OPEN_ARRAY) {
      this.#head += String.fromCharCode(byte)
      if (this.#head.length > HEAD_BYTES_MAX) this.fault = NO_ARRAY
      return
    }
    this.#isWrapped = this.#head.trim() !== ''
    if (this.#isWrapped && !HEAD.test(this.#head)) this.fault = NO_ARRAY
    else this.#where = 'between'
  }

  /** Reads to the end of the element or of the chunk. Hot: sees every byte of the stream. */
  #inside(): Element | undefined {
    const chunk = this.#chunk
    const from = this.#at
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i]!
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === BACKSLASH) this.#isEscaped = true
        else if (byte === QUOTE) this.#inString = false
        continue
      }
      if (byte === QUOTE) this.#inString = true
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#depth++
      else if (this.#depth === 0 && (byte === COMMA || byte === CLOSE_ARRAY)) return this.#whole(from, i)
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && this.#depth > 0) this.#depth--
    }
    this.#piece.add(chunk.subarray(from))
    this.#at = chunk.length
    return undefined
  }

  #whole(from: number, end: number): Element {
    this.#piece.add(this.#chunk.subarray(from, end))
    this.#at = end
    this.#where = 'behind'
    this.#owesElement = false
    this.#number++
    return { number: this.#number, bytes: this.#piece.take() }
  }
}

const NO_ARRAY = 'The body must be an array of events, or an object with only the array `events`.'

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
