/**
 * A work item is handed out as one run request at a time, and an owner's advances or assessments likewise; an item
 * starts only once its dependencies have landed, and comes to an end. Nothing in a paused lane is offered. No item fails
 * because a provider was away, unless an owner waits for that itself.
 */
import { ITEM_ENDS } from '../model/items.ts'
import { SETTLED } from '../model/requests.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'the ledger keeps its rules'
const OUTAGE = /provider_unavailable|usage_limit|agent_missing/
/** A decision is made in one turn and committed in the next. */
const TURN_MS = 1

export const theLedgerKeepsItsRules: MakeInvariant = (world) => {
  /** The run request that an item, or what an owner wants looked at, is handed out as. */
  const runs = new Map<string, string>()
  return {
    name: NAME,
    committed(steps) {
      for (const { ref, before, after } of steps) {
        if (ref.kind !== 'run_request' || before !== undefined) continue
        const item = after.context.asked.work_item_id
        if (item === undefined) continue
        for (const what of [item, ...lookOf(after.context.asked)]) {
          const earlier = world.requests.byId.get(runs.get(what) ?? '')
          if (earlier !== undefined && earlier.id !== ref.id && !SETTLED.has(earlier.state)) {
            throw new Violation(NAME, `${what} is handed out as ${ref.id} while ${earlier.id} is ${earlier.state}`)
          }
          runs.set(what, ref.id)
        }
      }
    },
    before({ type, payload, atMs, text }) {
      if (type === 'run_request_offered') {
        const request = world.requests.byId.get(payload.run_request_id)
        const isPaused = request !== undefined && world.items.pausedLanes.has(request.lane)
        if (isPaused && atMs - world.items.pacedMs > TURN_MS) throw new Violation(NAME, `in a paused lane: ${text}`)
      }
      if (type === 'work_item_settled' && payload.state === 'failed' && OUTAGE.test(payload.reason)) {
        const run = world.snapshots.get(runs.get(payload.item_id) ?? '')?.context
        const waits = run?.made.waits_for_provider === true && run.cancel === undefined
        if (waits) throw new Violation(NAME, `failed for an outage: ${text}`)
      }
      if (type !== 'work_item_started') return
      const { item_id: id, depends_on: dependsOn = [] } = payload
      for (const on of dependsOn as string[]) {
        const state = world.items.byId.get(on)?.state
        if (state !== 'landed') throw new Violation(NAME, `${id} started, and ${on}, which it waits on, is ${state}`)
      }
    },
    owed() {
      for (const { id, state } of world.items.byId.values()) {
        if (!ITEM_ENDS.has(state)) return `work item ${id} is ${state}`
      }
      return undefined
    },
  }
}

/** Whom it looks for. */
function lookOf({ entry_event, payload }: { readonly entry_event: string; readonly payload: any }): string[] {
  if (entry_event === 'campaign_advance_requested') return [`a formation of ${payload.campaign}`]
  return entry_event === 'initiative_advance_requested' ? [`an assessment of ${payload.initiative}`] : []
}
