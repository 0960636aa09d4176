/** A runner comes online when it was not, and goes offline when it was there. */
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'presence alternates'

export const presenceAlternates: MakeInvariant = (world) => ({
  name: NAME,
  before({ type, payload, text }) {
    if (type !== 'runner_online' && type !== 'runner_offline') return
    const runner = world.fleet.byId.get(payload.runner_id)
    if (runner?.online === (type === 'runner_online')) throw new Violation(NAME, text)
  },
})
