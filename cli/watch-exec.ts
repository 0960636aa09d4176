/**
 * `intendant watch --exec`: runs a command once for each event, in their order. The cursor is kept after the command has
 * succeeded, so a crash between the two repeats one event at most, and none is left out.
 */
import type { QueryValue } from '../engine/client.ts'
import { type Backoff, mayHelpInTime, retrying } from '../engine/retry.ts'
import { watch } from '../engine/watch.ts'
import { CursorFile } from './cursor-file.ts'
import type { Document } from './document.ts'
import { detailOf } from './event-line.ts'
import { CliFailure, EXIT } from './exit.ts'
import { type Facts, Hook, HookFailed, stopOn } from './hook.ts'
import { cursorAfter } from './lists.ts'
import { streamBreaks } from './stream-breaks.ts'
import type { Cli } from './world.ts'

/** How often the command is run for one event before that counts as failed. */
const TRIES_MAX = 5
/** Pauses between these runs. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 30_000 }

export const ON_FAILURE = ['stop', 'skip'] as const

interface Consumer {
  readonly exec: string
  /** Longest time for one run, in milliseconds. */
  readonly execLimit: number
  readonly cursorFile?: string
  /** Where to begin as long as no cursor is kept. */
  readonly since: string
  readonly filters: Readonly<Record<string, QueryValue>>
  /** What becomes of an event for which the command has failed for good. */
  readonly onFailure: (typeof ON_FAILURE)[number]
  /** Ends after this many events. */
  readonly count?: number
}

/** Until it is stopped. Throws CliFailure for an event that fails, and what `watch` throws. */
export async function consume(cli: Cli, consumer: Consumer, backoff: Backoff = BACKOFF): Promise<void> {
  const { client, world, note } = cli
  const { filters, count = Number.POSITIVE_INFINITY } = consumer
  world.owesOutcome()
  const hook = new Hook(cli, consumer.exec, consumer.execLimit)
  const { signal } = stopOn(world, hook)
  const patience = { signal, mayHelp: mayHelpInTime }
  const taking: Taking = { consumer, hook, signal, backoff }
  const breaks = streamBreaks(note)
  const place = new CursorFile(consumer.cursorFile, consumer.since)
  let done = 0
  try {
    for await (const frame of watch({ client, since: place.cursor, filters, signal, onBreak: breaks.broke })) {
      breaks.heard()
      const events = frame.type === 'events' ? frame.events : []
      for (const [n, event] of events.entries()) {
        const isLast = n === events.length - 1
        // Before the command runs: afterwards the service may be away.
        const next = isLast
          ? frame.cursor
          : await retrying(() => cursorAfter(client, place.cursor, 1, filters), patience)
        await handle(cli, event, taking)
        place.keep(next ?? place.cursor)
        done += 1
        if (done >= count || signal.aborted) return
      }
      // The first one shows that the file can be written, before anything is done; the others keep the cursor young.
      if (events.length === 0 && (frame.type === 'hello' || frame.cursor !== place.cursor)) place.keep(frame.cursor)
    }
  } catch (error) {
    if (signal.aborted && !(error instanceof CliFailure)) return
    throw place.explain(error)
  }
}

interface Taking {
  readonly consumer: Consumer
  readonly hook: Hook
  readonly signal: AbortSignal
  readonly backoff: Backoff
}

/**
 * Runs the command until it succeeds, or has failed often enough. Throws CliFailure then, unless the event is to be
 * skipped; and the signal's reason if it is to stop before it has succeeded.
 */
async function handle({ note }: Cli, event: Document, { consumer, hook, signal, backoff }: Taking): Promise<void> {
  const what = `${event.event_type} ${event.id}`
  let tries = 0
  const mayHelp = (error: unknown): boolean => error instanceof HookFailed && !signal.aborted && ++tries < TRIES_MAX
  const onRetry = ({ message }: Error): void => note(`${what}: ${message}; trying again`)
  try {
    await retrying(() => hook.run(event, factsOf(event)), { signal, mayHelp, backoff, onRetry })
  } catch (error) {
    if (!(error instanceof HookFailed)) throw error
    signal.throwIfAborted()
    const failed = `${what}: ${error.message} (tried ${TRIES_MAX} times)`
    if (consumer.onFailure === 'skip') return note(`${failed}; skipped`)
    const { cursorFile: file } = consumer
    const next = file === undefined ? '' : ` ${file} stays before it, so that the next start tries it again.`
    throw new CliFailure(`${failed}.${next}`, EXIT.failed, error)
  }
}

function factsOf(event: Document): Facts {
  const { id, event_type, project, trace_id, run_request_id, occurred_at, payload } = event
  return {
    event_id: id,
    event_type,
    project: project ?? undefined,
    trace_id: trace_id ?? undefined,
    run_request_id,
    item_id: typeof payload?.item_id === 'string' ? payload.item_id : undefined,
    occurred_at,
    what: detailOf(payload),
  }
}
