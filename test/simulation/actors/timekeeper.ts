/** Keeps sentinels: adds, changes, pauses, resumes, fires and removes them, and in the calm lets them end. */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function timekeepers(world: World): readonly Actor[] {
  return world.plan.sentinels === 0 ? [] : [new Timekeeper(world, 'timekeeper', world.adminToken)]
}

/** Longer than until any pattern falls due. */
const DUE_MS = 61_000
/** Longer than until the service has seen that the clock was set right. */
const AFTER_FAR_MS = 130_000

class Timekeeper extends Client {
  async live(): Promise<void> {
    while (this.world.isStormy) {
      await this.meddles()
      await this.pass(100, 6_000)
    }
    for (const name of this.names()) await this.insist('POST', '/api/sentinels/:name/resume', { params: [name] })
    if (this.world.fate.wasFarAhead) await this.pass(AFTER_FAR_MS)
    else if (this.random.chance(0.3)) await this.pass(DUE_MS)
    for (const name of this.names()) await this.insist('POST', '/api/sentinels/:name/remove', { params: [name] })
  }

  private names(): readonly string[] {
    return [...this.world.sentinels.byName.values()].filter(({ state }) => state !== 'removed').map(({ name }) => name)
  }

  private async meddles(): Promise<void> {
    const { random, world } = this
    const name = `s${random.int(1, world.plan.sentinels)}`
    if (!this.names().includes(name)) return await this.adds(name)
    const move = random.weighted({ patch: 3, pause: 2, resume: 3, fire: 3, remove: 0.7, read: 1 })
    const params = [name]
    if (move === 'patch') {
      const body = random.pick([{ cron: this.cron() }, { item: this.item() }, { time_zone: 'Europe/Berlin' }])
      await this.call('PATCH', '/api/sentinels/:name', { params, body })
    } else if (move === 'read') await this.call('GET', '/api/sentinels', { query: 'state=active' })
    else await this.call('POST', `/api/sentinels/:name/${move}`, { params })
  }

  private async adds(name: string): Promise<void> {
    const project = this.random.pick(this.world.made.projects).key
    const body = { name, project, cron: this.cron(), item: this.item() }
    const headers = this.random.chance(0.5) ? { headers: { 'idempotency-key': `sentinel-${name}` } } : {}
    await this.call('POST', '/api/sentinels', { body, ...headers })
  }

  private cron(): string {
    return `*/${this.random.pick([1, 1, 1, 2, 5])} * * * *`
  }

  /** So few that two sentinels often ask for the same. */
  private item(): object {
    return { objective: `tidy ${this.random.int(1, 3)}`, kind: this.random.pick(['task', 'maintenance']) }
  }
}
