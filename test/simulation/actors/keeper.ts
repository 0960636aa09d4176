/** Keeps the fleet: drains runners and takes them back, changes what they may take, rotates their tokens. */
import { LABELS } from '../set-up.ts'
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function keepers(world: World): readonly Actor[] {
  return [new Keeper(world, 'keeper', world.adminToken)]
}

class Keeper extends Client {
  async live(): Promise<void> {
    while (this.world.isStormy) {
      await this.pass(500, 60_000)
      if (this.world.isStormy) await this.meddles()
    }
    await this.putsInOrder()
  }

  private async meddles(): Promise<void> {
    const { random, world } = this
    const runner = random.pick(world.made.runners)
    const isFirst = runner === world.made.runners[0]
    const params = [runner.id]
    const what = random.weighted({ drain: 3, resume: 3, capacity: 3, labels: 1, read: 2 })
    if (what === 'read') await this.call('GET', '/api/runners/:runner_id', { params })
    else {
      const changes = {
        drain: { draining: true },
        resume: { draining: false },
        capacity: { capacity: random.int(1, 3) },
        labels: { labels: isFirst ? [...LABELS] : LABELS.filter(() => random.chance(0.5)) },
      }
      await this.call('PATCH', '/api/runners/:runner_id', { params, body: changes[what] })
    }
  }

  /** In the calm every runner may take everything. What was asked for in the storm may still come through. */
  private async putsInOrder(): Promise<void> {
    const { made } = this.world
    for (const { id } of made.runners) await this.opens(id)
    for (;;) {
      await this.pass(2_000, 5_000)
      for (const { id } of made.runners) if (!this.isOpen(id)) await this.opens(id)
    }
  }

  private async opens(id: string): Promise<void> {
    const body = { draining: false, allowed_projects: ['*'], labels: [...LABELS], trusted: true }
    await this.insist('PATCH', '/api/runners/:runner_id', { params: [id], body }, 100)
  }

  private isOpen(id: string): boolean {
    const { state, labels, projects, trusted } = this.world.fleet.byId.get(id)!
    return state === 'registered' && trusted && projects.includes('*') && labels.length === LABELS.length
  }
}
