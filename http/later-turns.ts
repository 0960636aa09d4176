/**
 * What takes more than this turn. What one actor's step makes of another comes by message, a turn or two later. An answer that names the other one waits
 * for it, so that whoever is told of a thing can read it (http/resources/arrivals.ts: where it was told of otherwise).
 */
import type { Nature } from '../runtime/api.ts'
import { listRowsPerTurnMax } from '../runtime/limits.ts'
import { LIST_WAIT_MS } from '../storage/journal.ts'
import { turn } from '../storage/nature.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/** A message that is on disk already is delivered in the next turn, unless storage is behind: then turns are many, and time is counted. */
const TURNS_LOOKED_IN = 4
export const LOOK_AGAIN_MS = 2

/** Calls back once it is so, now or later, or when it was not for {@link LIST_WAIT_MS}; never, when the client has gone. */
export function lookUntil(nature: Nature, exchange: Exchange, isSo: () => boolean, then: () => void): void {
  if (isSo()) {
    then()
    return
  }
  const untilMs = nature.monotonicMs() + LIST_WAIT_MS
  let turnsLeft = TURNS_LOOKED_IN
  const lookLater = (): void => {
    const look = exchange.later(() => {
      if (isSo() || nature.monotonicMs() >= untilMs) then()
      else lookLater()
    })
    if (turnsLeft > 0) nature.nextTurn(look)
    else nature.setTimer(look, LOOK_AGAIN_MS)
    turnsLeft -= 1
  }
  lookLater()
}

/** Calls back with what `find` finds, now or in a later turn; undefined when it did not come. */
export function inLaterTurns<T>(
  service: ServiceContext,
  exchange: Exchange,
  find: () => T | undefined,
  then: (found: T | undefined) => void,
): void {
  let found: T | undefined
  const isOver = (): boolean => {
    if (service.hasFailed()) return true
    found = find()
    return found !== undefined
  }
  lookUntil(service.runtime.nature, exchange, isOver, () => {
    if (!service.hasFailed()) then(found)
    else
      exchange.problem(
        'storage_failed',
        'The log failed; the service is ending. What was asked for may have been taken.',
      )
  })
}

/** What `read` answers for each, in turns that others share. */
export async function inTurns<T, U>(nature: Nature, all: readonly T[], read: (one: T) => U): Promise<U[]> {
  const found: U[] = []
  for (const one of all) {
    if (found.length > 0 && found.length % listRowsPerTurnMax === 0) await turn(nature)
    found.push(read(one))
  }
  return found
}
