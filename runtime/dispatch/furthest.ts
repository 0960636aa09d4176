/**
 * Which runners come nearest to taking some work, and which rule stops them. Rules that runners of one kind share are
 * looked at once a kind: readers ask this for hundreds of wishes, and each create for its own.
 */
import type { Visible } from './api.ts'
import { type Criteria, carriesLabels, isAllowed, isGranted, type Supply } from './eligibility.ts'
import type { Fleet } from './fleet.ts'
import type { Matching } from './matching.ts'
import type { Runner } from './runner.ts'
import { NO_TRIALS, type Trials } from './trials.ts'

/** How many rules, in order, a runner passes. One that may take the work but cannot now reaches at least `capable`. */
export const DEPTH = {
  nowhere: 0,
  seen: 1,
  granted: 2,
  allowed: 3,
  labelled: 4,
  capable: 5,
  online: 6,
  limited: 7,
  silent: 8,
  taking: 9,
  free: 10,
} as const
export type Depth = (typeof DEPTH)[keyof typeof DEPTH]

/** Most runners named in a sentence. */
const NAMED_MAX = 3

export interface Registry {
  readonly fleet: Fleet
  readonly matching: Matching
  /** Projects the reader may see: nothing is told of others, not even that they have runners. */
  readonly visible: Visible
  /** Runners that count as limited; default: none. */
  readonly trials?: Trials
}

/** The runners that pass most rules. */
export interface Furthest {
  readonly depth: Depth
  readonly count: number
  /** The first of them, as many as are named. */
  readonly runners: readonly Runner[]
}

export function furthestOf(criteria: Criteria, now: Registry): Furthest {
  let furthest: Depth = DEPTH.nowhere
  let count = 0
  let runners: Runner[] = []
  const reached = (depth: Depth, by: Iterable<Runner>, many: number): void => {
    if (depth < furthest || depth === DEPTH.nowhere) return
    if (depth > furthest) {
      furthest = depth
      count = 0
      runners = []
    }
    count += many
    let more = NAMED_MAX - runners.length
    for (const runner of by) {
      if (more-- <= 0) return
      runners.push(runner)
    }
  }
  for (const [supply, members] of kinds(criteria, now.fleet)) {
    const depth = depthOfSupply(supply, criteria, now.visible)
    if (depth < DEPTH.labelled) reached(depth, members, members.size)
    else for (const runner of members) reached(depthOf(runner, criteria, now), [runner], 1)
  }
  return { depth: furthest, count, runners }
}

/** The registered runners that may take such work, if their engines can. */
export function* labelled(criteria: Criteria, { fleet, visible }: Registry): Generator<Runner> {
  for (const [supply, members] of kinds(criteria, fleet))
    if (depthOfSupply(supply, criteria, visible) === DEPTH.labelled) yield* members
}

function kinds({ pin }: Criteria, fleet: Fleet): Iterable<readonly [Supply, ReadonlySet<Runner>]> {
  if (pin === undefined) return fleet.bySupply()
  const pinned = fleet.find(pin)
  return pinned?.supply === undefined ? [] : [[pinned.supply, new Set([pinned])]]
}

function depthOfSupply(supply: Supply, criteria: Criteria, visible: Visible): Depth {
  if (!isSeen(supply, criteria, visible)) return DEPTH.nowhere
  if (!isAllowed(supply, criteria)) return isGranted(supply, criteria) ? DEPTH.granted : DEPTH.seen
  return carriesLabels(supply, criteria) ? DEPTH.labelled : DEPTH.allowed
}

/** Of a runner whose kind reaches `labelled`. */
export function depthOf(runner: Runner, criteria: Criteria, { fleet, matching, trials = NO_TRIALS }: Registry): Depth {
  if (!matching.isCapable(runner, criteria)) return DEPTH.labelled
  if (!runner.isOnline) return DEPTH.capable
  if (runner.state !== 'registered') return DEPTH.online
  if (!runner.isGiven || trials.has(runner)) return DEPTH.limited
  if (!runner.hasRoom) return DEPTH.taking
  return fleet.isExpected(runner) ? DEPTH.free : DEPTH.silent
}

/** Whether the runners exist for the reader: they may work for a project it sees, or for all projects of the work. */
function isSeen(supply: Supply, criteria: Criteria, visible: Visible): boolean {
  if (visible === '*' || isGranted(supply, criteria)) return true
  for (const project of supply.projects!) if (visible.has(project)) return true
  return false
}
