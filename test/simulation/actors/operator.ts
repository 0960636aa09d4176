/**
 * Asks for work and looks after it: makes run requests of every kind, repeats them, approves, cancels, requeues, gives
 * up.
 */

import { LABELS } from '../set-up.ts'
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function operators(world: World): readonly Actor[] {
  return Array.from(
    { length: world.plan.operators },
    (_, i) => new Operator(world, `operator-${i + 1}`, world.adminToken),
  )
}

/** The storm would not see the end of keys that are kept longer. */
const NAGGED_MS_MAX = 30_000

interface Asked {
  readonly params: readonly string[]
  readonly body: Record<string, unknown>
  readonly headers?: Record<string, string>
}

class Operator extends Client {
  private asked = 0
  private readonly sent: Asked[] = []

  async live(): Promise<void> {
    for (const habit of [this.manages(), this.nags()]) habit.catch((error: unknown) => this.world.timeline.fail(error))
    const { requests, stormMs } = this.world.plan
    for (let i = 0; i < requests && this.world.isStormy; i++) {
      await this.world.timeline.pass(this.random.between(1, (1.6 * stormMs) / requests))
      const again = this.sent.length > 0 && this.random.chance(0.2)
      const asked = again ? this.random.pick(this.sent) : this.request()
      this.asks(asked).catch((error: unknown) => this.world.timeline.fail(error))
    }
  }

  private async asks(asked: Asked): Promise<void> {
    this.sent.push(asked)
    const heard = await this.insist('POST', '/api/projects/:id/run-requests', asked)
    if (heard.status === 200 || heard.status === 201) this.world.gossip.requests.push(heard.body.id)
  }

  private request(): Asked {
    const { random, world } = this
    const project = random.pick(world.made.projects)
    const nowMs = world.clock.offsetMs + world.timeline.nowMs
    const at = (ms: number): string => new Date(nowMs + ms).toISOString()
    const full = random.chance(0.4)
    const earliestMs = random.chance(0.15) ? random.int(500, 40_000) : 0
    const some = (share: number, members: () => object): object => (random.chance(share) ? members() : {})
    const body = {
      entry_event: 'greet_requested',
      payload: { name: `${this.name} ${this.asked++}` },
      throttle: full ? 'full' : 'dry_run',
      access: random.pick(['full', 'read_only']),
      ...some(world.plan.isLimiting ? 0.7 : 0.2, () => ({ labels: [random.pick(LABELS)] })),
      ...some(0.1, () => ({ runner_id: random.pick(world.made.runners).id })),
      ...some(0.3, () => ({ priority: random.int(-5, 10) })),
      ...(earliestMs === 0 ? {} : { not_before: at(earliestMs) }),
      ...some(0.15, () => ({ expires_at: at(earliestMs + random.int(1_000, 50_000)) })),
      ...some(0.2, () => ({ timeout_seconds: random.int(1, 30) })),
      ...some(0.2, () => ({
        retry: { max_attempts: random.int(2, 4), on: ['execution', 'dispatch'], backoff_seconds: random.int(0, 20) },
      })),
      ...some(0.15, () => ({ repo: { path: `repo-${random.int(1, 2)}` } })),
      ...some(0.05, () => ({ again: true })),
    }
    const params = [random.chance(0.5) ? project.key : project.id]
    const key = random.chance(0.7) ? `key-${random.int(1, 8)}-${this.name}` : undefined
    if (key === undefined) return { params, body }
    if (random.chance(0.5)) return { params, body: { ...body, idempotency_key: key } }
    return { params, body, headers: { 'idempotency-key': key } }
  }

  /** Wants the same work done again and again under one key: each time that the key is free, and in between. */
  private async nags(): Promise<void> {
    const { idempotencyMs } = this.world.settings
    if (idempotencyMs > NAGGED_MS_MAX || !this.random.chance(0.4)) return
    const asked = {
      params: [this.random.pick(this.world.made.projects).key],
      body: { entry_event: 'greet_requested', payload: { name: this.name }, throttle: 'dry_run' },
      headers: { 'idempotency-key': `again and again ${this.name}` },
    }
    for (;;) {
      await this.pass(idempotencyMs * 0.3, idempotencyMs * 2)
      if (!this.world.isStormy) return
      const heard = await this.insist('POST', '/api/projects/:id/run-requests', asked)
      if (heard.status === 201) this.world.gossip.requests.push(heard.body.id)
    }
  }

  /** Looks after what there is: in the calm, until everything is settled. */
  private async manages(): Promise<void> {
    for (;;) {
      await this.pass(100, this.world.isStormy ? 6_000 : 1_500)
      if (this.world.isStormy) await this.meddles()
      else await this.bringsToAnEnd()
    }
  }

  private async meddles(): Promise<void> {
    const { requests } = this.world.gossip
    if (requests.length === 0) return
    const id = this.random.pick(requests)
    const move = this.random.weighted({ approve: 5, cancel: 2, requeue: 2, fail: 1, release: 0.5, read: 2 })
    if (move === 'read') {
      await this.call('GET', '/api/run-requests/:id', { params: [id] })
      return
    }
    const bodies = {
      approve: {},
      requeue: {},
      release: {},
      fail: { message: 'given up', class: 'execution' },
      cancel: { reason: 'not wanted', discard_work: this.random.chance(0.3) },
    }
    await this.call('POST', `/api/run-requests/:id/${move}`, { params: [id], body: bodies[move] })
  }

  /** Does what waits for a person. */
  private async bringsToAnEnd(): Promise<void> {
    for (const request of this.world.requests.byId.values()) {
      const params = [request.id]
      if (request.state === 'queued' && !request.approved) {
        await this.call('POST', '/api/run-requests/:id/approve', { params, body: {} })
      } else if (request.state === 'lost') {
        await this.call('POST', '/api/run-requests/:id/requeue', { params, body: {} })
      }
    }
  }
}
