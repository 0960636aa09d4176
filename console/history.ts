/**
 * Recorded events as they come: the newest ones, those that the stream tells, and older ones when somebody asks.
 * Invariant: newest first, each once, and none is missing between the first and the last. For that the newest ones are
 * read as of the cursor of their stream, which tells what the filter admits and nothing else.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Document, Problem, Query } from './document.ts'
import { type Filter, type Shown, withNewer } from './recorded.ts'
import { Refresher } from './refresher.ts'
import { gapMs, mayPass, problemOf } from './resource.ts'
import { useSession } from './session.ts'

/** What the stream tells is shown in portions: hundreds of events a second would be too much to draw one by one. */
const PORTION_MS = 250

export interface Recorded extends Partial<Shown> {
  readonly problem?: Problem
  /** Reads more, if `next` is there. */
  readonly older: () => Promise<void>
}

interface Sizes {
  /** Events read at once. */
  readonly page: number
  /** Events kept at least; older ones that somebody has asked for come on top. */
  readonly kept: number
}

/** `filter` and `sizes` must stay the same as long as the part is shown: give it a key. */
export function useRecorded(filter: Filter, { page, kept }: Sizes): Recorded {
  const { api, streamOf } = useSession()
  const [shown, setShown] = useState<Shown | undefined>(undefined)
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const isAsking = useRef(false)
  const query: Query = { ...filter, order: 'desc', limit: page }

  useEffect(() => {
    let isCurrent = true
    const live = streamOf(filter)
    /** What the stream has told and is not shown yet, newest first. */
    let told: readonly Document[] = []
    let isRead = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = (): void => {
      timer = undefined
      const newer = told
      told = []
      setShown((last) => last && withNewer(last, newer))
    }
    const made = new Refresher(async () => {
      isRead = false
      told = []
      const { cursor } = live
      try {
        const { items, next_cursor: next } = await api.get('api/events', { ...query, cursor })
        if (!isCurrent) return true
        // Without a cursor nobody knows which of those that were told are in it; it is read again when there is one.
        isRead = cursor !== undefined
        setShown(withNewer({ events: items, next, room: kept }, isRead ? told : []))
        setProblem(undefined)
        told = []
        return true
      } catch (error) {
        if (isCurrent) setProblem(problemOf(error))
        return !mayPass(problemOf(error))
      }
    }, gapMs)
    const end = made.follow(live, (events) => {
      told = [...events.toReversed(), ...told].slice(0, kept + 1)
      if (isRead) timer ??= setTimeout(show, PORTION_MS)
    })
    return () => {
      isCurrent = false
      end()
      live.close()
      clearTimeout(timer)
    }
  }, [api])

  async function older(): Promise<void> {
    const from = shown?.next
    if (from === undefined || isAsking.current) return
    isAsking.current = true
    try {
      const { items, next_cursor: next } = await api.get('api/events', { ...query, cursor: from })
      setProblem(undefined)
      // Meanwhile these may have been read anew, or cut.
      setShown((last) => {
        if (last?.next !== from) return last
        const events = [...last.events, ...items]
        return { events, next, room: Math.max(kept, events.length) }
      })
    } catch (error) {
      setProblem(problemOf(error))
    } finally {
      isAsking.current = false
    }
  }

  return { ...shown, ...(problem === undefined ? {} : { problem }), older }
}
