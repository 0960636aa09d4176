/** Everything that happens, as it happens; and what happened in one trace. */
import type { JSX } from 'preact'
import { Link } from '../parts/basics.tsx'
import { History } from '../parts/events.tsx'
import { hrefOf } from '../place.ts'
import { useGo, useSession } from '../session.ts'

/** What has become of things while nobody looked, and what was asked of people. */
const ENDS = [
  ...['work_item_settled', 'work_item_cancelled', 'run_request_failed', 'run_request_lost', 'run_request_cancelled'],
  ...['campaign_completed', 'campaign_cancelled', 'campaign_escalated', 'campaign_owner_paused'],
  ...['initiative_completed', 'initiative_cancelled', 'runner_offline'],
].join()

const CHOICES = [
  ['all', undefined],
  ['what has ended', ENDS],
] as const

export function EventsPage({ types }: { types: string | undefined }): JSX.Element {
  const { project } = useSession()
  const go = useGo()
  return (
    <>
      <h1>Events</h1>
      <nav class="filters" aria-label="Kinds of events">
        {CHOICES.map(([name, chosen]) => (
          <Link key={name} to={hrefOf(['events'], { types: chosen })} isHere={types === chosen}>
            {name}
          </Link>
        ))}
      </nav>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const given = new FormData(event.currentTarget).get('types') as string
          go(hrefOf(['events'], { types: given.replaceAll(/\s+/g, '') }))
        }}
      >
        <input
          name="types"
          type="search"
          aria-label="Types"
          placeholder="types, such as work_item_settled"
          defaultValue={types ?? ''}
        />
        <button type="submit">Filter</button>
      </form>
      <History key={`${project} ${types}`} filter={{ project, event_type: types }} />
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
