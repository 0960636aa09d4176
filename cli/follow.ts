/**
 * Follows one entity to its end. The entity's document decides; events only trigger reading it. So a missed event
 * delays the answer until the next bookmark, but never changes it.
 */
import type { QueryValue } from '../engine/client.ts'
import { describeRetry } from '../engine/errors.ts'
import { mayHelpInTime, retrying } from '../engine/retry.ts'
import { type WatchFrame, watch } from '../engine/watch.ts'
import type { Document } from './document.ts'
import { printEvents } from './event-line.ts'
import { CliFailure, EXIT } from './exit.ts'
import type { Cli } from './world.ts'

/** The entity to follow, and what its documents and events mean. */
export interface Followed {
  readonly path: string
  readonly filters: Readonly<Record<string, QueryValue>>
  /** The command that shows its state. */
  readonly show: string
  /** How it stands when the time is over. Default: it is not settled yet. */
  readonly notYet?: string
  /** Shows events as they come. Default: as Watch does; with `--json` not at all. */
  print?(events: readonly Document[]): void
  /** Whether this event may have changed the document. A bookmark causes a read anyway. */
  concerns(eventType: string): boolean
  /**
   * Whether this is its last event. The end is reported only after that is shown, since documents are ahead of the
   * stream.
   */
  isLast(event: Document): boolean
  isSettled(body: Document): boolean
  /** Why it makes no progress, for people. */
  whyNot(body: Document): string | undefined
  /** Reports the end; returns the exit code. */
  settle(body: Document): number
}

/**
 * Prints events until the entity is settled; the exit code is its outcome.
 * @param since the cursor of its creation, to see everything; without it, from now on
 * @param limitMs longest time to follow it
 */
export async function followTo(
  cli: Cli,
  followed: Followed,
  since: string | undefined,
  limitMs?: number,
): Promise<number> {
  cli.world.owesOutcome()
  const over = new AbortController()
  const timer = limitMs === undefined ? undefined : setTimeout(() => over.abort(), limitMs)
  try {
    return await followUntil(cli, followed, since, over.signal)
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}

async function followUntil(
  cli: Cli,
  followed: Followed,
  since: string | undefined,
  signal: AbortSignal,
): Promise<number> {
  const { client, json, print } = cli
  const show = followed.print ?? ((events) => (json ? undefined : printEvents(events, print)))
  const onBreak = (error: Error): void => cli.note(describeRetry(error))
  // The entity was there a moment ago, so a 404 from an intermediary is not final.
  const patience = { signal, mayHelp: mayHelpInTime, onRetry: onBreak }
  const read = () => retrying(() => client.request('GET', followed.path, { signal }), patience)
  try {
    const first = await read()
    if (since === undefined && followed.isSettled(first.body)) return followed.settle(first.body)
    let told = tell(cli, followed, first.body, '')
    const frames = watch({
      client,
      since: since ?? first.headers.get('watch-cursor') ?? 'latest',
      filters: followed.filters,
      signal,
      onBreak,
    })
    for await (const frame of frames) {
      if (frame.type === 'events') show(frame.events)
      await print.room(signal)
      if (frame.type === 'hello' || !concerns(followed, frame)) continue
      const { body } = await read()
      if (followed.isSettled(body) && mayEnd(followed, frame)) return followed.settle(body)
      told = tell(cli, followed, body, told)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  const { notYet = 'It has not settled yet and is still running.', show: command } = followed
  throw new CliFailure(`${notYet} See: ${command}`, EXIT.timeout)
}

function concerns(followed: Followed, frame: WatchFrame): boolean {
  return frame.type !== 'events' || frame.events.some((event) => followed.concerns(String(event.event_type)))
}

function mayEnd(followed: Followed, frame: WatchFrame): boolean {
  return frame.type !== 'events' || frame.events.some((event) => followed.isLast(event))
}

/** Says on standard error, once for each reason, why it makes no progress. */
function tell({ note }: Cli, followed: Followed, body: Document, before: string): string {
  const text = followed.whyNot(body)
  if (text === undefined || text === before) return before
  note(`${body.state}: ${text}`)
  return text
}
