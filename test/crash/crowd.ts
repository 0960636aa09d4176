/**
 * A whole load around one service: runners, requesters, submitters, operators, reviewers, formers, owners of campaigns
 * and of sentinels, and a watcher, started together.
 */

import type { Random } from '../random.ts'
import { type Load, operate, operator, requester, runner, watcher } from './actors.ts'
import { campaigner } from './campaigners.ts'
import { type Formed, type Former, former } from './formers.ts'
import { submitter } from './ledger.ts'
import { type Reviewed, reviewer } from './reviewers.ts'
import { timekeeper } from './timekeepers.ts'

const RUNNERS = 12
const REQUESTERS = 4
const OPERATORS = 2
const REVIEWERS = 2
const SUBMITTERS = 3
const FORMERS = 2
const CAMPAIGNERS = 2
const TIMEKEEPERS = 2
export const PROJECT = 'crash'
/** The project of the formers, whose runners take no other work. */
export const FORMED_PROJECT = 'formed'
/** The project of the campaigns, whose tasks would otherwise wait for all others. */
export const CAMPAIGN_PROJECT = 'missions'

export interface Crowd {
  /** The answers to the reviewers. */
  readonly reviewed: Reviewed
  /** The briefs answered to the formers. */
  readonly formed: readonly Formed[]
  /** Names of the campaigns that were added. */
  readonly worked: readonly string[]
  /** Resolves when the requesters, submitters, operators, reviewers and formers are done: no new work is made. */
  readonly closed: Promise<unknown>
  /** Resolves when all are done. */
  readonly gone: Promise<unknown>
}

/** Creates what the load needs. `name` sets its runners apart from those of an earlier load on the same home. */
export async function gather(load: Load, name: string, random: Random): Promise<Crowd> {
  for (const key of [PROJECT, FORMED_PROJECT, CAMPAIGN_PROJECT])
    await operate(load, '/api/projects', { key, name: key }).catch((error: Error) => {
      if (!error.message.includes('already_exists')) throw error
    })
  const hire = (id: string, project: string = PROJECT): Promise<Former['runner']> =>
    operate(load, '/api/runners', { id, allowed_projects: [project], capacity: 1, trusted: true })
  const runners: Former['runner'][] = []
  for (let number = 1; number <= RUNNERS; number += 1) runners.push(await hire(`${name}-runner-${number}`))
  const formers: Former[] = []
  for (let number = 1; number <= FORMERS; number += 1) {
    const named = `${name}-former-${number}`
    formers.push({ name: named, runner: await hire(named, FORMED_PROJECT) })
  }
  const missions = { ...load, project: CAMPAIGN_PROJECT }
  const workers: Former['runner'][] = []
  for (let number = 1; number <= CAMPAIGNERS; number += 1)
    workers.push(await hire(`${name}-worker-${number}`, CAMPAIGN_PROJECT))
  const ids = runners.map(({ id }) => id)
  const reviewed: Reviewed = { accepted: new Map(), superseded: new Map() }
  const formed: Formed[] = []
  const worked: string[] = []
  const closed = heard(load, [
    ...Array.from({ length: REQUESTERS }, (_, i) => requester(load, `${name}-${i}`)),
    ...Array.from({ length: SUBMITTERS }, (_, i) => submitter(load, `${name}-item-${i}`, random)),
    ...Array.from({ length: TIMEKEEPERS }, (_, i) => timekeeper(load, `${name}-sentinel-${i}`)),
    ...Array.from({ length: OPERATORS }, () => operator(load, random, ids)),
    ...Array.from({ length: REVIEWERS }, (_, i) => reviewer(load, `${name}-r${i}`, reviewed)),
    ...workers.map((_, i) => campaigner(missions, `${name}-campaign-${i}`, worked)),
    ...formers.map((one) => former({ ...load, project: FORMED_PROJECT }, one, formed)),
  ])
  const gone = heard(load, [
    closed,
    watcher(load),
    ...runners.map(({ id, token }) => runner(load, id, token)),
    ...workers.map(({ id, token }) => runner(missions, id, token)),
  ])
  return { reviewed, formed, worked, closed, gone }
}

/** An actor that throws is a fault reported with the others, not the end of whichever check is running then. */
function heard(load: Load, all: readonly Promise<unknown>[]): Promise<unknown> {
  const told = (error: Error) => load.memory.faults.push(`one of the load broke down: ${error.stack}`)
  return Promise.all(all.map((one) => one.catch(told)))
}
