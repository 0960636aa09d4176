/**
 * A list holds exactly what was true at the place in the log that it names, and that place is not before the question.
 */
import { type RequestModel, Requests } from '../model/requests.ts'
import type { Said } from '../network.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'lists are true'

export const listsAreTrue: MakeInvariant = (world) => ({
  name: NAME,
  said(said) {
    const { call, status, headers, process } = said
    if (status !== 200 || call.method !== 'GET') return
    const cursor = headers['Watch-Cursor']
    if (cursor === undefined) return
    const sequence = Number.parseInt(cursor.slice(cursor.indexOf('.') + 1), 36)
    // One whose log failed cannot know whether its last batch is on disk.
    if (!process.isDoomed && sequence < said.askedSequence) {
      throw new Violation(
        NAME,
        `${call.pattern} as of ${sequence}, asked for when the log ended at ${said.askedSequence}`,
      )
    }
    const matches = filterOf(call)
    if (matches === undefined) return
    const { body } = said
    if (body.next_cursor !== undefined) return
    const listed = new Set<string>(body.items.map(({ id }: { id: string }) => id))
    for (const request of world.requests.byId.values()) {
      const then = Requests.at(request, sequence)
      const isMeant = then !== undefined && matches(request, then)
      if (isMeant === listed.has(request.id)) continue
      // Retention forgets what has ended.
      if (isMeant && world.mayBeForgotten(request)) continue
      const state = then === undefined ? 'not there' : `${then.state}, attempt ${then.attempt}`
      throw new Violation(NAME, `${call.query} at ${sequence}: ${request.id} is ${state}, listed: ${!isMeant}`)
    }
  },
})

type Then = NonNullable<ReturnType<typeof Requests.at>>

/** Which requests the list is to hold; undefined: it is no list of run requests that the model can tell. */
function filterOf({
  pattern,
  query = '',
  params = [],
}: Said['call']): ((request: RequestModel, then: Then) => boolean) | undefined {
  if (pattern === '/api/projects/:id/run-requests') return ({ project }) => project === params[0]
  if (pattern !== '/api/run-requests') return undefined
  const state = /state=(\w+)/.exec(query)?.[1]
  if (state !== undefined) return (_, then) => then.state === state
  return undefined
}
