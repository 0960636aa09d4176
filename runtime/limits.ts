/**
 * The bounds that the parts of the actor system share or are weighed against each other by, by name, units last, each with its
 * reason. A bound of one algorithm alone stands at the top of its file, those of the event stream in stream/limits.ts, and those
 * that a user may change are settings (settings.ts).
 */

import { getHeapStatistics } from 'node:v8'

/** Messages from outside that wait in one mailbox. Past it the sender hears 503: a queue nobody drains is a lie. */
export const mailboxDepthMax = 1_024

/** Messages from outside taken and not yet answered, over all actors: about a second of work at full speed. */
export const messagesInFlightMax = 50_000

/** Past this wait who has far more in flight than the others is asked to come back: they are not to wait for him. */
export const fairWaitMs = 250

/** How many times the average of the others: twice is chance, more is noise. */
export const fairShareMax = 2

/** Past this wait no new work is taken: a longer queue does no more work, and only makes all late. */
export const newWorkWaitMsMax = 500

/** Past this wait runners too must say again what they say of work that they hold. Far below any lease. */
export const promisedWorkWaitMsMax = 5_000

/** In flight that everybody may have until the last bound is reached: who asks for little is never asked to come back. */
export const flowInFlightMin = 4

/** Steps in one commit. 256 already share a flush well; more only makes the turn long for everybody else. */
export const stepsPerBatchMax = 512

/** Of these, kept for what is new while what was begun would fill them all: it may be slow, and never stands still. */
export const newStepsPerBatchMin = 128

/** Events in one commit: ten full posts of events, some 10 MB of text at most in practice. */
export const eventsPerBatchMax = 10_000

/**
 * Text in one commit, of one of the two lines or of one actor alone (what a single message states always fits): some 25 ms of the
 * main thread, or 0.2 s where it is made of little things. Without it 512 bodies of 1 MB that came in one turn were more than one
 * string can hold, and half as many held up all others for seconds, in a buffer of gigabytes that stayed.
 */
export const charsPerBatchMax = 4 * 1024 * 1024

/** Steps of one actor in one commit, so that a hot actor shares the turn. */
export const stepsPerActorPerBatchMax = 128

/** Actors kept in memory when idle: about 4 KB each. Past it the least recently used leave. */
export const residentActorsMax = 20_000
/**
 * Characters of their records, which may be of a megabyte each: a sixteenth of the heap, since a record and its text take some
 * three bytes for a character, and thirteen where it is made of little things.
 */
export const residentCharsMax = getHeapStatistics().heap_size_limit / 16

/** Timers further away than this stay rows of the view and are read when their window comes. */
export const timerWindowMs = 600_000

/** Ended deadlines, and timers, that may stay in memory until their time; past it they are swept once they are the majority. */
export const endedEntriesMin = 1_024

/** The longest wait without a look at the wall clock, which may be set or have stood still while the machine slept. */
export const clockRecheckMs = 60_000

/**
 * A timer that is so late was kept by a process that stood still (stopped, or in a flush that hung): nobody was heard meanwhile. Far
 * above a turn under load, and below the shortest lease (3 s).
 */
export const stoodStillMs = 1_000

/** Until the presence of a runner whose poll is parked is said again, where it could not be written down (a full disk). */
export const presenceRetryMs = 1_000

/**
 * Turns of the event loop from the time at which something is due to the look at who has spoken by then: a new connection is taken in
 * one, and read in the next.
 */
export const turnsHeardBeforeDue = 3

/** A clock that was set back by no more than this, while the service was down or not, goes on behind its newest reading; by more, it had been wrong. */
export const clockSetBackMsMax = 60_000

/** By so much the clock may be ahead of the time that has passed, and by this share of the age at which things are forgotten; and by so little in any case. */
export const clockAheadMsMax = 3_600_000
export const clockAheadMsMin = 10_000
export const clockAheadShareMax = 0.1

/** By so much it may be ahead of the newest event when the service starts: a weekend without it is told, and costs nothing. */
export const clockAheadAtStartMsMax = 86_400_000

/** Further ahead, it is believed once it has stood for so long: time for a person to see the warning. */
export const clockBelievedAfterMs = 6 * 3_600_000

/** Timers read into memory at once (some 4 ms; half as many again within a crowded millisecond), and fired in one turn. */
export const timersPerReadMax = 2_000
export const timersPerTurnMax = 1_000

/** Of a crowded millisecond more is read once most of what was read is used up; where that does not come about, after this long. */
export const timersStuckMs = 1_000

/** The longest delay Node.js takes for a timer (2^31 - 1 ms); longer waits are made of several. */
export const timerDelayMsMax = 2_147_483_647

/** Pause between two retention sweeps: forgetting is never urgent, but what a minute at full speed leaves is a burst. */
export const retentionSweepMs = 10_000

/** The first sweep comes soon: a service that is started again and again would otherwise never forget. */
export const retentionFirstSweepMs = 1_000

/** What sweeps have removed is told in the log once in so long: with traffic each of them removes something. */
export const retentionToldMs = 3_600_000

/** Rows of an index read at once by a sweep: a few milliseconds of the main thread. */
export const retentionRowsPerPage = 250

/** Pages whose removals are under way at once: each stands in line between two writes of the view, and alone waits for one. */
export const retentionPagesUnderWay = 4

/** Old rows that may not be forgotten yet, looked at in one sweep of one index; the next goes on behind them. */
export const retentionRowsKeptPerSweepMax = 1_000

/** Index rows read for one page of a filtered list, matching or not: a page is short rather than slow. Those of one moment are read together. */
export const listRowsReadMax = 2_000
/** Nor more text of records than this: with large ones the rows alone are no bound. */
export const listCharsReadMax = 64 * 1024 * 1024

/**
 * Characters in one page of a list, the one that fills it among them: it is written out in one piece, some 20 ms of the main thread
 * or 0.2 s where it is made of little things, and stays until its reader has taken it.
 */
export const listCharsPerPageMax = 4 * 1024 * 1024

/** Of what is read, in one turn, which others share: some 5 ms, and with large records one of them at least. */
export const listRowsPerTurnMax = 200
export const listCharsPerTurnMax = 1024 * 1024

/** A message whose step threw is tried again after this long, twice as long each time, up to the second of these. */
export const setAsideRetryMs = 1_000
export const setAsideRetryMsMax = 600_000

/** The same for a tick of the scheduler or the steward that failed as a whole, up to this: all work waits for it. */
export const tickRetryMsMax = 15_000

/** Failures of one of them at entities, named in the log in so long; the rest are a number: a mistake that all of them meet fills no disk. */
export const passedOverToldMax = 100
export const passedOverToldMs = 60_000

/** What one of them fails to tell a reader is told in the log once in so long. */
export const readFailureToldMs = 60_000

/**
 * Senders whose last message an actor remembers. A row is used up in the step that applies it, so that it comes again
 * only after that step was lost with it; an actor that thousands write to (an intent record) must not grow with them.
 */
export const sendersRememberedMax = 64
