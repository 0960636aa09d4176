/**
 * The Watch stream in the browser (docs/EVENTS.md). Invariant: listeners hear each event behind the first `hello` that
 * the filter admits once and in order, over any number of connections; where that is not possible, they are told to
 * start anew.
 */
import type { Document, Problem } from './document.ts'
import type { Filter } from './recorded.ts'

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** Bookmarks come every ten seconds, so a connection that is silent for this long is dead. */
const SILENCE_MS = 30_000
/** A socket is closed with 4000 + the status that refuses its token or query. */
const CODE_OF_STATUS = 4_000

/** A stream that has been opened: the part of a WebSocket that is used here. */
interface Socket {
  close(): void
}

/** Opens a stream of what the filter admits, behind the cursor `since`, or from now on (`latest`). */
export type Open = (since: string, heard: Heard, filter: Filter) => Socket

interface Heard {
  /** A frame, as docs/EVENTS.md describes it. */
  frame(frame: Document): void
  /** The stream has ended; `code` is that of the WebSocket. */
  end(code: number): void
}

export type Connection = 'connecting' | 'live' | 'refused'

interface Listener {
  /** The stream starts anew: what was shown before may lack events. */
  begin(): void
  events(events: readonly Document[]): void
}

export class Live {
  readonly #open: Open
  readonly #listeners = new Set<Listener>()
  readonly #watchers = new Set<(connection: Connection) => void>()
  #connection: Connection = 'connecting'
  #socket: Socket | undefined
  #filter: Filter
  #cursor: string | undefined
  #pauseMs = FIRST_PAUSE_MS
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  /** Begins behind `since`, as if what is before it had been heard; without it, now. */
  constructor(open: Open, filter: Filter = {}, since?: string) {
    this.#open = open
    this.#filter = filter
    this.#cursor = since
    this.#connect()
  }

  get connection(): Connection {
    return this.#connection
  }

  /** Where in the log the listeners are; undefined until the stream has begun. */
  get cursor(): string | undefined {
    return this.#cursor
  }

  /**
   * From where the listeners are, what this filter admits is told. What has changed before that is in what is read from
   * now on: so nothing is lost at the change.
   */
  narrow(filter: Filter): void {
    if (JSON.stringify(filter) === JSON.stringify(this.#filter)) return
    this.#filter = filter
    // Without a connection, the next one has the filter, if there is one.
    if (this.#socket === undefined || this.#connection === 'refused') return
    this.#forget()
    this.#connect()
  }

  /** Returns the function that ends it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Tells of each change of `connection`. Returns the function that ends it. */
  onConnection(watcher: (connection: Connection) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#forget()
  }

  #connect(): void {
    const socket = this.#open(
      this.#cursor ?? 'latest',
      {
        // A connection that was given up may still be heard of.
        frame: (frame) => {
          if (socket === this.#socket) this.#take(frame)
        },
        end: (code) => {
          if (socket === this.#socket) this.#ended(code)
        },
      },
      this.#filter,
    )
    this.#socket = socket
    this.#awaitFrame()
  }

  #awaitFrame(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#drop(), SILENCE_MS)
  }

  /** Gives the connection up without waiting for its end, which may never come on a dead one. */
  #drop(): void {
    this.#forget()
    this.#ended(0)
  }

  #forget(): void {
    const socket = this.#socket
    this.#socket = undefined
    socket?.close()
  }

  #take({ type, cursor, events, problem }: Document): void {
    this.#awaitFrame()
    if (type === 'error') {
      this.#told(problem)
      return
    }
    const isFirst = this.#cursor === undefined
    this.#cursor = cursor
    this.#pauseMs = FIRST_PAUSE_MS
    if (type === 'hello') {
      this.#become('live')
      if (isFirst) for (const listener of this.#listeners) listener.begin()
    } else if (type === 'events') for (const listener of this.#listeners) listener.events(events)
  }

  /** Retention has overtaken the cursor, or the log is another one: begin anew. */
  #told({ status }: Problem): void {
    if (status === 410) this.#cursor = undefined
    else if (status === 401 || status === 403 || status === 400) this.#become('refused')
  }

  #ended(code: number): void {
    clearTimeout(this.#timer)
    this.#socket = undefined
    if (this.#isClosed) return
    if (this.#connection === 'refused' || [4_400, 4_401, 4_403].includes(code)) {
      this.#become('refused')
      return
    }
    if (code === CODE_OF_STATUS + 410) this.#cursor = undefined
    this.#become('connecting')
    this.#timer = setTimeout(() => this.#connect(), this.#pauseMs * (0.5 + Math.random() / 2))
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
  }

  #become(connection: Connection): void {
    if (connection === this.#connection) return
    this.#connection = connection
    for (const watcher of this.#watchers) watcher(connection)
  }
}
