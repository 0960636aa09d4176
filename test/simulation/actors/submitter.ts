/**
 * Fills the ledger: submits items that depend on each other, holds, releases, cancels and closes them, pauses lanes.
 */
import { ITEM_ENDS } from '../model/items.ts'
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function submitters(world: World): readonly Actor[] {
  const { items, sentinels } = world.plan
  return items === 0 && sentinels === 0 ? [] : [new Submitter(world, 'submitter', world.adminToken)]
}

const LANES = ['interactive', 'campaign', 'maintenance'] as const

class Submitter extends Client {
  private readonly items: string[] = []
  private submitted = 0

  async live(): Promise<void> {
    this.operates().catch((error: unknown) => this.world.timeline.fail(error))
    const { items, stormMs } = this.world.plan
    for (let i = 0; i < items && this.world.isStormy; i++) {
      await this.world.timeline.pass(this.random.between(1, (1.4 * stormMs) / items))
      this.submits().catch((error: unknown) => this.world.timeline.fail(error))
    }
  }

  private async submits(): Promise<void> {
    const { random, world } = this
    const n = random.chance(0.15) ? this.submitted : ++this.submitted
    const nowMs = world.clock.offsetMs + world.timeline.nowMs
    const some = (share: number, members: () => object): object => (random.chance(share) ? members() : {})
    const body = {
      project: random.pick(world.made.projects).key,
      objective: `do ${n}`,
      kind: random.pick(['task', 'task', 'maintenance', 'major_upgrade']),
      ...some(0.4, () => ({ lane: random.pick(LANES) })),
      ...some(0.3, () => (this.items.length === 0 ? {} : { depends_on: [random.pick(this.items)] })),
      ...some(0.2, () => ({ not_before: new Date(nowMs + random.int(500, 20_000)).toISOString() })),
      ...some(0.15, () => ({ timeout_seconds: random.int(1, 30) })),
      ...some(world.plan.isLimiting ? 0.7 : 0.15, () => ({ labels: ['linux'] })),
    }
    const headers = random.chance(0.5) ? { headers: { 'idempotency-key': `item-${n}` } } : {}
    const heard = await this.insist('POST', '/api/work-items', { body, ...headers })
    if (heard.status === 200 || heard.status === 201) this.items.push(heard.body.id)
  }

  private async operates(): Promise<void> {
    for (;;) {
      await this.pass(300, this.world.isStormy ? 15_000 : 2_000)
      if (this.world.isStormy) await this.meddles()
      else await this.bringsToAnEnd()
    }
  }

  private async meddles(): Promise<void> {
    const { random } = this
    const move = random.weighted({
      hold: 2,
      release: 3,
      cancel: 1.5,
      close: 1,
      resume: 1,
      pause: 1.5,
      unpause: 2,
      read: 1,
    })
    if (move === 'read') await this.call('GET', '/api/pacing')
    else if (move === 'pause') await this.call('POST', '/api/pacing/pause', { body: { lanes: [random.pick(LANES)] } })
    else if (move === 'unpause') await this.call('POST', '/api/pacing/resume', { body: {} })
    else if (this.items.length > 0) await this.operate(random.pick(this.items), move)
  }

  private async operate(id: string, move: 'hold' | 'release' | 'cancel' | 'close' | 'resume'): Promise<void> {
    const body = move === 'close' || move === 'cancel' ? { reason: 'no more' } : {}
    await this.call('POST', `/api/work-items/:id/${move}`, { params: [id], body })
  }

  /** Does what waits for a person: opens lanes, releases held items, gives up those that cannot land. */
  private async bringsToAnEnd(): Promise<void> {
    const { items } = this.world
    if (items.pausedLanes.size > 0) await this.call('POST', '/api/pacing/resume', { body: {} })
    for (const item of items.byId.values()) {
      if (item.state === 'held') await this.operate(item.id, 'release')
      const isBlocked = item.dependsOn.some((id) => {
        const state = items.byId.get(id)?.state
        return state === undefined || (state !== 'landed' && ITEM_ENDS.has(state))
      })
      if (item.state === 'queued' && isBlocked) await this.operate(item.id, 'cancel')
    }
  }
}
