/** A whole load: runners, requesters, submitters, operators, reviewers, a watcher around one service, let go together. */
import { type Load, operate, operator, requester, runner, watcher } from './actors.ts'
import { submitter } from './ledger.ts'
import type { Random } from './random.ts'
import { type Reviewed, reviewer } from './reviewers.ts'

const RUNNERS = 12
const REQUESTERS = 4
const OPERATORS = 2
const REVIEWERS = 2
const SUBMITTERS = 3
export const PROJECT = 'crash'

export interface Crowd {
  /** What the reviewers were answered. */
  readonly reviewed: Reviewed
  /** Resolves when the requesters, submitters and operators have gone home: no new work is made. */
  readonly closed: Promise<unknown>
  /** Resolves when everybody has. */
  readonly gone: Promise<unknown>
}

/** Makes what the load needs. `name` sets its runners apart from those of an earlier load on the same home. */
export async function gather(load: Load, name: string, random: Random): Promise<Crowd> {
  await operate(load, '/api/projects', { key: PROJECT, name: 'Crash' }).catch((error: Error) => {
    if (!error.message.includes('already_exists')) throw error
  })
  const runners: { id: string; token: string }[] = []
  for (let number = 1; number <= RUNNERS; number += 1) {
    const body = { id: `${name}-runner-${number}`, allowed_projects: [PROJECT], capacity: 1, trusted: true }
    runners.push(await operate(load, '/api/runners', body))
  }
  const ids = runners.map(({ id }) => id)
  const reviewed: Reviewed = { accepted: new Map(), superseded: new Map() }
  const closed = Promise.all([
    ...Array.from({ length: REQUESTERS }, (_, i) => requester(load, `${name}-${i}`)),
    ...Array.from({ length: SUBMITTERS }, (_, i) => submitter(load, `${name}-item-${i}`, random)),
    ...Array.from({ length: OPERATORS }, () => operator(load, random, ids)),
    ...Array.from({ length: REVIEWERS }, (_, i) => reviewer(load, `${name}-r${i}`, reviewed)),
  ])
  const gone = Promise.all([closed, watcher(load), ...runners.map(({ id, token }) => runner(load, id, token))])
  return { reviewed, closed, gone }
}
