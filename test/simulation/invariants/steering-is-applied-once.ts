/**
 * A request is assessed once and has one outcome; an action is admitted once, and stated by the step that sends it;
 * both keep to their budgets; and a finding is consumed once, by a landed cycle whose forming saw it.
 */
import type { OwnedItem, OwnerModel, OwnerMove } from '../model/owners.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'steering is applied once'
/** Why a request is not assessed whose trigger stands for an earlier one. */
const REUSED = 'its trigger was already used for another member'
/** What tells members to do something. */
const ORDERS: ReadonlySet<string> = new Set(['advance', 'pause', 'hold', 'release'])
/** Outcomes to which an agent's answer led. */
const ANSWERED: ReadonlySet<string> = new Set(['applied', 'waited', 'no_op', 'rejected', 'stale'])

export const steeringIsAppliedOnce: MakeInvariant = (world) => {
  const seen = new Set<string>()
  /** Findings, with the move that recorded each. */
  const findings = new Map<string, number>()
  const sums = new Map<string, { assessments: number; actions: number }>()

  const once = (owner: OwnerModel, what: string, id: string): void => {
    const name = `${owner.name} ${what} ${id}`
    if (seen.has(name)) throw wrong(owner, `${what} ${id} a second time`)
    seen.add(name)
  }

  const steers = ({ owner, facts, opened, told, n }: OwnerMove): void => {
    const applied = facts.find(({ type, payload }) => type === 'initiative_steered' && payload.outcome === 'applied')
    const sum = sums.get(owner.name) ?? { assessments: 0, actions: 0 }
    sums.set(owner.name, sum)
    for (const { type, payload } of facts) {
      if (type === 'initiative_steered') {
        once(owner, 'steered', payload.steer_id)
        if (ANSWERED.has(payload.outcome)) sum.assessments++
      } else if (type === 'initiative_action_requested') {
        once(owner, 'action', payload.action_id)
        if (applied?.payload.action?.action_id !== payload.action_id) throw wrong(owner, `${payload.action_id} unasked`)
        sum.actions++
      } else if (type === 'finding_recorded') {
        once(owner, 'finding', payload.finding_id)
        findings.set(payload.finding_id, n)
      } else if (type === 'finding_consumed') consumes(owner, payload.finding_id, payload.work_item_id)
    }
    const isReused = facts.some(({ payload }) => payload.outcome === 'skipped' && payload.reason === REUSED)
    for (const item of isReused ? [] : opened) opens(owner, item, applied?.payload.action?.item_id)
    if (applied !== undefined && owner.status !== 'active') throw wrong(owner, 'an action')
    const order = told.find(({ message }) => ORDERS.has(message.type) && message.by?.id === 'service')
    if (order !== undefined && applied === undefined) throw wrong(owner, `${order.message.type} to ${order.id} unasked`)
    const { assessments, actions } = world.gossip.steering.get(owner.name)!
    if (sum.assessments > assessments) throw wrong(owner, `${sum.assessments} assessments of ${assessments}`)
    if (sum.actions > actions) throw wrong(owner, `${sum.actions} actions of ${actions}`)
  }

  const opens = (owner: OwnerModel, { id, role, trigger }: OwnedItem, applied: string | undefined): void => {
    if (role === 'assessment') once(owner, 'request', trigger!)
    else if (id !== applied) throw wrong(owner, `work ${id} unasked`)
  }

  const consumes = (owner: OwnerModel, finding: string, id: string): void => {
    once(owner, `consumption of ${finding} by`, id)
    const recorded = findings.get(finding)
    const item = world.owners.items.get(id)
    if (item?.role !== 'cycle' || item.state !== 'landed')
      throw wrong(owner, `${finding} is consumed by ${id}, which is ${item?.state}`)
    if (recorded === undefined || recorded >= item.formedAt)
      throw wrong(owner, `${finding} is consumed by ${id}, whose forming cannot have seen it`)
  }

  return {
    name: NAME,
    owner(move) {
      if (move.owner.kind === 'initiative' && move.item === undefined) steers(move)
    },
  }
}

function wrong({ name, status }: OwnerModel, what: string): Violation {
  return new Violation(NAME, `initiative ${name}, which is ${status}: ${what}`)
}
