/** Recorded events, newest first, each with its payload on demand. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Document } from '../document.ts'
import { useResource } from '../resource.ts'
import { hrefFor, momentOf, printed } from '../words.ts'
import { Linked, Loaded, Ref } from './basics.tsx'

/** Events of a history at first, and how many more each time somebody asks. */
const PAGE = 50
/** The most that the service lists at once. */
const MOST = 500

/** The events that the filter admits; new ones appear by themselves. */
export function History({ filter }: { filter: Readonly<Record<string, string>> }): JSX.Element {
  const [limit, setLimit] = useState(PAGE)
  const resource = useResource('api/events', { query: { ...filter, order: 'desc', limit } })
  return (
    <Loaded from={resource}>
      {({ items, next_cursor: more }) => (
        <>
          <EventList of={items} />
          {more !== undefined && limit < MOST && (
            <button type="button" onClick={() => setLimit(Math.min(MOST, limit * 2))}>
              Older
            </button>
          )}
        </>
      )}
    </Loaded>
  )
}

export function EventList({ of }: { of: readonly Document[] }): JSX.Element {
  if (of.length === 0) return <p class="dim">No events.</p>
  return (
    <ol class="events">
      {of.map((event) => (
        <li key={`${event.project} ${event.trace_id} ${event.id}`}>
          <details>
            <summary>
              <time dateTime={event.recorded_at}>{momentOf(event.recorded_at)}</time>
              <b>{event.event_type}</b>
              <span class="dim">{saysOf(event)}</span>
            </summary>
            <Whole of={event} />
          </details>
        </li>
      ))}
    </ol>
  )
}

/** Members of a payload that say most, in this order. */
const TELLING = ['reason', 'summary', 'message', 'text', 'decision', 'outcome', 'state', 'status', 'objective', 'name']

const LINE_LENGTH_MAX = 160

/** One line about the event. */
function saysOf({ payload, project, by }: Document): string {
  const said = TELLING.map((name) => payload[name]).filter((value) => typeof value === 'string')
  const parts = [project, by?.name, ...said.slice(0, 2)].filter((text) => text !== undefined && text !== '')
  const line = printed(parts.join(' · '))
  return line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)} …` : line
}

function Whole({ of }: { of: Document }): JSX.Element {
  const { trace_id: trace, run_request_id: run, payload } = of
  const item = payload.item_id
  return (
    <>
      <p>
        {trace !== null && (
          <Ref to={trace} as="trace_id">
            its trace
          </Ref>
        )}{' '}
        {run !== undefined && <Ref to={run}>its run</Ref>}{' '}
        {typeof item === 'string' && hrefFor(item) !== undefined && <Ref to={item}>its work item</Ref>}
      </p>
      <pre>
        <Linked text={JSON.stringify(of, undefined, 2)} />
      </pre>
    </>
  )
}
