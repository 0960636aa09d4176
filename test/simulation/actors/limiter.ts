/** Limits how many runs with a label may be under way: sets limits, lowers, raises and ends them, some to nothing. */
import { LABELS } from '../set-up.ts'
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function limiters(world: World): readonly Actor[] {
  return world.plan.isLimiting ? [new Limiter(world, 'limiter', world.adminToken)] : []
}

class Limiter extends Client {
  async live(): Promise<void> {
    while (this.world.isStormy) {
      await this.changes(this.random.pick(LABELS))
      await this.pass(300, 12_000)
    }
    await this.frees()
  }

  private async changes(label: string): Promise<void> {
    const max_running = this.random.pick([0, 1, 1, 2])
    if (this.random.chance(0.2)) await this.call('POST', '/api/pacing/unlimit', { body: { label } })
    else await this.call('POST', '/api/pacing/limit', { body: { label, max_running } })
  }

  /** In the calm no label is limited. What was asked for in the storm may still come through. */
  private async frees(): Promise<void> {
    for (;;) {
      for (const label of [...this.world.labels.limits.keys()])
        await this.insist('POST', '/api/pacing/unlimit', { body: { label } })
      await this.pass(1_000, 3_000)
    }
  }
}
