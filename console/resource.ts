/** Hooks: a document of the API that stays current, the address of the page, and the time. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Refused } from './api.ts'
import type { Document, Problem, Query } from './document.ts'
import { type Place, placeOf } from './place.ts'
import { Refresher } from './refresher.ts'
import { useSession } from './session.ts'

export interface Resource {
  /** Absent until the first answer. It stays while a later read fails. */
  readonly value?: Document
  /** Why the last read failed. */
  readonly problem?: Problem
  /** Reads it again at once. */
  readonly reload: () => Promise<void>
}

interface Options {
  readonly query?: Query
  /** Whether the event may have changed it. Default: every event. */
  readonly isChangedBy?: (event: Document) => boolean
  /** Also reads it at this interval: for what changes without an event. */
  readonly everyMs?: number
}

interface State {
  /** What was read, so that an answer is never shown for another address. */
  readonly of?: string
  readonly value?: Document
  readonly problem?: Problem
}

/** Reads a document, again whenever an event may have changed it. No path: reads nothing. */
export function useResource(path: string | undefined, { query = {}, isChangedBy, everyMs }: Options = {}): Resource {
  const { api, live } = useSession()
  const [state, setState] = useState<State>({})
  const of = path === undefined ? undefined : `${path}?${JSON.stringify(query)}`
  const concerns = useRef(isChangedBy)
  concerns.current = isChangedBy
  const refresher = useRef<Refresher | undefined>(undefined)

  useEffect(() => {
    if (path === undefined || of === undefined) return
    let isCurrent = true
    const made = new Refresher(async () => {
      try {
        const value = await api.get(path, query)
        if (isCurrent) setState({ of, value })
      } catch (error) {
        const problem = problemOf(error)
        if (isCurrent) setState((last) => (last.of === of ? { ...last, problem } : { of, problem }))
      }
    })
    refresher.current = made
    const endListening = live.listen({
      begin: () => made.ask(),
      events: (events) => {
        if (events.some((event) => concerns.current?.(event) ?? true)) made.ask()
      },
    })
    const timer = everyMs === undefined ? undefined : setInterval(() => made.ask(), everyMs)
    void made.now()
    return () => {
      isCurrent = false
      made.close()
      endListening()
      clearInterval(timer)
    }
    // `of` stands for the query, which is a new object at each call.
  }, [api, live, path, of, everyMs])

  const reload = useCallback(async () => await refresher.current?.now(), [])
  if (state.of !== of) return { reload }
  const { value, problem } = state
  return { reload, ...(value === undefined ? {} : { value }), ...(problem === undefined ? {} : { problem }) }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Refused) return error.problem
  return { title: 'The console failed', detail: String(error), status: 0 }
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setHash(location.hash)
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return placeOf(hash)
}

const TICK_MS = 5_000

/** The time in milliseconds; parts that call this are drawn again every few seconds. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}
