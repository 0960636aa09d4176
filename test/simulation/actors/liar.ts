/**
 * Posts untruths with a runner's token: for attempts that are over, for other runners' work, other results for what was
 * completed, heartbeats out of the past. Whatever is accepted of it must have been true after all.
 */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'
import type { Work } from './runner.ts'

export function liars(world: World): readonly Actor[] {
  return [new Liar(world, 'liar', world.adminToken)]
}

class Liar extends Client {
  async live(): Promise<void> {
    while (this.world.isStormy) {
      await this.pass(300, 20_000)
      const { works } = this.world.gossip
      if (works.length > 0 && this.world.isStormy) await this.lies(this.random.pick(works))
    }
  }

  private async lies(work: Work): Promise<void> {
    const { random, world } = this
    const isHolder = random.chance(0.5)
    const stranger = isHolder ? undefined : random.pick(world.made.runners).id
    const teller = isHolder ? work.runner : (this.holderBeside(work) ?? stranger)
    const attempt = random.pick([work.attempt, work.attempt, work.attempt - 1, work.attempt + 1, undefined])
    const post = random.weighted({
      accepted: 1,
      started: 2,
      heartbeat: 2,
      completed: 3,
      failed: 1,
      release: 1,
      events: 2,
    })
    const bodies = {
      accepted: {},
      started: random.chance(0.5) ? {} : { engine_run_id: 'run_liar' },
      heartbeat: {},
      completed: { result: { status: 'completed', note: `a lie ${random.int(1, 3)}` } },
      failed: { class: 'execution', message: 'a lie' },
      release: {},
      events: {
        events: [
          {
            event_type: 'run_output',
            occurred_at: '2026-01-01T00:00:00Z',
            payload: { stream: 'stdout', text: 'a lie' },
          },
        ],
      },
    }
    const body = { ...(attempt === undefined || attempt < 1 ? {} : { attempt }), ...bodies[post] }
    this.token = world.made.runners.find(({ id }) => id === teller)!.token
    await this.call('POST', `/api/run-requests/:id/${post}`, { params: [work.id], body })
  }

  /** Another runner that held another attempt of the same request: it knows most of it, and has no say in this one. */
  private holderBeside({ id, runner }: Work): string | undefined {
    return this.world.gossip.works.findLast((other) => other.id === id && other.runner !== runner)?.runner
  }
}
