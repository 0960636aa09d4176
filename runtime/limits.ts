/**
 * The bounds that parts of the actor system share, or that are weighed against each other: by name, units last, each
 * with its reason. A bound of a single algorithm stands at the top of its file, those of the event stream in
 * stream/limits.ts, and those that a user may change are settings (settings.ts).
 */

import { getHeapStatistics } from 'node:v8'

/** Messages from outside that wait in one mailbox. Past it the sender hears 503: a queue nobody drains is a lie. */
export const mailboxDepthMax = 1_024

/** Messages from outside taken and not yet answered, over all actors: about a second of work at full speed. */
export const messagesInFlightMax = 50_000

/** Past this wait, callers with far more in flight than others must come back later: others do not wait for them. */
export const fairWaitMs = 250

/** Fair means at most this many times the average of the others: twice is chance, more is noise. */
export const fairShareMax = 2

/** Past this wait no new work is taken: a longer queue does no more work and only makes everything late. */
export const newWorkWaitMsMax = 500

/** Past this wait even posts about work that a runner holds must be sent again. Far below any lease. */
export const promisedWorkWaitMsMax = 5_000

/** Requests in flight that every caller may have up to that bound: a light caller is not asked to come back sooner. */
export const flowInFlightMin = 4

/** Steps in one commit. 256 already share a flush well; more only makes the turn longer for everyone else. */
export const stepsPerBatchMax = 512

/** Of these, reserved for new entities when existing ones would fill the batch: new work may be slow, never stopped. */
export const newStepsPerBatchMin = 128

/** Events in one commit: ten full posts of events, some 10 MB of text at most in practice. */
export const eventsPerBatchMax = 10_000

/**
 * Text in one commit from existing actors, from new ones, or from a single actor (one message always fits): some 25 ms
 * of the main thread, or 0.2 s if it consists of many small values. Without the bound, 512 bodies of 1 MB arriving in
 * one turn exceeded the longest possible string, and half as many held up everyone else for seconds, in a buffer of
 * gigabytes that stayed.
 */
export const charsPerBatchMax = 4 * 1024 * 1024

/**
 * Time for the steps of existing actors in one commit, and again for those of new ones: whatever a step costs, all
 * others wait no longer for a turn. Most turns need a few milliseconds.
 */
export const stepsMsPerBatchMax = 25

/** Steps of one actor in one commit, so that a hot actor shares the turn. */
export const stepsPerActorPerBatchMax = 128

/** Idle actors kept in memory, about 4 KB each. Past it the least recently used leave. */
export const residentActorsMax = 20_000
/**
 * Characters of their records, each of which may have a megabyte: a sixteenth of the heap, since a record and its text
 * take some three bytes per character, and thirteen if it consists of many small values.
 */
export const residentCharsMax = getHeapStatistics().heap_size_limit / 16

/** Timers further away than this stay rows of the view and are read when their window comes. */
export const timerWindowMs = 600_000

/** Ended deadlines and timers that may stay in memory until due; past it they are swept once they are the majority. */
export const endedEntriesMin = 1_024

/** The longest wait without a look at the wall clock, which may be set, or stand still while the machine sleeps. */
export const clockRecheckMs = 60_000

/** Sentinels that are looked at in one turn; to find when one falls due next takes up to 0.2 ms. */
export const sentinelsPerTurnMax = 50

/**
 * A timer this late means that the process stood still (stopped, or in a flush that hung) and heard nobody meanwhile.
 * Far above a turn under load, and below the shortest lease (3 s).
 */
export const stoodStillMs = 1_000

/** Pause before the presence of a runner with a parked poll is recorded again, if the write failed (a full disk). */
export const presenceRetryMs = 1_000

/**
 * Turns of the event loop between something falling due and the check whether a caller has spoken by then: a new
 * connection is accepted in one turn and read in the next.
 */
export const turnsHeardBeforeDue = 3

/**
 * A clock set back by at most this, while the service ran or was down, goes on after its newest reading. If it was set
 * back by more, it had been wrong before.
 */
export const clockSetBackMsMax = 60_000

/** How far the clock may be ahead of the time that has passed: a share of the retention age, within these bounds. */
export const clockAheadMsMax = 3_600_000
export const clockAheadMsMin = 10_000
export const clockAheadShareMax = 0.1

/** How far the clock may be ahead of the newest event at start: a weekend of downtime is logged and costs nothing. */
export const clockAheadAtStartMsMax = 86_400_000

/** A clock further ahead is believed once it has stood for this long: time for a person to see the warning. */
export const clockBelievedAfterMs = 6 * 3_600_000

/** Timers read into memory at once (some 4 ms; half as many again in a crowded millisecond). */
export const timersPerReadMax = 2_000

/**
 * Timers, and again deadlines, that fall due in one turn: more only wait in mailboxes, where callers wait behind them.
 * These keep the log busy.
 */
export const timersPerTurnMax = 250
/** So many still fall due in each turn when callers alone keep the service busy. */
export const timersPerTurnMin = 20

/** Messages of the scheduler under way: callers wait behind them, and more would do no more work. */
export const asksUnderWayMax = 200

/** More of a crowded millisecond is read once most of what was read is used up, or after this long at the latest. */
export const timersStuckMs = 1_000

/** The longest delay Node.js takes for a timer (2^31 - 1 ms); longer waits are split. */
export const timerDelayMsMax = 2_147_483_647

/** Pause between two retention sweeps: forgetting is never urgent, but a minute's worth at full speed is a burst. */
export const retentionSweepMs = 10_000

/** The first sweep comes soon: a service restarted again and again would otherwise never forget. */
export const retentionFirstSweepMs = 1_000

/** Least time between two log lines on what sweeps removed: with traffic, each sweep removes something. */
export const retentionToldMs = 3_600_000

/** Rows of an index that a sweep reads at once: a few milliseconds of the main thread. */
export const retentionRowsPerPage = 250

/** Pages being removed at once: each queues between two writes of the view, so one page at a time would be slow. */
export const retentionPagesUnderWay = 4

/** Old rows that must still be kept, looked at in one sweep of one index; the next sweep continues after them. */
export const retentionRowsKeptPerSweepMax = 1_000

/** Index rows read for one page of a filtered list: better short than slow. Rows of equal order are read together. */
export const listRowsReadMax = 2_000
/** Record text read for one page: with large records the number of rows alone is no bound. */
export const listCharsReadMax = 64 * 1024 * 1024

/**
 * Characters in one page of a list, including the record that crosses the bound. A page is serialized in one piece,
 * some 20 ms of the main thread (0.2 s if it consists of many small values), and stays in memory until its reader has
 * taken it.
 */
export const listCharsPerPageMax = 4 * 1024 * 1024

/** Share of a page read in one turn, some 5 ms; at least one record, however large. */
export const listRowsPerTurnMax = 200
export const listCharsPerTurnMax = 1024 * 1024

/** Pause of control loops and dispatcher while the service refuses writes, and of a loop whose message was not taken. */
export const refusedPauseMs = 250

/** A message whose step threw is retried after this long, doubling each time, up to the second of these. */
export const setAsideRetryMs = 1_000
export const setAsideRetryMsMax = 600_000

/** The same bound for a scheduler or steward tick that failed as a whole: all work waits for it. */
export const tickRetryMsMax = 15_000

/** Failed entities named in the log per interval by the scheduler or the steward; the rest are only counted. */
export const backedOffLoggedMax = 100
export const backedOffLogWindowMs = 60_000

/** A commit that took this long to reach the disk is logged: a sound disk takes milliseconds. */
export const slowCommitMs = 1_000

/** Slow commits are logged at most once per interval. */
export const slowCommitToldMs = 60_000

/** Failures to give a reader their data are logged at most once per interval. */
export const readFailureToldMs = 60_000

/**
 * Senders whose last message an actor remembers. A row is consumed by the step that applies it, so it comes again only
 * if that step was lost with it; the memory of an actor that thousands write to (an intent record) must not grow with
 * them.
 */
export const sendersRememberedMax = 64
