/** Every bound of the event stream and of searches in the log, by name, units last, each with its reason. */

/** What all searches and replays may take of one turn of the event loop, together; then commits and polls have theirs. */
export const readTurnMs = 2

/** Rows of the log that a search reads at once: some 1 ms. */
export const rowsPerTurnMax = 500
/** Text in them (a single event always fits): with large events the rows alone are no bound. */
export const charsPerTurnMax = 1024 * 1024

/** A search looks at the clock after so much text: to parse it takes some 0.3 ms, and to pass over it next to nothing. */
export const charsPerLook = 32 * 1024

/** Newest events that a look-up by id alone looks at: 0.2 s of reading for the first one, 1.4 MB kept for those after. */
export const lookUpRowsMax = 100_000

/** A fault of the log that no stream has met for so long is told again when one meets it. */
export const unreadableQuietMs = 600_000
/** Faults that are known to have been told; each is a place of the log. */
export const unreadableFaultsMax = 100

/** A test may give smaller ones. */
export interface StreamLimits {
  readonly frameEventsMax: number
  readonly frameCharsMax: number
  readonly tailEventsMax: number
  readonly tailCharsMax: number
  readonly pagesMax: number
  readonly pageFramesMax: number
  readonly bookmarkMs: number
  readonly readerBookmarkMs: number
  readonly tickMs: number
  readonly stalledMs: number
  readonly fanOutMsMax: number
  readonly unsentBytesMax: number
  readonly flushPauseShare: number
  readonly flushPauseMsMax: number
}

export const streamLimits: StreamLimits = {
  /** Events in a frame: a reader sees progress, and one page of the log is one frame. */
  frameEventsMax: 1_000,
  /**
   * Text in a frame (a single event always fits). Also what one watcher that stops reading can hold of the
   * service's memory.
   */
  frameCharsMax: 256 * 1024,
  /** Newest events kept as committed, fields and all: what a watcher misses in a moment of backpressure. */
  tailEventsMax: 4_096,
  tailCharsMax: 4 * 1024 * 1024,
  /** Pages of the log kept; each at most a frame of text. Watchers at one place move on within one or two. */
  pagesMax: 16,
  /** Encoded frames kept with a page, one a filter. More filters at one place encode for themselves. */
  pageFramesMax: 4,
  /** A watcher with nothing to see hears from us after this and one tick at most: within the promised 10 s. */
  bookmarkMs: 8_000,
  /** A reader of the log that finds nothing to show says where it is this often, so that a cut costs it little. */
  readerBookmarkMs: 2_000,
  tickMs: 1_000,
  /** A connection that took nothing for this long, though pings were answered, is closed. */
  stalledMs: 60_000,
  /**
   * What a fan-out may take of one turn; who has had nothing then reads the log. Ten times what a commit of small events
   * costs for a thousand watchers: those never read it for this.
   */
  fanOutMsMax: 25,
  /** Frames that were sent and not taken, over all watchers: of 1,000 that stop reading, at a frame each. */
  unsentBytesMax: 256 * 1024 * 1024,
  /**
   * After a fan-out the next one waits for this share of the time that it took, so that commits and polls keep
   * their part of a busy service, and what they commit meanwhile shares a frame.
   */
  flushPauseShare: 1 / 3,
  flushPauseMsMax: 20,
}
