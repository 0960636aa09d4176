/** What a run's command has printed: the last part of it, growing while the run goes on. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Document } from '../document.ts'
import { useRecorded } from '../history.ts'
import { endOf, printed } from '../words.ts'
import { Loaded } from './basics.tsx'
import { Scroller } from './scroller.tsx'

/** Events whose text is shown: each has at most 64 KiB, so that their length alone is no bound. */
const SIZES = { page: 200, kept: 200 }

export function Output({ run }: { run: string }): JSX.Element {
  const { events, next, isCut, problem } = useRecorded({ run_request_id: run, event_type: 'run_output' }, SIZES)
  return (
    <Loaded from={{ value: events, problem }}>
      {(shown) =>
        shown.length === 0 ? (
          <p class="dim">It has printed nothing.</p>
        ) : (
          <Printed of={shown} isCut={isCut === true || next !== undefined} />
        )
      }
    </Loaded>
  )
}

function Printed({ of, isCut }: { of: readonly Document[]; isCut: boolean }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const whole = textOf(of)
  const text = endOf(whole, LENGTH_MAX)
  const shown = useMemo(() => printed(text), [text])
  // Stays at the end unless somebody has scrolled up.
  useEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [text])
  return (
    <>
      {(isCut || text !== whole) && (
        <p class="dim">The last part. All of it: intendant run-request log {of[0]?.run_request_id}</p>
      )}
      <Scroller
        class="printed output"
        label="Output"
        box={box}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8
        }}
      >
        {shown}
      </Scroller>
    </>
  )
}

/** Characters shown at most. All are laid out again with each portion: at 128 Ki that takes a few tens of ms. */
const LENGTH_MAX = 131_072

/** The last pieces of a list that is newest first, in the order in which they were printed. */
function textOf(events: readonly Document[]): string {
  return events
    .map(({ payload }) => String(payload.text))
    .reverse()
    .join('')
}
