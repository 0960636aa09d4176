/**
 * `intendant attention --follow`: tells of each thing that begins to need a person, and if asked of each that no longer does. The
 * list decides: events only say when to read it again. It is also read each minute, since some reasons begin by time alone.
 */
import type { Client } from '../engine/client.ts'
import { type Backoff, mayHelpInTime, pauseAfter, retrying } from '../engine/retry.ts'
import { watch } from '../engine/watch.ts'
import { Calls, type News } from './attention-calls.ts'
import { adviceFor } from './attention-page.ts'
import type { Document } from './document.ts'
import { CliFailure } from './exit.ts'
import { type Facts, Hook, HookFailed, stopOn } from './hook.ts'
import { list } from './lists.ts'
import { INDENT, safe } from './print.ts'
import { isPlaceLost, type StreamBreaks, streamBreaks } from './stream-breaks.ts'
import { type AttentionFilter, ToldFile } from './told-file.ts'
import type { Cli } from './world.ts'

export interface Follower {
  readonly filter: AttentionFilter
  /** Run for each; absent: each is printed. */
  readonly exec?: string
  /** Longest time for one run, in milliseconds. */
  readonly execLimit: number
  /** File that keeps what has been told. */
  readonly state?: string
  /** Whether to tell also of what no longer needs a person. */
  readonly ended?: boolean
}

interface Pace {
  /** One action makes several events within a moment: they cause one reading. */
  readonly settleMs: number
  /** Shortest time between two readings. */
  readonly gapMs: number
  /** Longest time between two readings. */
  readonly everyMs: number
  /** Pauses before a failed command is run again. */
  readonly backoff: Backoff
}

const PACE: Pace = {
  settleMs: 150,
  gapMs: 1_000,
  everyMs: 60_000,
  backoff: { firstMs: 1_000, longestMs: 300_000 },
}

/** A long list is read less often: the time between two readings is at least this many times as long as one takes. */
const GAP_PER_READING = 10

/**
 * Until it is stopped. Throws CliFailure if the file cannot be used, and ServiceRefused if the service does not accept
 * the token.
 */
export async function followAttention(cli: Cli, follower: Follower, pace: Pace = PACE): Promise<void> {
  const { world, note } = cli
  const hook = follower.exec === undefined ? undefined : new Hook(cli, follower.exec, follower.execLimit)
  if (hook !== undefined) world.owesOutcome()
  const stop = stopOn(world, hook)
  const readings = new Readings(pace, stop.signal)
  const breaks = streamBreaks(note)
  // The first failure ends the other part too, but not before the command under way has ended.
  const part = async (work: Promise<void>): Promise<void> => {
    try {
      await work
    } catch (error) {
      if (stop.signal.aborted && !(error instanceof CliFailure)) return
      stop.abort()
      throw error
    }
  }
  const parts = [listen(cli, readings, breaks), tellAll(cli, { follower, pace, hook, readings, breaks })]
  const [failed] = (await Promise.allSettled(parts.map(part))).filter((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** Asks for a reading whenever the stream begins, or tells of an event that the service states about its entities. */
async function listen({ client }: Cli, readings: Readings, breaks: StreamBreaks): Promise<void> {
  const { signal } = readings
  const { eventTypes, isServiceOwned } = await import('../machines/events/index.ts')
  const filters = { event_type: eventTypes.filter(isServiceOwned).join() }
  while (!signal.aborted) {
    try {
      for await (const { type } of watch({ client, since: 'latest', filters, signal, onBreak: breaks.broke })) {
        breaks.heard()
        if (type !== 'bookmark') readings.ask()
      }
    } catch (error) {
      // The log goes on elsewhere (a restore, retention): what it says now is in the list.
      if (!isPlaceLost(error)) throw error
    }
  }
}

interface Telling {
  readonly follower: Follower
  readonly pace: Pace
  readonly hook: Hook | undefined
  readonly readings: Readings
  readonly breaks: StreamBreaks
}

/** Reads and tells, one after the other, so that nothing is told that has ended meanwhile. */
async function tellAll(cli: Cli, { follower, pace, hook, readings, breaks }: Telling): Promise<void> {
  const { note } = cli
  const { filter, state, ended = false } = follower
  const { signal } = readings
  const file = state === undefined ? undefined : new ToldFile(state, filter)
  const calls = new Calls(file?.told ?? [], ended)
  const keep = (): void => file?.keep(calls.told)
  const client = abortedBy(signal, cli.client)
  const read = () => list(client, '/api/attention', Number.POSITIVE_INFINITY, { ...filter })
  const patience = { signal, mayHelp: mayHelpInTime, onRetry: breaks.broke }
  while (!signal.aborted) {
    if (readings.isDue) {
      const { items } = await readings.take(() => retrying(read, patience))
      breaks.heard()
      if (calls.read(items)) keep()
    }
    const news = calls.next(performance.now())
    if (news === undefined) {
      await readings.rest(calls.dueMs)
      continue
    }
    try {
      if (hook !== undefined) await hook.run(documentOf(news), factsOf(news))
      else await printNews(cli, news, signal)
      calls.done(news)
      keep()
    } catch (error) {
      if (!(error instanceof HookFailed)) throw error
      const pauseMs = pauseAfter(error, news.failures + 1, pace.backoff, Math.random())
      calls.failed(news, performance.now() + pauseMs)
      if (!signal.aborted) note(`${news.call.reason} ${news.call.id}: ${error.message}; trying again`)
    }
  }
}

/** The same client, whose requests end with the signal. */
function abortedBy(signal: AbortSignal, client: Client): Client {
  return { ...client, request: (method, path, options) => client.request(method, path, { ...options, signal }) }
}

/** As printed with `--json`, and for the command: the item as listed, if it still is, with what is told of it. */
function documentOf({ change, call, item = {} }: News): Document {
  const { key: _, ...told } = call
  return { change, ...item, ...told }
}

function factsOf({ change, call, item }: News): Facts {
  const { key: _, ...told } = call
  return { change, ...told, advice: item === undefined ? undefined : adviceFor(item, call.id) }
}

async function printNews({ json, print }: Cli, news: News, signal: AbortSignal): Promise<void> {
  const { change, call, item } = news
  if (json) print.jsonLine(documentOf(news))
  else {
    const said = change === 'began' ? print.tint(call.reason, 'warn') : print.tint(`${call.reason} has ended`, 'good')
    const line = [said, call.id, call.project, safe(call.what)]
    print.text(line.filter((part) => part !== '').join('  '), INDENT)
    const advice = item === undefined ? '' : safe(adviceFor(item, call.id))
    if (advice !== '') print.text(`${INDENT}${advice}`, INDENT + INDENT)
  }
  await print.room(signal)
}

/** When to read next: soon after it was asked for, but not all the time, and at least each `everyMs`. */
class Readings {
  readonly signal: AbortSignal
  readonly #pace: Pace
  /** Not before the stream has begun: nothing is missed then. */
  #dueMs = Number.POSITIVE_INFINITY
  #notBeforeMs = 0
  #wake = (): void => {}

  constructor(pace: Pace, signal: AbortSignal) {
    this.#pace = pace
    this.signal = signal
  }

  get isDue(): boolean {
    return performance.now() >= this.#dueMs
  }

  ask(): void {
    const soonMs = Math.max(performance.now() + this.#pace.settleMs, this.#notBeforeMs)
    this.#dueMs = Math.min(this.#dueMs, soonMs)
    this.#wake()
  }

  /** Takes one; what is asked for meanwhile is asked of the next. */
  async take<T>(read: () => Promise<T>): Promise<T> {
    const begunMs = performance.now()
    this.#dueMs = begunMs + this.#pace.everyMs
    const taken = await read()
    const nowMs = performance.now()
    this.#notBeforeMs = nowMs + Math.max(this.#pace.gapMs, (nowMs - begunMs) * GAP_PER_READING)
    this.#dueMs = Math.max(this.#dueMs, this.#notBeforeMs)
    return taken
  }

  /** Resolves at the given time, when the next reading is due, or at a stop. */
  rest(untilMs: number): Promise<void> {
    const { signal } = this
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', go)
        this.#wake = () => {}
        resolve()
      }
      const waitMs = Math.min(untilMs, this.#dueMs) - performance.now()
      const timer = setTimeout(go, Math.ceil(Math.min(waitMs, this.#pace.everyMs)))
      signal.addEventListener('abort', go)
      this.#wake = go
      if (signal.aborted) go()
    })
  }
}
