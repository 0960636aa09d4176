/**
 * The one reader of request bodies. Bounded twice (each body, and the sum of all not yet parsed), strict about type and
 * encoding. A small body that arrives in one chunk, as nearly all do, is parsed in place without a copy, while the turn
 * has time for it (body-turns.ts).
 */
import { canonical, NotJson } from '../../machines/canonical.ts'
import type { Exchange } from '../wire/exchange.ts'
import { BodyRoom, kindOf } from './body-room.ts'
import { BodyTurns, SMALL_BODY_BYTES, type Waiting } from './body-turns.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import { readJson } from './json-text.ts'
import { UPLOAD_HELD_BYTES, Upload } from './upload.ts'

/**
 * Matches texts that may parse to a value that JSON cannot represent: the escape of half a surrogate pair, and numbers
 * beyond the largest double. Only the values of such texts are checked. Digits are counted from the first of a run:
 * counting from each digit, 1 MB of numbers took 0.3 s.
 */
const SUSPECT = /\\u[dD][89a-fA-F]|[eE]\+?\d{3}|(?<!\d)\d{200}/

interface BodyBounds {
  readonly bodyBytesMax: number
  readonly eventsBodyBytesMax: number
  readonly bodiesInFlightBytesMax: number
  readonly ingestBytesMax: number
}

/** Reads the bodies of one server, within the bound on all of them. */
export class BodyReader {
  readonly #bounds: BodyBounds
  readonly #room: BodyRoom
  readonly #turns: BodyTurns

  constructor(bounds: BodyBounds, platform: ConstructorParameters<typeof BodyTurns>[0]) {
    const { bodyBytesMax, eventsBodyBytesMax, bodiesInFlightBytesMax } = bounds
    this.#bounds = bounds
    this.#room = new BodyRoom(bodiesInFlightBytesMax, {
      large: Math.max(bodyBytesMax, eventsBodyBytesMax),
      upload: UPLOAD_HELD_BYTES,
    })
    this.#turns = new BodyTurns(platform)
  }

  get bytesInFlight(): number {
    return this.#room.bytes
  }

  /**
   * Reads the exchange's body as JSON into `exchange.body`, then calls `ready`; or answers 400, 413, 415 or 503. Must
   * be called within uWebSockets.js's handler. `contentLength` is the header's text, empty if absent.
   */
  read(exchange: Exchange, contentType: string, contentLength: string, ready: (exchange: Exchange) => void): void {
    const declared = exchange.route.body!
    const bytesMax = declared.limit === 'events' ? this.#bounds.eventsBodyBytesMax : this.#bounds.bodyBytesMax
    const announced = announcedBytes(exchange, contentLength, bytesMax)
    if (announced === undefined) return
    if (!isJsonType(contentType) && !(contentType === '' && declared.optional === true && announced === 0)) {
      exchange.problem('unsupported_media_type', typeDetail(contentType))
      return
    }
    const reception = new Reception(this.#room, this.#turns, exchange, bytesMax, ready)
    // A small body mostly arrives with its headers, and is then never held in memory.
    if (kindOf(announced) === 'small' || reception.hold(announced)) reception.start()
  }

  /**
   * Sets `exchange.upload` for a route that reads its body as a stream. Returns false if 400, 413, 415 or 503 was
   * answered.
   */
  open(exchange: Exchange, contentType: string, contentLength: string): boolean {
    const bytesMax = this.#bounds.ingestBytesMax
    if (announcedBytes(exchange, contentLength, bytesMax) === undefined) return false
    const { upload } = exchange.route
    const name = contentType.split(';')[0]!.trim().toLowerCase()
    if (!Object.hasOwn(upload!.contents, name) || !isUtf8Type(contentType)) {
      const given = contentType === '' ? 'The request has no Content-Type' : typeGiven(contentType)
      exchange.problem(
        'unsupported_media_type',
        `${given}; this path accepts ${Object.keys(upload!.contents).join(', ')} in UTF-8.`,
      )
      return false
    }
    const sender = exchange.caller
    const why = this.#room.whyNot(sender, UPLOAD_HELD_BYTES, 'upload')
    if (why !== undefined) {
      exchange.problem('bodies_in_flight', why)
      return false
    }
    this.#room.take(sender, UPLOAD_HELD_BYTES)
    exchange.upload = new Upload(exchange, name, {
      bytesMax,
      giveBack: () => this.#room.give(sender, UPLOAD_HELD_BYTES),
      stand: (reader) => this.#turns.stand(reader),
    })
    exchange.upload.watch()
    return true
  }
}

/** A body that is being received. */
class Reception implements Waiting {
  readonly #room: BodyRoom
  readonly #turns: BodyTurns
  readonly #exchange: Exchange
  readonly #bytesMax: number
  readonly #ready: (exchange: Exchange) => void
  #held = 0
  #received = 0
  /** The body, if it arrived in one chunk. */
  #whole: Buffer | undefined = undefined
  /** The chunks received so far, if there are several. */
  #gathered: GrowingBuffer | undefined = undefined
  #isOver = false

  constructor(room: BodyRoom, turns: BodyTurns, exchange: Exchange, bytesMax: number, ready: (e: Exchange) => void) {
    this.#room = room
    this.#turns = turns
    this.#exchange = exchange
    this.#bytesMax = bytesMax
    this.#ready = ready
  }

  /** Reserves memory for `bytes` in total. Returns false if 503 was answered. */
  hold(bytes: number): boolean {
    const more = bytes - this.#held
    if (more <= 0) return true
    const { caller } = this.#exchange
    const why = this.#room.whyNot(caller, more, kindOf(bytes))
    if (why !== undefined) {
      this.#exchange.problem('bodies_in_flight', why)
      return false
    }
    this.#room.take(caller, more)
    this.#held = bytes
    return true
  }

  start(): void {
    this.#exchange.onAborted(() => this.#finish())
    this.#exchange._attachAbort()
    this.#exchange._response.onData((chunk, isLast) => this.#data(chunk, isLast))
  }

  #data(chunk: ArrayBuffer, isLast: boolean): void {
    this.#exchange._bodyCame(chunk.byteLength, isLast)
    if (this.#isOver) return
    this.#received += chunk.byteLength
    if (this.#received > this.#bytesMax) {
      this.#finish()
      tooLarge(this.#exchange, this.#bytesMax)
      return
    }
    const turns = this.#turns
    const isWhole = isLast && this.#gathered === undefined
    const isAtOnce = isLast && this.#received <= SMALL_BODY_BYTES && turns.hasTimeForSmall
    if (isWhole && isAtOnce) {
      this.#finish()
      turns.read(() => this.#parse(new Uint8Array(chunk)))
      return
    }
    // The chunk is detached when this callback returns, so whatever must wait is copied.
    const bytes = Buffer.from(chunk)
    if (isWhole) this.#whole = bytes
    else {
      this.#gathered ??= new GrowingBuffer()
      this.#gathered.add(bytes)
    }
    if (!this.hold(this.#received)) this.#finish()
    else if (isAtOnce) turns.read(() => this.#parse(this.#take()))
    else if (isLast) {
      turns.stand(this)
      if (isWhole && !this.#isOver) this.#whole = Buffer.from(bytes)
    }
  }

  /** Parses the body once its turn comes; refuses it if it has waited too long. */
  takeTurn(waitedMs: number): void {
    // The client has gone.
    if (this.#isOver) return
    const bytes = this.#take()
    const go = (): void => {
      if (this.#exchange.flow?.isTooLate(waitedMs) !== true) this.#parse(bytes)
      else
        this.#exchange.problem(
          'overloaded',
          `The request has waited for ${Math.round(waitedMs)} ms; it was not accepted.`,
        )
    }
    this.#exchange.later(go)()
  }

  #take(): Buffer {
    const whole = this.#whole ?? this.#gathered!.take()
    this.#finish()
    return whole
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#whole = undefined
    this.#gathered = undefined
    this.#room.give(this.#exchange.caller, this.#held)
  }

  #parse(bytes: Uint8Array): void {
    const exchange = this.#exchange
    if (exchange.done) return
    exchange.bodyBytes = bytes.byteLength
    if (bytes.byteLength === 0) {
      if (exchange.route.body!.optional === true) {
        exchange.body = {}
        this.#ready(exchange)
        return
      }
      exchange.problem('malformed_body', 'The body is empty; one JSON object was expected.')
      return
    }
    const read = readJson(bytes, exchange.route.body!.limit ?? 'body')
    if (!read.ok) {
      exchange.problem(read.code, read.detail, read.errors === undefined ? undefined : { errors: read.errors })
      return
    }
    exchange.body = read.value
    const fault =
      exchange.route.body!.limit === 'events' || !SUSPECT.test(read.text) ? undefined : notJsonIn(exchange.body)
    if (fault === undefined) this.#ready(exchange)
    else exchange.problem('invalid_body', 'The fields named in `errors` are invalid.', { errors: [fault] })
  }
}

function tooLarge(exchange: Exchange, bytesMax: number): void {
  exchange.problem('body_too_large', `The body exceeds ${bytesMax} bytes.`)
}

/**
 * Finds a value that JSON cannot represent. Checked where the body enters, because ids, digests and events are made
 * from canonical texts. The event routes check each event themselves.
 */
function notJsonIn(body: unknown): { readonly pointer: string; readonly detail: string } | undefined {
  try {
    canonical(body)
    return undefined
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return { pointer: error.pointer, detail: error.detail }
  }
}

/** The announced length of the body; undefined if a problem was answered. */
function announcedBytes(exchange: Exchange, contentLength: string, bytesMax: number): number | undefined {
  const announced = contentLength === '' ? 0 : Number(contentLength)
  // uWebSockets.js passes such a request on before it refuses it; adding NaN would spoil the sum of held bytes for
  // good.
  if (!(announced >= 0)) {
    exchange._closeConnection()
    exchange.problem('invalid_header', 'Content-Length must be a single number of bytes.')
    return undefined
  }
  if (announced <= bytesMax) return announced
  tooLarge(exchange, bytesMax)
  return undefined
}

/** `application/json`, or a `+json` type; of parameters, only a charset other than UTF-8 is refused. */
export function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const name = contentType.toLowerCase().split(';')[0]!.trim()
  return (name === 'application/json' || /^application\/[\w.-]+\+json$/.test(name)) && isUtf8Type(contentType)
}

/** Whether no parameter names a charset other than UTF-8. */
function isUtf8Type(contentType: string): boolean {
  const [, ...parameters] = contentType.toLowerCase().split(';')
  return parameters.every((parameter) => {
    const [key = '', value = ''] = parameter.trim().split('=')
    return key !== 'charset' || /^"?utf-?8"?$/.test(value)
  })
}

function typeDetail(contentType: string): string {
  return contentType === ''
    ? 'The request has no Content-Type; application/json was expected.'
    : `${typeGiven(contentType)}; application/json in UTF-8 was expected.`
}

function typeGiven(contentType: string): string {
  return `The Content-Type is ${JSON.stringify(contentType.slice(0, 100))}`
}
