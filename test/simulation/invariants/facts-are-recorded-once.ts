/**
 * An event is in the log at most once, however often it was stated, and exactly once if its post was answered with
 * success.
 */
import { prepareEvent } from '../../../machines/events/envelope.ts'
import type { Said } from '../network.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'facts are recorded once'
const RUN_EVENTS = '/api/run-requests/:id/events'

export const factsAreRecordedOnce: MakeInvariant = (world) => {
  const recorded = new Map<string, number>()
  const ids = new Set<string>()
  const nameOf = (project: string, trace: string | null, id: string): string => `${project}/${trace}/${id}`

  const idsOf = ({ call, body }: Said): string[] => {
    if (call.pattern === '/api/events') return body.events
    const { project, trace_id, throttle } = body.run_request
    const { events } = call.body as { events: Parameters<typeof prepareEvent>[0][] }
    return events.map((event) => prepareEvent({ ...event, project, trace_id, throttle }).id)
  }

  return {
    name: NAME,
    before({ project, traceId, id, sequence, text }) {
      const name = nameOf(project, traceId, id)
      const first = recorded.get(name)
      // What retention has removed may be stated anew.
      const isGone = first !== undefined && first < (world.process?.journal?.oldestSequence ?? 1)
      if (first !== undefined && !isGone) throw new Violation(NAME, `event ${sequence} is event ${first}: ${text}`)
      recorded.set(name, sequence)
      ids.add(id)
    },
    said(said) {
      const { call, status } = said
      if (status !== 200 || call.method !== 'POST') return
      if (call.pattern !== RUN_EVENTS && call.pattern !== '/api/events') return
      const { body } = said
      const stated = idsOf(said)
      if (body.accepted + body.duplicates !== stated.length) {
        throw new Violation(NAME, `of ${stated.length} events ${body.accepted} were new and ${body.duplicates} known`)
      }
      const missing = stated.find((id) => !ids.has(id))
      if (missing !== undefined) throw new Violation(NAME, `${missing} was taken, and is not in the log`)
    },
  }
}
