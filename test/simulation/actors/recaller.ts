/**
 * Takes an item back the moment a runner has accepted it, and releases it while that runner may still be working on it:
 * it meddles with items that are handed out and not begun.
 */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function recallers(world: World): readonly Actor[] {
  const { items, campaigns } = world.plan
  return items + campaigns === 0 ? [] : [new Recaller(world, 'recaller', world.adminToken)]
}

const SHARE = 0.25

class Recaller extends Client {
  async live(): Promise<void> {
    this.world.gossip.onItemAccepted = (item) => {
      if (this.world.isStormy && this.random.chance(SHARE)) this.recalls(item).catch(this.failed)
    }
  }

  private readonly failed = (error: unknown): void => this.world.timeline.fail(error)

  private async recalls(item: string): Promise<void> {
    const params = [item]
    const { status } = await this.call('POST', '/api/work-items/:id/hold', { params, body: {} })
    if (status !== 200) return
    await this.pass(1, 5_000)
    await this.insist('POST', '/api/work-items/:id/release', { params, body: {} }, 3)
  }
}
