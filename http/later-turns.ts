/**
 * Work that spans several turns of the event loop. When one actor's step creates another actor, the message arrives a
 * turn or two later. An answer that names the new entity waits for it here, so that the client can read it at once
 * (elsewhere http/resources/arrivals.ts waits instead).
 */
import type { Nature } from '../runtime/api.ts'
import { listRowsPerTurnMax } from '../runtime/limits.ts'
import { LIST_WAIT_MS } from '../storage/journal.ts'
import { turn } from '../storage/nature.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/**
 * A message already on disk is delivered in the next turn, unless storage is behind. After this many turns the
 * condition is polled on a timer instead.
 */
const TURNS_LOOKED_IN = 4
export const LOOK_AGAIN_MS = 2

/**
 * Calls back as soon as `isSo` holds, or after {@link LIST_WAIT_MS} if it never does; not at all once the client has
 * gone.
 */
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

/** Calls back with what `find` returns, now or in a later turn; with undefined if it found nothing in time. */
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
        'The log failed; the service is shutting down. The request may have taken effect.',
      )
  })
}

/** Maps all items with `read`, giving way to other work between batches of rows. */
export async function inTurns<T, U>(nature: Nature, all: readonly T[], read: (one: T) => U): Promise<U[]> {
  const found: U[] = []
  for (const one of all) {
    if (found.length > 0 && found.length % listRowsPerTurnMax === 0) await turn(nature)
    found.push(read(one))
  }
  return found
}
