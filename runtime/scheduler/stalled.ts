/**
 * What is handed out, and what no runner can begin as things stand: its lane or its campaign is paused, its project archived, or
 * nobody that is there may take it. It would keep a place, and its repository, from others; and its repository, too, what waits for a
 * runner that is not offline yet and has fallen silent. That two items of one repository are handed out then is no harm: the
 * dispatcher offers one of them at a time.
 */
import type { MessageBody } from '../api.ts'
import type { Entry, Ledger } from './ledger.ts'
import { type Circumstances, lastingReason, takesBackFrom, whyNotBegun, whyTakenBack } from './rules.ts'

export interface StalledParts {
  readonly ledger: Ledger
  readonly now: Circumstances
  /** State of a run request; undefined: there is none. */
  runState(id: string): string | undefined
  /** Runs it unless the item is left alone for now. */
  each(entry: Entry, act: () => void): void
  send(entry: Entry, message: MessageBody): void
  changed(): void
}

/** What nobody has begun goes back to the queue, and waits with the others. */
export function takeBack(parts: StalledParts): void {
  const { ledger, now, send } = parts
  for (const entry of ledger.handedOut)
    parts.each(entry, () => {
      const rule = whyTakenBack(entry, now)
      if (rule === undefined || !takesBackFrom(rule, parts.runState(entry.runId!))) return
      send(entry, { type: 'take_back', reason: lastingReason(rule, entry, now) } as MessageBody)
    })
}

/**
 * What had begun, and waits for a runner again, stays with its run: it stands aside until somebody can go on with it. Its repository
 * it leaves to others sooner, and so does what nobody has begun: while nobody who may take it is heard.
 */
export function standAside(parts: StalledParts): void {
  const { ledger, now } = parts
  for (const entry of ledger.withoutRunner)
    parts.each(entry, () => {
      const isStalled = whyNotBegun(entry, now) !== undefined
      const yields = (isStalled || !now.isExpected(entry)) && parts.runState(entry.runId!) === 'queued'
      const isAside = isStalled && yields && entry.isWaitingAgain
      if (isAside === entry.isAside && yields === entry.yields) return
      entry.isAside = isAside
      entry.yields = yields
      parts.changed()
    })
}
