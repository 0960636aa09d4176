/** What the run of a work item has asked a person. The item itself has it as one line only. */
import type { Client } from '../engine/client.ts'
import { type Question, questionIn } from '../machines/work-item/anew.ts'
import type { Document } from './document.ts'
import { list } from './lists.ts'

/** Undefined: it has asked nothing, or that is not kept any more. */
export async function questionOf(client: Client, { trace_id }: Document): Promise<Question | undefined> {
  // The trace is the item's own; the event need not name the item.
  const query = { trace_id, event_type: 'task_run_completed', order: 'desc' }
  const [event] = (await list(client, '/api/events', 1, query)).items
  return questionIn(event)
}
