/**
 * People who state what the projects mean: they write, inspect, decide, change and relate, without waiting for each
 * other.
 */
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function reviewers(world: World): readonly Actor[] {
  return world.plan.reviews === 0 ? [] : ['ann', 'bob'].map((name) => new Reviewer(world, name, world.adminToken))
}

/** So few names that two people often mean the same one. */
const NAMES = ['first', 'second', 'third', 'fourth']

class Reviewer extends Client {
  async live(): Promise<void> {
    for (let i = 0; i < this.world.plan.reviews && this.world.isStormy; i++) {
      await this.pass(200, 10_000)
      if (this.world.isStormy) await this.acts()
    }
  }

  private async acts(): Promise<void> {
    const { random, world } = this
    const project = random.pick(world.made.projects).key
    const name = random.pick(NAMES)
    const act = random.weighted({ inspect: 4, write: 2, move: 3, change: 2, relate: 2, classify: 2, read: 1 })
    if (act === 'inspect') await this.inspects(project, name)
    else if (act === 'write') await this.writes(project, name)
    else if (act === 'read') await this.call('GET', '/api/projects/:id/drift', { params: [project] })
    else await this[`${act}s`](project, `${project}.intent.${name}`)
  }

  /** What two inspections suggest under one name is one hypothesis; the first decision stands. */
  private async inspects(project: string, name: string): Promise<void> {
    const { random } = this
    const hypothesis = { key: name, title: name, confidence: 0.5, based_on: ['o'], possible_intent: {} }
    const observations = [{ ref: 'o', summary: `seen by ${this.name} ${random.int(1, 3)}` }]
    const body = { observations, hypotheses: [hypothesis] }
    const heard = await this.insist('POST', '/projects/:id/discoveries', { params: [project], body })
    if (heard.status !== 200 && heard.status !== 201) return
    const params = [heard.body.hypotheses[0].hypothesis_id]
    if (random.chance(0.2)) await this.insist('POST', '/api/hypotheses/:id/reject', { params, body: { reason: 'no' } })
    else {
      const edited = random.chance(0.5) ? { record: { capability: `as ${this.name} says` } } : {}
      const decided = await this.insist('POST', '/hypotheses/:id/accept', { params, body: edited })
      if (decided.status === 200) this.world.gossip.records.push({ id: decided.body.intent_record.id, project })
    }
  }

  private async writes(project: string, slug: string): Promise<void> {
    const body = { title: slug, slug, evidence: [{ description: 'e' }, { description: 'o', required: false }] }
    const heard = await this.insist('POST', '/projects/:id/intent-records', { params: [project], body })
    if (heard.status === 201) this.world.gossip.records.push({ id: heard.body.id, project })
  }

  private async moves(_: string, key: string): Promise<void> {
    const { random } = this
    const move = random.weighted({ accept: 5, activate: 2, deprecate: 1, contradict: 0.5, supersede: 2 })
    const body = move === 'supersede' ? { replacement: random.pick(NAMES) } : {}
    await this.insist('POST', `/api/intent-records/:id/${move}`, { params: [key], body })
  }

  private async changes(_: string, key: string): Promise<void> {
    const params = [key]
    const read = await this.call('GET', '/api/intent-records/:id', { params })
    if (read.status !== 200) return
    const headers = { 'if-match': `"${read.body.version}"` }
    await this.insist('PATCH', '/api/intent-records/:id', { params, headers, body: { threat: this.random.hex(2) } })
  }

  private async relates(_: string, key: string): Promise<void> {
    const { random } = this
    const read = await this.call('GET', '/api/intent-records/:id', { params: [key] })
    const [stated] = read.body?.relationships ?? []
    if (stated !== undefined && random.chance(0.5)) {
      const params = [key, stated.id]
      await this.insist('DELETE', '/api/intent-records/:id/relationships/:relationship_id', { params })
      return
    }
    const body = { type: random.pick(['conflicts_with', 'conflicts_with', 'supports']), to: random.pick(NAMES) }
    await this.insist('POST', '/api/intent-records/:id/relationships', { params: [key], body })
  }

  private async classifys(project: string, key: string): Promise<void> {
    const classification = this.random.pick(['real', 'obsolete_intent', 'none'])
    const body = { classification, reason: this.random.hex(2) }
    await this.insist('POST', '/api/projects/:id/drift/:record/classify', { params: [project, key], body })
  }
}
