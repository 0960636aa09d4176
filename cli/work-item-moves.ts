/** What owners do about a work item: one POST to it, and how it stands then. */

import type { Answer } from '../engine/client.ts'
import type { Done } from './batch.ts'
import type { Document } from './document.ts'
import { isReplay } from './idempotency-key.ts'
import { safe } from './print.ts'
import type { Cli } from './world.ts'

/** `more` begins with a slash, as in `/close`. */
export function itemPath(id: string, more = ''): string {
  return `/api/work-items/${encodeURIComponent(id)}${more}`
}

export async function moveItem({ client, print }: Cli, id: string, name: string, body: object): Promise<Done> {
  const { body: document } = await client.request('POST', itemPath(id, `/${name}`), { body })
  return { document, line: standing(document, print) }
}

/** Where it stands, on one line. */
function standing({ id, state, reason }: Document, print: Cli['print']): string {
  return `${id} is ${print.state(state)}: ${safe(reason)}`
}

/** The item that continues the work of the given one, on one line. A repeated command finds it already there. */
export function continuation(id: string, made: Answer, print: Cli['print']): string {
  const { id: next, state, reason } = made.body
  const stands = isReplay(made) ? 'already exists and is' : 'is'
  return `${id} continues as ${next}, which ${stands} ${print.state(state)}: ${safe(reason)}`
}
