/** Everything that happens, as it happens: the newest events, and then the Watch stream, with the same filter. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { watching } from '../api.ts'
import type { Document, Problem } from '../document.ts'
import { Live } from '../live.ts'
import { ProblemNote } from '../parts/basics.tsx'
import { EventList, History } from '../parts/events.tsx'
import { hrefOf } from '../place.ts'
import { problemOf } from '../resource.ts'
import { useSession } from '../session.ts'

/** Events kept on the page: older ones go. */
const KEPT = 500
const FIRST = 100

export function EventsPage({ types }: { types: string | undefined }): JSX.Element {
  const { project } = useSession()
  return (
    <>
      <h1>Events</h1>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget).get('types') as string
          location.hash = hrefOf(['events'], { types: given.replaceAll(/\s+/g, '') })
        }}
      >
        <input name="types" type="search" placeholder="types, such as work_item_settled" defaultValue={types ?? ''} />
        <button type="submit">Filter</button>
      </form>
      <Stream key={`${project} ${types}`} filter={{ project, event_type: types }} />
    </>
  )
}

function Stream({ filter }: { filter: Readonly<Record<string, string | undefined>> }): JSX.Element {
  const { api } = useSession()
  const [events, setEvents] = useState<readonly Document[]>([])
  const [problem, setProblem] = useState<Problem | undefined>(undefined)

  useEffect(() => {
    const live = new Live(watching(api.token, filter))
    const end = live.listen({
      // What was recorded before the stream begins; `desc` starts with the event before that cursor.
      begin: async (cursor) => {
        try {
          const { items } = await api.get('api/events', { ...filter, cursor, order: 'desc', limit: FIRST })
          setEvents((newer) => [...newer, ...items].slice(0, KEPT))
        } catch (error) {
          setProblem(problemOf(error))
        }
      },
      events: (batch) => setEvents((older) => [...batch.toReversed(), ...older].slice(0, KEPT)),
    })
    return () => {
      end()
      live.close()
    }
    // The part is made anew for another filter.
  }, [api])

  return (
    <>
      {problem !== undefined && <ProblemNote of={problem} />}
      <EventList of={events} />
    </>
  )
}

export function TracePage({ id }: { id: string }): JSX.Element {
  return (
    <>
      <header class="head">
        <p class="dim">
          Trace <code>{id}</code>
        </p>
        <h1>What happened, newest first</h1>
      </header>
      <History filter={{ trace_id: id }} />
    </>
  )
}
