/**
 * The one reader of request bodies. Bounded twice (each body, and the sum of all that have not been read yet), strict about
 * type and encoding; a small body that arrives in one chunk, as nearly all do, is parsed where it lies, uncopied, while
 * there is time for it in the turn (body-turns.ts).
 */
import { canonical, NotJson } from '../../machines/canonical.ts'
import type { Exchange } from '../wire/exchange.ts'
import { BodyRoom, kindOf } from './body-room.ts'
import { BodyTurns, SMALL_BODY_BYTES, type Waiting } from './body-turns.ts'
import { Gathered } from './growing-buffer.ts'
import { readJson } from './json-text.ts'
import { UPLOAD_HELD_BYTES, Upload } from './upload.ts'

/**
 * What may parse to a value that JSON cannot carry further: the escape of half a surrogate pair, and numbers past
 * the largest double. A text without it needs no look at its values. Digits are counted from the first of a run: from each of them, 1 MB of
 * numbers took 0.3 s.
 */
const SUSPECT = /\\u[dD][89a-fA-F]|[eE]\+?\d{3}|(?<!\d)\d{200}/

interface BodyBounds {
  readonly bodyBytesMax: number
  readonly eventsBodyBytesMax: number
  readonly bodiesInFlightBytesMax: number
  readonly ingestBytesMax: number
}

/** Reads bodies for one server and holds the sum of those in flight. */
export class BodyReader {
  readonly #bounds: BodyBounds
  readonly #room: BodyRoom
  readonly #turns: BodyTurns

  constructor(bounds: BodyBounds, nature: ConstructorParameters<typeof BodyTurns>[0]) {
    const { bodyBytesMax, eventsBodyBytesMax, bodiesInFlightBytesMax } = bounds
    this.#bounds = bounds
    this.#room = new BodyRoom(bodiesInFlightBytesMax, {
      large: Math.max(bodyBytesMax, eventsBodyBytesMax),
      upload: UPLOAD_HELD_BYTES,
    })
    this.#turns = new BodyTurns(nature)
  }

  get bytesInFlight(): number {
    return this.#room.bytes
  }

  /**
   * Read the exchange's body as JSON into `exchange.body`, then call `ready`; or answer 400, 413, 415 or 503.
   * Must be called within uWebSockets.js's handler. `contentLength` is the header's text, empty when absent.
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
    // A small one mostly comes with its head, and is never held.
    if (kindOf(announced) === 'small' || reception.hold(announced)) reception.start()
  }

  /** Make `exchange.upload` of a body that the route takes as it comes; or answer 400, 413, 415 or 503 and say false. */
  open(exchange: Exchange, contentType: string, contentLength: string): boolean {
    const bytesMax = this.#bounds.ingestBytesMax
    if (announcedBytes(exchange, contentLength, bytesMax) === undefined) return false
    const { upload } = exchange.route
    const name = contentType.split(';')[0]!.trim().toLowerCase()
    if (!Object.hasOwn(upload!.contents, name) || !isUtf8Type(contentType)) {
      const given = contentType === '' ? 'The request has no Content-Type' : typeGiven(contentType)
      exchange.problem(
        'unsupported_media_type',
        `${given}; this takes ${Object.keys(upload!.contents).join(', ')} in UTF-8.`,
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

/** One body on its way in. */
class Reception implements Waiting {
  readonly #room: BodyRoom
  readonly #turns: BodyTurns
  readonly #exchange: Exchange
  readonly #bytesMax: number
  readonly #ready: (exchange: Exchange) => void
  #held = 0
  #received = 0
  /** One that came at once. */
  #whole: Buffer | undefined = undefined
  /** What has come of one that does not. */
  #gathered: Gathered | undefined = undefined
  #isOver = false

  constructor(room: BodyRoom, turns: BodyTurns, exchange: Exchange, bytesMax: number, ready: (e: Exchange) => void) {
    this.#room = room
    this.#turns = turns
    this.#exchange = exchange
    this.#bytesMax = bytesMax
    this.#ready = ready
  }

  /** Hold so many bytes of memory, with those held before. False: 503 was answered. */
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
    // A chunk is emptied when this callback returns: what must wait is copied.
    const bytes = Buffer.from(chunk)
    if (isWhole) this.#whole = bytes
    else {
      this.#gathered ??= new Gathered()
      this.#gathered.add(bytes)
    }
    if (!this.hold(this.#received)) this.#finish()
    else if (isAtOnce) turns.read(() => this.#parse(this.#take()))
    else if (isLast) {
      turns.stand(this)
      if (isWhole && !this.#isOver) this.#whole = Buffer.from(bytes)
    }
  }

  /** All of it has come, and there is time for it. */
  takeTurn(waitedMs: number): void {
    // Its client has gone.
    if (this.#isOver) return
    const bytes = this.#take()
    const go = (): void => {
      if (this.#exchange.flow?.isTooLate(waitedMs) !== true) this.#parse(bytes)
      else
        this.#exchange.problem('overloaded', `It has waited for ${Math.round(waitedMs)} ms; nothing of it was taken.`)
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
    const read = readJson(bytes, 'body')
    if (!read.ok) {
      exchange.problem(read.code, read.detail, read.errors === undefined ? undefined : { errors: read.errors })
      return
    }
    exchange.body = read.value
    const fault =
      exchange.route.body!.limit === 'events' || !SUSPECT.test(read.text) ? undefined : faultOf(exchange.body)
    if (fault === undefined) this.#ready(exchange)
    else exchange.problem('invalid_body', 'The fields named in `errors` are wrong.', { errors: [fault] })
  }
}

function tooLarge(exchange: Exchange, bytesMax: number): void {
  exchange.problem('body_too_large', `The body exceeds ${bytesMax} bytes.`)
}

/**
 * What in a parsed body JSON cannot carry, found where it comes in: ids, digests and events are made from canonical
 * texts. The doors of events say it of each event by themselves.
 */
function faultOf(body: unknown): { readonly pointer: string; readonly detail: string } | undefined {
  try {
    canonical(body)
    return undefined
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return { pointer: error.pointer, detail: error.detail }
  }
}

/** How long the body says that it is; undefined: a problem was answered. */
function announcedBytes(exchange: Exchange, contentLength: string, bytesMax: number): number | undefined {
  const announced = contentLength === '' ? 0 : Number(contentLength)
  // uWebSockets.js hands such a request over before it refuses it; a sum with it would be no number ever after.
  if (!(announced >= 0)) {
    exchange._closeConnection()
    exchange.problem('invalid_header', 'Content-Length must be one number of bytes.')
    return undefined
  }
  if (announced <= bytesMax) return announced
  tooLarge(exchange, bytesMax)
  return undefined
}

/** `application/json`, with or without parameters, of which only a UTF-8 charset is taken; or a `+json` type. */
export function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json') return true
  const name = contentType.toLowerCase().split(';')[0]!.trim()
  return (name === 'application/json' || /^application\/[\w.-]+\+json$/.test(name)) && isUtf8Type(contentType)
}

/** No parameter says that it is anything else. */
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
