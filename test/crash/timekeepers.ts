/**
 * People whose sentinels fall due each minute, and who fire them by hand in between, around a service that dies: each
 * firing submits its item, once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fault, insist, type Load } from './actors.ts'
import { get, type Service, settledFaults, type WholeLog } from './check.ts'

const LOOK_AGAIN_MS = 15
/** Their sentinels are removed at the end: nothing is to fall due while the last checks are made. */
const EACH_MINUTE = '* * * * *'

export async function timekeeper(load: Load, name: string): Promise<void> {
  const path = `/api/sentinels/${name}`
  const keyed = (key: string) => ({ 'idempotency-key': key })
  const item = { objective: `what ${name} asks for` }
  const body = { name, project: load.project, cron: EACH_MINUTE, item }
  const added = await insist(load, { method: 'POST', body, headers: keyed(name) }, '/api/sentinels')
  if (added === undefined) return
  if (added.status !== 201 && added.status !== 200) return fault(load, 'the adding of a sentinel', added)
  load.memory.tell(`sentinel_added ${name}`)
  for (let number = 0; !load.closing(); number++) {
    const headers = keyed(`${name}-${number}`)
    const fired = await insist(load, { method: 'POST', body: {}, headers }, `${path}/fire`)
    if (fired === undefined) return
    if (fired.status !== 200) return fault(load, `the firing of ${name}`, fired)
    const { last } = fired.body
    // When repeated, it may tell of a later firing: that was one, too.
    if (last.skipped === undefined) load.memory.tell(`sentinel_fired ${last.item_id}`)
    await sleep(LOOK_AGAIN_MS)
  }
  const removed = await insist(load, { method: 'POST', body: {} }, `${path}/remove`)
  if (removed === undefined) return
  if (removed.status !== 200) fault(load, `the removal of ${name}`, removed)
  else load.memory.tell(`sentinel_removed ${name}`)
}

/** Checks that each firing of which the log tells submitted its item, once, and that no time came twice. */
export function firedOnce(service: Service, log: WholeLog): Promise<string[]> {
  return settledFaults(service, log, async (service, log) => [
    ...firingFaults(log),
    ...(await sourceFaults(service, log)),
  ])
}

/** The same, by what the log alone tells. */
export function firingFaults({ facts }: WholeLog): string[] {
  const faults: string[] = []
  const submitted = new Map<string, number>()
  for (const { type, itemId } of facts)
    if (type === 'work_item_submitted') submitted.set(itemId!, (submitted.get(itemId!) ?? 0) + 1)
  const seen = new Set<string>()
  const once = (what: string): void => {
    if (seen.has(what)) faults.push(`${what} twice`)
    seen.add(what)
  }
  for (const { type, sentinel } of facts) {
    if (sentinel?.dueAt !== undefined) once(`${sentinel.name} fell due at ${sentinel.dueAt}`)
    if (type !== 'sentinel_fired') continue
    const { name, itemId } = sentinel!
    once(`${name} submitted ${itemId}`)
    if (submitted.get(itemId!) !== 1)
      faults.push(`${itemId} of ${name} was submitted ${submitted.get(itemId!) ?? 0} times`)
  }
  return faults
}

/** Items of a sentinel of which no firing tells, although the log still has all that it ever did. */
async function sourceFaults(service: Service, { facts, before }: WholeLog): Promise<string[]> {
  if (before > 0) return []
  const told = new Set(facts.flatMap(({ type, sentinel }) => (type === 'sentinel_fired' ? [sentinel!.itemId] : [])))
  const names = new Set(facts.flatMap(({ sentinel }) => sentinel?.name ?? []))
  const faults: string[] = []
  for (const name of names) {
    const { body } = await get(service, `/api/work-items?source=sentinel:${name}&limit=500`)
    for (const { id } of body.items) if (!told.has(id)) faults.push(`${id} is of ${name}, which does not tell of it`)
  }
  return faults
}
