/**
 * Work that spans several turns of the event loop. When one actor's step creates another actor, the message arrives a
 * turn or two later. An answer that names the new entity waits for it here, so that the client can read it at once
 * (elsewhere http/resources/pending-entities.ts waits instead).
 */
import type { Platform } from '../runtime/api.ts'
import { listRowsPerTurnMax } from '../runtime/limits.ts'
import { turn } from '../storage/platform.ts'
import type { ServiceContext } from './route.ts'
import type { Exchange } from './wire/exchange.ts'

/**
 * A message already on disk is delivered in the next turn, unless storage is behind. After this many turns the
 * condition is polled on a timer instead.
 */
const TURNS_POLLED = 4
export const POLL_MS = 2
/** The longest that a request waits for what it depends on, milliseconds. */
const WAIT_MS = 250

/**
 * Calls back as soon as `isSo` holds, or after {@link WAIT_MS} if it never does; not at all once the client has
 * gone.
 */
export function pollUntil(platform: Platform, exchange: Exchange, isSo: () => boolean, then: () => void): void {
  if (isSo()) {
    then()
    return
  }
  const untilMs = platform.monotonicMs() + WAIT_MS
  let turnsLeft = TURNS_POLLED
  const lookLater = (): void => {
    const look = exchange.later(() => {
      if (isSo() || platform.monotonicMs() >= untilMs) then()
      else lookLater()
    })
    if (turnsLeft > 0) platform.nextTurn(look)
    else platform.setTimer(look, POLL_MS)
    turnsLeft -= 1
  }
  lookLater()
}

/** Calls back with what `find` returns, now or in a later turn; with undefined if it found nothing in time. */
export function findInLaterTurns<T>(
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
  pollUntil(service.runtime.platform, exchange, isOver, () => {
    if (!service.hasFailed()) then(found)
    else
      exchange.problem(
        'storage_failed',
        'The log failed; the service is shutting down. The request may have taken effect.',
      )
  })
}

/** Maps all items with `read`, giving way to other work between batches of rows. */
export async function mapInTurns<T, U>(platform: Platform, all: readonly T[], read: (one: T) => U): Promise<U[]> {
  const found: U[] = []
  for (const one of all) {
    if (found.length > 0 && found.length % listRowsPerTurnMax === 0) await turn(platform)
    found.push(read(one))
  }
  return found
}
