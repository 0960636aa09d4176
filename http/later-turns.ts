/**
 * What takes more than this turn. What one actor's step makes of another comes by message, a turn or two later. An answer that names the other one waits
 * for it, so that whoever is told of a thing can read it (http/arrivals.ts: where it was told of otherwise).
 */
import type { Nature } from '../runtime/api.ts'
import { listRowsPerTurnMax } from '../runtime/limits.ts'
import { turn } from '../storage/nature.ts'
import type { Exchange } from './exchange.ts'
import type { ServiceContext } from './route.ts'

/** Turns waited for a message that is on disk already: it is delivered in the next one, unless storage is behind. */
const TURNS_WAITED_MAX = 200

/** Calls back with what `find` finds, now or in a later turn; undefined when it did not come. */
export function inLaterTurns<T>(
  service: ServiceContext,
  exchange: Exchange,
  find: () => T | undefined,
  then: (found: T | undefined) => void,
  turnsLeft: number = TURNS_WAITED_MAX,
): void {
  if (service.hasFailed()) {
    exchange.problem('storage_failed', 'The log failed; the service is ending. What was asked for may have been taken.')
    return
  }
  const found = find()
  if (found !== undefined || turnsLeft === 0) {
    then(found)
    return
  }
  service.runtime.nature.nextTurn(exchange.later(() => inLaterTurns(service, exchange, find, then, turnsLeft - 1)))
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
