/** What the run of a work item has asked a person, as its terminal event puts it. The item itself has it as one line only. */
import type { Client } from '../engine/client.ts'
import type { Document } from './document.ts'
import { list } from './lists.ts'

export interface Question {
  readonly finding: string
  /** The answers that the run sees. */
  readonly options: readonly string[]
}

/** Undefined: it has asked nothing, or that is not kept any more. */
export async function questionOf(client: Client, { trace_id }: Document): Promise<Question | undefined> {
  // The trace is the item's own; the event need not name the item.
  const query = { trace_id, event_type: 'task_run_completed', order: 'desc' }
  const [event] = (await list(client, '/api/events', 1, query)).items
  const { verdict, finding, summary, options = [] } = event?.payload ?? {}
  return verdict === 'blocked_on_decision' ? { finding: finding ?? summary, options } : undefined
}
