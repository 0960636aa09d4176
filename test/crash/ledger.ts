/** People who submit work, hold it, release it, stop it, and pause what starts, around a service that dies. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { fault, insist, type Load } from './actors.ts'

const LOOK_AGAIN_MS = 15
const PAUSED_MS = 20
const SETTLED = new Set(['landed', 'preserved', 'needs_decision', 'failed', 'cancelled'])
/**
 * The event of each move, and the answers that may mean it is gone: 409 the state does not allow it, 404 it was
 * forgotten since.
 */
const TOLD_AS: Readonly<Record<string, string>> = { hold: 'held', release: 'released' }
const OVERTAKEN = new Set([404, 409])

/** Runs one item after another, each to its end, at times with an owner's move in it. */
export async function submitter(load: Load, name: string, random: Random): Promise<void> {
  for (let number = 0; !load.closing(); number++) {
    const body = { project: load.project, objective: `${name} ${number}` }
    const headers = { 'idempotency-key': `${name}-${number}` }
    const heard = await insist(load, { method: 'POST', body, headers }, '/api/work-items')
    if (heard === undefined) return
    if (heard.status !== 201 && heard.status !== 200) return fault(load, 'a submit', heard)
    load.memory.tell(`work_item_submitted ${heard.body.id}`)
    await toTheEnd(load, heard.body.id, random)
  }
}

async function toTheEnd(load: Load, id: string, random: Random): Promise<void> {
  const acts = [hold, hold, stop, pause, wait, wait, wait, wait]
  while (!load.stopping()) {
    await acts[random.below(acts.length)]!(load, id)
    const heard = await insist(load, { method: 'GET' }, `/api/work-items/${id}`)
    if (heard === undefined || heard.status === 404 || SETTLED.has(heard.body.state)) return
    // Nobody is left who would release it.
    if (heard.body.state === 'held') await move(load, id, 'release')
  }
}

async function hold(load: Load, id: string): Promise<void> {
  if (await move(load, id, 'hold')) await move(load, id, 'release')
}

async function stop(load: Load, id: string): Promise<void> {
  const heard = await insist(load, { method: 'POST', body: { reason: 'enough' } }, `/api/work-items/${id}/cancel`)
  if (heard === undefined || OVERTAKEN.has(heard.status)) return
  if (heard.status !== 200) fault(load, `cancel of ${id}`, heard)
  else if (heard.body.state === 'cancelled') load.memory.tell(`work_item_cancelled ${id}`)
}

async function move(load: Load, id: string, name: string): Promise<boolean> {
  const heard = await insist(load, { method: 'POST', body: {} }, `/api/work-items/${id}/${name}`)
  if (heard === undefined || OVERTAKEN.has(heard.status)) return false
  if (heard.status !== 200) fault(load, `${name} of ${id}`, heard)
  else load.memory.tell(`work_item_${TOLD_AS[name]} ${id}`)
  return heard.status === 200
}

async function pause(load: Load): Promise<void> {
  await insist(load, { method: 'POST', body: { lanes: ['interactive'] } }, '/api/pacing/pause')
  await sleep(PAUSED_MS)
  await insist(load, { method: 'POST', body: {} }, '/api/pacing/resume')
}

async function wait(): Promise<void> {
  await sleep(LOOK_AGAIN_MS)
}
