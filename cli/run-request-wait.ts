/** Follows one run request to its end. */
import type { Document } from './document.ts'
import { EXIT } from './exit.ts'
import { type Followed, followTo } from './follow.ts'
import { harmless } from './print.ts'
import { because, failureText, nextStep } from './run-request-page.ts'
import type { Cli } from './world.ts'

const SETTLED: Readonly<Record<string, number>> = {
  completed: EXIT.ok,
  failed: EXIT.failed,
  cancelled: EXIT.cancelled,
}

/** Events with which a run leaves its runner. */
export const LEAVING = ['completed', 'failed', 'cancelled', 'lost', 'requeued', 'released'].map(
  (end) => `run_request_${end}`,
)

/** Prints events until the run request is settled; the exit code is its outcome. */
export async function follow(cli: Cli, id: string, since: string | undefined, limitMs?: number): Promise<number> {
  return await followTo(cli, followed(cli, id), since, limitMs)
}

/** The run request as an entity to follow; its end is reported as by `create --wait`. */
export function followed(cli: Cli, id: string): Followed {
  return {
    path: `/api/run-requests/${encodeURIComponent(id)}`,
    filters: { run_request_id: id },
    show: `intendant run-request show ${id}`,
    // Events of the run itself, not of its command.
    concerns: (type: string) => type.startsWith('run_request_'),
    isLast: (event: Document) => /^run_request_(completed|failed|cancelled)$/.test(event.event_type),
    isSettled: ({ state }: Document) => state in SETTLED,
    whyNot: (body: Document) =>
      [because(body.waiting_because), nextStep(body)].filter((text) => text !== undefined).join('\n') || undefined,
    settle: (body: Document) => settle(cli, body),
  }
}

/** The exit code of a settled run request. */
export function outcomeOf({ state }: Document): number {
  return SETTLED[state] ?? EXIT.failed
}

function settle({ json, print, world }: Cli, body: Document): number {
  if (json) print.json(body)
  else print.line(`${body.id} ${print.state(body.state)}`)
  const failure = failureText(body.failure)
  if (failure !== undefined && !json) world.stderr.write(`${harmless(failure)}\n`)
  return outcomeOf(body)
}
