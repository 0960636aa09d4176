/** Every bound of the event stream and of searches in the log, by name, units last, each with its reason. */

/** Time of one turn of the event loop for all searches and replays together; the rest is for commits and polls. */
export const readTurnMs = 2

/** Rows of the log that a search reads at once: some 1 ms. */
export const rowsPerTurnMax = 500
/** Text in them (a single event always fits): with large events the number of rows alone is no bound. */
export const charsPerTurnMax = 1024 * 1024

/** Text after which a search looks at the clock: some 0.3 ms to parse, next to nothing to skip. */
export const charsPerLook = 32 * 1024

/** Newest events that a look-up by id alone searches: 0.2 s of reading for the first one, 1.4 MB kept for the next. */
export const lookUpRowsMax = 100_000

/** A fault of the log that no stream has met for this long is logged again when one meets it. */
export const unreadableQuietMs = 600_000
/** Faults remembered as logged; each is a place in the log. */
export const unreadableFaultsMax = 100

/** Tests may use smaller values. */
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
   * Text in a frame (a single event always fits). Also the most of the service's memory that one watcher that has
   * stopped reading can hold.
   */
  frameCharsMax: 256 * 1024,
  /** Newest events kept as committed, fields included: covers what a watcher misses in a moment of backpressure. */
  tailEventsMax: 4_096,
  tailCharsMax: 4 * 1024 * 1024,
  /** Pages of the log kept, each at most a frame of text. Watchers at one place move on within one or two. */
  pagesMax: 16,
  /** Encoded frames kept with a page, one per filter. Further filters at that place encode for themselves. */
  pageFramesMax: 4,
  /** A watcher with nothing to see gets a bookmark after this and at most one tick: within the promised 10 s. */
  bookmarkMs: 8_000,
  /** A reader of the log that matches nothing gets a bookmark this often, so that a lost connection costs it little. */
  readerBookmarkMs: 2_000,
  tickMs: 1_000,
  /** A connection that took nothing for this long, even if pings were answered, is closed. */
  stalledMs: 60_000,
  /**
   * Time of one turn for a fan-out; members not served by then read the log. Ten times the cost of a commit of small
   * events for a thousand watchers, which thus never have to read it for this reason.
   */
  fanOutMsMax: 25,
  /** Unsent frames over all watchers: those of 1,000 that stop reading, at a frame each. */
  unsentBytesMax: 256 * 1024 * 1024,
  /**
   * After a fan-out the next one waits for this share of the time it took, so that commits and polls keep their part of
   * a busy service, and what they commit meanwhile shares a frame.
   */
  flushPauseShare: 1 / 3,
  flushPauseMsMax: 20,
}
