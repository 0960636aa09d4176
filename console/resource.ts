/** Hooks: a document of the API that stays current, the address of the page, and the time. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { Refused } from './api.ts'
import type { Document, Problem, Query } from './document.ts'
import { type Place, placeOf } from './place.ts'
import { Refresher } from './refresher.ts'
import { useSession } from './session.ts'

export interface Resource {
  /** Absent until the first answer. It stays while the service cannot answer, and goes when it refuses. */
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
  /** What was read, so that an answer is never shown for another address. A longer page of a list is the same thing. */
  readonly of?: string
  readonly value?: Document
  readonly problem?: Problem
}

/** How often that is read which changes without an event, such as who is online. */
export const EVERY_MS = 10_000
/** For what a person looks at, and for what is in a tab behind others. */
const GAP_MS = 1_000
const HIDDEN_GAP_MS = 60_000
const TOO_MANY_REQUESTS = 429

/** Whether the same request may work later. */
export function mayPass({ status }: Problem): boolean {
  return status === 0 || status === TOO_MANY_REQUESTS || status >= 500
}

/** Reads a document, again whenever an event may have changed it. No path: reads nothing. */
export function useResource(path: string | undefined, { query = {}, isChangedBy, everyMs }: Options = {}): Resource {
  const { api, live } = useSession()
  const [state, setState] = useState<State>({})
  const address = path === undefined ? undefined : `${path}?${JSON.stringify(query)}`
  const of = `${path}?${JSON.stringify({ ...query, limit: undefined })}`
  const concerns = useRef(isChangedBy)
  concerns.current = isChangedBy
  const refresher = useRef<Refresher | undefined>(undefined)

  useEffect(() => {
    if (path === undefined) return
    let isCurrent = true
    const made = new Refresher(async () => {
      try {
        const value = await api.get(path, query)
        if (isCurrent) setState({ of, value })
        return true
      } catch (error) {
        const problem = problemOf(error)
        const isPassing = mayPass(problem)
        if (isCurrent) setState((last) => (last.of === of && isPassing ? { ...last, problem } : { of, problem }))
        return !isPassing
      }
    }, gapMs)
    refresher.current = made
    const endFollowing = made.follow(live, (events) => {
      if (events.some((event) => concerns.current?.(event) ?? true)) made.ask()
    })
    const endWatching = live.onConnection((connection) => {
      // Whether the token still holds.
      if (connection === 'refused') made.ask()
    })
    const seen = (): void => {
      if (!document.hidden) made.hurry()
    }
    document.addEventListener('visibilitychange', seen)
    const timer = everyMs === undefined ? undefined : setInterval(() => made.ask(), everyMs)
    return () => {
      isCurrent = false
      endFollowing()
      endWatching()
      document.removeEventListener('visibilitychange', seen)
      clearInterval(timer)
    }
    // `address` stands for the query, which is a new object at each call.
  }, [api, live, address, everyMs])

  const reload = useCallback(async () => await refresher.current?.now(), [])
  if (state.of !== of) return { reload }
  const { value, problem } = state
  return { reload, ...(value === undefined ? {} : { value }), ...(problem === undefined ? {} : { problem }) }
}

/** The shortest time between two reads of the same thing, at the moment. */
export function gapMs(): number {
  return document.hidden ? HIDDEN_GAP_MS : GAP_MS
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

/** The service's time in milliseconds; parts that call this are drawn again every few seconds. */
export function useNow(): number {
  const { api } = useSession()
  const [now, setNow] = useState(api.nowMs())
  useEffect(() => {
    const timer = setInterval(() => setNow(api.nowMs()), TICK_MS)
    return () => clearInterval(timer)
  }, [api])
  return now
}
