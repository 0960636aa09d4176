/** The runner to which the body of a create pins the work. */
import { isRemovedRunner, removedForGood } from '../../runtime/entities/removed-runners.ts'
import { refuseBody } from '../replies.ts'
import type { ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

/** Returns false if the runner was removed for good, so that the work would wait forever; the problem was answered. */
export function mayBePinned(
  { runtime }: ServiceContext,
  exchange: Exchange,
  pin: string | undefined = exchange.body.runner_id,
  pointer = '/runner_id',
): boolean {
  if (pin === undefined || !isRemovedRunner(runtime, pin, exchange.principal.projects)) return true
  return refuseBody(exchange, pointer, removedForGood(pin))
}
