/**
 * Following one run request to its end. The document decides, the events only tell: a missed event delays the
 * answer by a bookmark, and never changes it.
 */
import { retrying } from '../engine/retry.ts'
import { type WatchFrame, watch } from '../engine/watch.ts'
import { eventLines } from './event-line.ts'
import { CliFailure, EXIT } from './exit.ts'
import { because, failureText, nextStep } from './run-request-page.ts'
import type { Cli } from './world.ts'

const SETTLED: Readonly<Record<string, number>> = {
  completed: EXIT.ok,
  failed: EXIT.failed,
  cancelled: EXIT.cancelled,
}

/**
 * Prints what happens to the run request until it is settled; the exit code is its outcome.
 * @param since the cursor of its creation, to see everything; without it, from now on.
 * @param limitMs longest time to follow it.
 */
export async function follow(cli: Cli, id: string, since: string | undefined, limitMs?: number): Promise<number> {
  const over = new AbortController()
  const timer = limitMs === undefined ? undefined : setTimeout(() => over.abort(), limitMs)
  try {
    return await followUntil(cli, id, since, over.signal)
  } finally {
    clearTimeout(timer)
    over.abort()
  }
}

async function followUntil(cli: Cli, id: string, since: string | undefined, signal: AbortSignal): Promise<number> {
  const { client, json, print, world } = cli
  const read = () =>
    retrying(() => client.request('GET', `/api/run-requests/${encodeURIComponent(id)}`, { signal }), { signal })
  try {
    const first = await read()
    if (since === undefined && first.body.state in SETTLED) return settle(cli, first.body)
    let told = tell(cli, first.body, '')
    const frames = watch({
      client,
      since: since ?? first.headers.get('watch-cursor') ?? 'latest',
      filters: { run_request_id: id },
      signal,
      onBreak: (error) => world.stderr.write(`${error.message}; trying again\n`),
    })
    for await (const frame of frames) {
      if (frame.type === 'events' && !json) {
        for (const event of frame.events) for (const line of eventLines(event, print)) print.line(line)
      }
      if (frame.type === 'hello' || !concerns(frame)) continue
      const { body } = await read()
      if (body.state in SETTLED && mayEnd(frame)) return settle(cli, body)
      told = tell(cli, body, told)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  throw new CliFailure(`${id} is not settled yet; it goes on. See: intendant run-request show ${id}`, EXIT.timeout)
}

/** Whether the document may have changed: events of the run itself, not of its command. A bookmark looks again anyway. */
function concerns(frame: WatchFrame): boolean {
  return frame.type !== 'events' || frame.events.some((event) => String(event.event_type).startsWith('run_request_'))
}

/** Not before its last event is shown: the document is ahead of the stream. */
function mayEnd(frame: WatchFrame): boolean {
  if (frame.type !== 'events') return true
  return frame.events.some((event) => /^run_request_(completed|failed|cancelled)$/.test(event.event_type))
}

/** Says on standard error, once for each reason, why nothing happens. */
function tell({ world }: Cli, body: Record<string, any>, before: string): string {
  const text = body.state === 'lost' ? nextStep(body) : because(body.waiting_because)
  if (text === undefined || text === before) return before
  world.stderr.write(`${body.state}: ${text}\n`)
  return text
}

function settle({ json, print, world }: Cli, body: Record<string, any>): number {
  if (json) print.json(body)
  else print.line(`${body.id} ${print.state(body.state)}`)
  const failure = failureText(body.failure)
  if (failure !== undefined && !json) world.stderr.write(`${failure}\n`)
  return SETTLED[body.state] ?? EXIT.failed
}
