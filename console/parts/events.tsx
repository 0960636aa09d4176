/** Recorded events, newest first, each with its payload on demand. */
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Document } from '../document.ts'
import { useRecorded } from '../history.ts'
import type { Filter } from '../recorded.ts'
import { beginningOf, hrefFor, momentOf, printed, readable } from '../words.ts'
import { Linked, Loaded, Ref } from './basics.tsx'
import { Scroller } from './scroller.tsx'

const SIZES = { page: 50, kept: 500 }

/** The events that the filter admits; new ones appear by themselves. The filter must not change: give it a key. */
export function History({ filter }: { filter: Filter }): JSX.Element {
  const { events, next, isCut, problem, older } = useRecorded(filter, SIZES)
  return (
    <Loaded from={{ value: events, problem }}>
      {(shown) => (
        <>
          {shown.length === 0 && <p class="dim">{next === undefined ? 'No events.' : 'None among the newest.'}</p>}
          <ol class="events">
            {shown.map((event) => (
              <Line key={`${event.project} ${event.trace_id} ${event.id}`} of={event} />
            ))}
          </ol>
          {next !== undefined && (
            <button type="button" onClick={older}>
              Older
            </button>
          )}
          {isCut === true && <p class="dim">Older ones have made room.</p>}
        </>
      )}
    </Loaded>
  )
}

function Line({ of }: { of: Document }): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const said = useMemo(() => saysOf(of), [of])
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <time dateTime={of.recorded_at}>{momentOf(of.recorded_at)}</time>
          <b>{readable(of.event_type)}</b>
          <span class="dim">{said}</span>
        </summary>
        {isOpen && <Whole of={of} />}
      </details>
    </li>
  )
}

/** Members of a payload that say most, in this order. */
const TELLING = ['reason', 'summary', 'message', 'text', 'decision', 'outcome', 'state', 'status', 'objective', 'name']

const LINE_LENGTH_MAX = 160

/** One line about the event. */
function saysOf({ payload, project, by }: Document): string {
  const said = TELLING.map((name) => payload[name]).filter((value) => typeof value === 'string')
  const parts = [project, by?.name, ...said.slice(0, 2)].filter((text) => text !== undefined && text !== '')
  return beginningOf(printed(parts.join(' · ').slice(0, 4 * LINE_LENGTH_MAX)), LINE_LENGTH_MAX)
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
      <Scroller class="printed" label="The whole event">
        <Linked text={JSON.stringify(of, undefined, 2)} />
      </Scroller>
    </>
  )
}
