/** Follows one work item to its settlement: what its run says, and the outcome. */
import { WAITING_STATES } from '../machines/documents/work-item.ts'
import type { Document } from './document.ts'
import { EXIT } from './exit.ts'
import { followTo } from './follow.ts'
import { safe } from './print.ts'
import { itemPath } from './work-item-moves.ts'
import { adviceFor, endOf } from './work-item-page.ts'
import type { Cli } from './world.ts'

const WAITING: readonly string[] = WAITING_STATES
const SETTLED: Readonly<Record<string, number>> = {
  landed: EXIT.ok,
  preserved: EXIT.failed,
  needs_decision: EXIT.failed,
  failed: EXIT.failed,
  cancelled: EXIT.cancelled,
}

/**
 * Prints events until the item settles; the exit code is its outcome.
 * @param since the cursor of its submission, to see everything; without it, from now on
 */
export async function followItem(
  cli: Cli,
  item: Document,
  since: string | undefined,
  limitMs?: number,
): Promise<number> {
  const { id, trace_id } = item
  const followed = {
    path: itemPath(id),
    // The item's trace: its own events, and those of its runs.
    filters: { trace_id },
    show: `intendant queue show ${id}`,
    concerns: (type: string) => type.startsWith('work_item_') || type.startsWith('run_request_'),
    isLast: ({ event_type, payload }: Document) =>
      /^work_item_(settled|cancelled)$/.test(event_type) && payload.item_id === id,
    isSettled: ({ state }: Document) => state in SETTLED,
    whyNot,
    settle: (body: Document) => settle(cli, body),
  }
  return await followTo(cli, followed, since, limitMs)
}

/** The reason and, if no runner may take it, what a person can do. */
function whyNot(item: Document): string | undefined {
  const { state, reason, reason_code } = item
  if (!WAITING.includes(state)) return reason_code === undefined ? undefined : safe(reason)
  const advice = state === 'queued' ? adviceFor(item) : []
  return [safe(reason), ...advice.map((line) => `  ${line}`)].join('\n')
}

function settle({ json, print }: Cli, item: Document): number {
  if (json) print.json(item)
  else {
    print.line()
    print.line(endOf(item, print))
    const { landed_commit, preservation_ref } = item.disposition ?? {}
    if (landed_commit !== undefined) print.line(`Landed as ${safe(landed_commit)}.`)
    if (preservation_ref !== undefined) print.line(`Preserved as ${safe(preservation_ref)}.`)
    for (const advice of adviceFor(item)) print.line(`  ${advice}`)
  }
  return SETTLED[item.state] ?? EXIT.failed
}
