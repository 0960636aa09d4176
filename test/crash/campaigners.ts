/**
 * Owners whose campaigns are worked off while the service dies under them: each is added and advanced, and the runners
 * around form and work on each step. Whatever was cut off, each cycle must be counted once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fault, insist, type Load } from './actors.ts'
import { CYCLES } from './formation.ts'

const LOOK_AGAIN_MS = 15

/** Runs one campaign after another, each to its end. `worked` gets the names of those that were added. */
export async function campaigner(load: Load, name: string, worked: string[]): Promise<void> {
  for (let number = 0; !load.closing(); number++) {
    const campaign = `${name}-${number}`
    const review = { kind: 'review', statement: 'It is worked off.' }
    const body = { name: campaign, project: load.project, mission: campaign, done_evidence: [review] }
    const headers = { 'idempotency-key': campaign }
    const added = await insist(load, { method: 'POST', body, headers }, '/api/campaigns')
    if (added === undefined) return
    if (added.status !== 201 && added.status !== 200) return fault(load, 'the adding of a campaign', added)
    worked.push(campaign)
    const advanced = await insist(load, { method: 'POST', body: {} }, `/api/campaigns/${campaign}/advance`)
    if (advanced === undefined) return
    // When repeated, it may already have gone on by itself.
    if (advanced.status !== 200 && advanced.status !== 409) return fault(load, `the advance of ${campaign}`, advanced)
    if (!(await toTheEnd(load, campaign))) return
  }
}

async function toTheEnd(load: Load, campaign: string): Promise<boolean> {
  while (!load.stopping()) {
    const heard = await insist(load, { method: 'GET' }, `/api/campaigns/${campaign}`)
    if (heard === undefined) return false
    if (heard.body.status === 'completed') return true
    if (heard.body.status === 'escalated') {
      fault(load, campaign, heard)
      return true
    }
    await sleep(LOOK_AGAIN_MS)
  }
  return false
}

/** Checks that each finished campaign has dispatched as many tasks as it had steps, and counted each result once. */
export async function campaignsHoldTogether(load: Load, worked: readonly string[]): Promise<string[]> {
  const faults: string[] = []
  for (const name of worked) {
    const heard = await insist(load, { method: 'GET' }, `/api/campaigns/${name}`)
    const { status, cycles_completed, cycles_landed, objective_history = [], reason } = heard?.body ?? {}
    const counted = `${cycles_completed} dispatched, ${cycles_landed} landed, ${objective_history.length} remembered`
    const isWhole = cycles_completed === CYCLES && cycles_landed === CYCLES && objective_history.length === CYCLES
    if (status !== 'completed' || !isWhole) faults.push(`${name} is ${status} (${reason}): ${counted}`)
  }
  return faults
}
