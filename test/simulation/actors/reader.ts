/** Only reads: lists, single entities, traces, pages of the log. Every answer must be true. */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function readers(world: World): readonly Actor[] {
  return [new Reader(world, 'reader', world.adminToken)]
}

const STATES = ['queued', 'offered', 'accepted', 'started', 'cancelling', 'lost', 'completed', 'failed', 'cancelled']

class Reader extends Client {
  async live(): Promise<void> {
    for (;;) {
      await this.pass(200, this.world.isStormy ? 12_000 : 60_000)
      await this.reads()
    }
  }

  private async reads(): Promise<void> {
    const { random, world } = this
    const { requests } = world.gossip
    const what = random.weighted({ one: 4, byState: 4, byProject: 2, byRunner: 2, events: 1, attention: 1 })
    if (what === 'one' && requests.length > 0) {
      await this.call('GET', '/api/run-requests/:id', { params: [random.pick(requests)] })
    } else if (what === 'byState') {
      await this.call('GET', '/api/run-requests', { query: `state=${random.pick(STATES)}&limit=500` })
    } else if (what === 'byProject') {
      await this.call('GET', '/api/projects/:id/run-requests', {
        params: [random.pick(world.made.projects).key],
        query: 'limit=500',
      })
    } else if (what === 'byRunner') {
      await this.call('GET', '/api/run-requests', { query: `runner=${random.pick(world.made.runners).id}&limit=500` })
    } else if (what === 'events') {
      await this.call('GET', '/api/events', { query: 'limit=50' })
    } else if (what === 'attention') {
      await this.call('GET', '/api/attention')
    }
  }
}
