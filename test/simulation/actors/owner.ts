/**
 * Owns campaigns and an initiative over them: adds them, moves them at random, twice where no answer came; and in the
 * calm answers what they ask until each has ended.
 */
import type { Member } from '../../../machines/documents/member.ts'
import type { OwnedItem, OwnerModel } from '../model/owners.ts'
import type { World } from '../world.ts'
import { type Actor, Client } from './actor.ts'

export function owners(world: World): readonly Actor[] {
  return world.plan.campaigns === 0 ? [] : [new Owner(world, 'owner', world.adminToken)]
}

const CAMPAIGN_MOVES = {
  advance: 7,
  pause: 1.5,
  resume: 4,
  decide: 3,
  complete: 0.15,
  cancel: 0.15,
  now: 0.25,
  emit: 1.5,
  item: 1.5,
  read: 0.5,
} as const
const INITIATIVE_MOVES = { advance: 6, emit: 1, decide: 2, hold: 0.7, finding: 2, complete: 0.1, cancel: 0.1 } as const
const INITIATIVE = 'all'

interface Keyed {
  readonly headers?: Readonly<Record<string, string>>
}

class Owner extends Client {
  private readonly campaigns: { readonly name: string; readonly project: string }[] = []
  private members: Member[] = []
  private said = 0

  async live(): Promise<void> {
    for (let n = 1; n <= this.world.plan.campaigns; n++) {
      const keyed = this.keyed(`c${n}`)
      await this.addsCampaign(`c${n}`, keyed)
      // While it is kept, a key that has made one campaign makes no other.
      if (keyed.headers !== undefined && this.random.chance(0.7)) await this.addsCampaign(`d${n}`, keyed)
    }
    if (this.world.plan.isSteered) await this.addsInitiative()
    for (;;) {
      await this.pass(200, this.world.isStormy ? 8_000 : 2_000)
      if (!this.world.isStormy) await this.bringsToAnEnd()
      else if (this.members.length > 0 && this.random.chance(0.4)) await this.steers()
      else await this.meddles()
    }
  }

  private async addsCampaign(name: string, keyed: Keyed): Promise<void> {
    const { random, world } = this
    const project = random.pick(world.made.projects).key
    const max_cycles = random.int(1, 4)
    const body = {
      name,
      project,
      mission: 'let it be done',
      done_evidence: [
        { kind: 'gate', command: 'npm test' },
        { kind: 'gate', command: 'npm run lint', required: random.chance(0.5) },
        { kind: 'review', statement: 'It is done.' },
      ],
      budget: { max_cycles },
      ...(random.chance(0.2) ? { authorized_by: null } : {}),
    }
    world.gossip.budgets.set(name, max_cycles)
    const { body: answer } = await this.insist('POST', '/api/campaigns', { body, ...keyed })
    // Repeated without a key, the request finds what its first try made, which is ours.
    if (answer.name !== name && answer.code !== 'already_exists') return
    this.campaigns.push({ name, project })
    if (random.chance(0.8)) await this.moves(name, 'advance')
  }

  private async addsInitiative(): Promise<void> {
    const { random, world } = this
    const members: Member[] = this.campaigns.map(({ name }) => ({ kind: 'campaign', ref: name }))
    members.push({ kind: 'project', ref: random.pick(world.made.projects).key })
    const budget = { max_assessments: random.int(2, 12), max_actions: random.int(1, 8) }
    const body = { name: INITIATIVE, outcome: 'it is all done', members, budget }
    const { max_assessments: assessments, max_actions: actions } = budget
    world.gossip.steering.set(INITIATIVE, { members, assessments, actions })
    await this.insist('POST', '/api/initiatives', { body, ...this.keyed(INITIATIVE) })
    this.members = members
  }

  private keyed(key: string): Keyed {
    return this.random.chance(0.5) ? { headers: { 'idempotency-key': key } } : {}
  }

  private async meddles(): Promise<void> {
    const { random, world } = this
    // None: the projects were archived before the first.
    if (this.campaigns.length === 0) return
    const { name, project } = random.pick(this.campaigns)
    const move = random.weighted(CAMPAIGN_MOVES)
    const params = [name]
    if (move === 'read') await this.call('GET', '/api/campaigns/:name', { params })
    else if (move === 'emit') await this.emits('campaign_advance_requested', project, { campaign: name })
    else if (move === 'item') {
      const item = world.owners.byName.get(`campaign:${name}`)?.items.findLast(({ isOver }) => !isOver)
      if (item !== undefined) await this.operates(item, random.pick(['cancel', 'hold', 'release']))
    } else await this.moves(name, move)
  }

  private async moves(name: string, move: 'advance' | 'pause' | 'resume' | 'decide' | 'complete' | 'cancel' | 'now') {
    const { random } = this
    const reason = `${move} ${++this.said}`
    const now = { reason, now: true, ...(random.chance(0.5) ? { discard_work: true } : {}) }
    const bodies = {
      advance: {},
      pause: { reason },
      resume: random.chance(0.4) ? { add_cycles: random.int(1, 2) } : {},
      decide: { decision: reason },
      complete: { reason },
      cancel: { reason },
      now,
    }
    const pattern = `/api/campaigns/:name/${move === 'now' ? 'cancel' : move}`
    const rest = { params: [name], body: bodies[move] }
    await (random.chance(0.5) ? this.insist('POST', pattern, rest, 4) : this.call('POST', pattern, rest))
  }

  private async operates({ id }: OwnedItem, move: 'cancel' | 'hold' | 'release'): Promise<void> {
    const body = move === 'cancel' ? { reason: 'not this one' } : {}
    await this.call('POST', `/api/work-items/:id/${move}`, { params: [id], body })
  }

  private async emits(event_type: string, project: string, payload: object): Promise<void> {
    const occurred_at = new Date(this.world.wallMs).toISOString()
    const trace_id = this.random.hex(32)
    const events = [{ event_type, project, occurred_at, throttle: 'full', trace_id, payload }]
    await this.insist('POST', '/api/events', { body: { events } }, 4)
  }

  private async steers(): Promise<void> {
    const { random, world } = this
    const move = random.weighted(INITIATIVE_MOVES)
    const member = random.pick(this.members)
    const reason = `${move} ${++this.said}`
    // The same request is often made twice.
    const trigger_id = `t${random.int(1, 6)}-${Math.floor(this.said / 8)}`
    const pinned = random.chance(0.3) ? { member } : {}
    if (move === 'emit') {
      const payload = { initiative: INITIATIVE, operator_origin: this.name, trigger_id, ...pinned }
      await this.emits('initiative_advance_requested', world.made.projects[0]!.key, payload)
      return
    }
    const bodies = {
      advance: { ...pinned, ...(random.chance(0.6) ? { trigger_id } : {}) },
      decide: { decision: reason, ...(random.chance(0.5) ? { applicable_members: [member] } : {}) },
      hold: { action: 'hold', reason, ...pinned, ...(random.chance(0.6) ? { lifted: true } : {}) },
      finding: { text: reason, ...(random.chance(0.5) ? { to: [member] } : {}) },
      complete: { reason },
      cancel: { reason },
    }
    const path = move === 'hold' ? 'owner-actions' : move === 'finding' ? 'findings' : move
    const rest = { params: [INITIATIVE], body: bodies[move] }
    await this.insist('POST', `/api/initiatives/:name/${path}`, rest, 4)
  }

  /** Answers what asks for the owner, and does nothing else: what is stuck stays stuck. */
  private async bringsToAnEnd(): Promise<void> {
    const { owners: all } = this.world
    for (const owner of all.byName.values()) if (owner.kind === 'campaign') await this.answers(owner)
    for (const item of all.items.values()) if (item.state === 'held') await this.operates(item, 'release')
  }

  private async answers({ name, status, items }: OwnerModel): Promise<void> {
    const isIdle = items.every(({ isOver }) => isOver)
    if (status === 'escalated') await this.moves(name, this.random.pick(['decide', 'decide', 'complete']))
    else if (status === 'paused') await this.moves(name, this.random.pick(['resume', 'resume', 'complete']))
    else if ((status === 'staged' || status === 'active') && isIdle) await this.moves(name, 'advance')
  }
}
