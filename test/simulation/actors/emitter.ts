/** Another system: emits events of projects, some of them commands, each until it is answered. */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'
import { sessionEvent } from './agent-sessions.ts'

export function emitters(world: World): readonly Actor[] {
  return [new Emitter(world, 'emitter', world.adminToken)]
}

class Emitter extends Client {
  private stated = 0

  async live(): Promise<void> {
    while (this.world.isStormy) {
      await this.pass(200, 30_000)
      if (this.world.isStormy) await this.states()
    }
  }

  private async states(): Promise<void> {
    const { random, world } = this
    const { key } = random.pick(world.made.projects)
    const occurred_at = new Date(world.clock.offsetMs + world.timeline.nowMs).toISOString()
    const events = Array.from({ length: random.int(1, 4) }, () => {
      const n = ++this.stated
      if (random.chance(0.15)) return { ...sessionEvent(random, `here-${n % 4}-${key}`, occurred_at), project: key }
      const isCommand = random.chance(0.25)
      const what = isCommand
        ? { event_type: 'greet_requested', payload: { name: `emitted ${n}` } }
        : { event_type: 'greeting_composed', payload: { greeting: `hello ${n}` } }
      return {
        ...what,
        project: key,
        occurred_at,
        ...(isCommand && random.chance(0.5) ? { trace_id: random.hex(32) } : {}),
      }
    })
    // The same fact twice in one post is one event.
    if (random.chance(0.1)) events.push(events[0]!)
    const rest = { body: { events } }
    const heard = await this.insist('POST', '/api/events', rest)
    if (heard.status === 200) this.world.gossip.requests.push(...heard.body.run_requests)
    if (random.chance(0.2)) await this.insist('POST', '/api/events', rest)
  }
}
