/** In the calm, with runners that can take everything, every run request settles. */
import { SETTLED } from '../model/requests.ts'
import type { MakeInvariant } from './invariant.ts'

export const everythingSettles: MakeInvariant = (world) => ({
  name: 'everything settles',
  owed() {
    for (const request of world.requests.byId.values()) {
      if (SETTLED.has(request.state)) continue
      return `${request.id} is ${request.state} at attempt ${request.attempt}, held by ${request.runner}`
    }
    return undefined
  },
})
