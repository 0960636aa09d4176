/** Gives projects weights, and two of them so much to do that they compete for the runners. */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function weighers(world: World): readonly Actor[] {
  return world.plan.isWeighing && world.plan.projects > 1 ? [new Weigher(world, 'weigher', world.adminToken)] : []
}

/** Requests of a project at a time: some rounds of the largest weight. */
const FLOOD = 25

class Weigher extends Client {
  async live(): Promise<void> {
    const { projects } = this.world.made
    const [first, second] = projects as [(typeof projects)[number], (typeof projects)[number]]
    await this.weighs(first.key)
    for (const { key } of [first, second]) this.floods(key).catch((error: unknown) => this.world.timeline.fail(error))
    while (this.world.isStormy) {
      await this.pass(5_000, 40_000)
      if (this.world.isStormy) await this.weighs(this.random.pick(projects).key)
    }
  }

  private async weighs(project: string): Promise<void> {
    const weight = this.random.pick([1, 2, 3, 10])
    await this.call('POST', '/api/pacing/weigh', { body: { project, weight } })
  }

  /** Any runner that may work for the project may take these. */
  private async floods(project: string): Promise<void> {
    for (let n = 0; n < FLOOD && this.world.isStormy; n++) {
      const payload = { name: `${project} ${n}` }
      const body = { entry_event: 'greet_requested', payload, throttle: 'dry_run', access: 'read_only', again: true }
      await this.insist('POST', '/api/projects/:id/run-requests', { params: [project], body })
      if (this.random.chance(0.2)) await this.pass(1, 50)
    }
  }
}
