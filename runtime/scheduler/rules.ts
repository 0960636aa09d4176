/**
 * The pacing rules, in the order in which they are reported: the one place that says whether an item may start,
 * and which rule is the first to hold it back. Pure; used by the tick, by release and by every view.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import { type ItemWaitingBecause, type ItemWaitingCode, SETTLED_STATES } from '../../machines/documents/work-item.ts'
import type { LabelUse } from '../dispatch/label-limits.ts'
import { namesOf } from '../writers.ts'

/** What the rules know of a queued item. */
export interface WaitingItem {
  readonly id: string
  readonly project: string
  readonly lane: string
  /** The items that it depends on. */
  readonly dependsOn: readonly string[]
  /** The campaign or initiative on whose behalf it only reads, by kind and name; undefined if it does more. */
  readonly readOnlyOwner: string | undefined
  /** The campaign that it is a cycle of. */
  readonly cycleOf: string | undefined
  /** Wall clock, milliseconds; undefined: at any time. */
  readonly notBeforeMs: number | undefined
  /** The run request that it was taken back from, while that has not ended. */
  readonly takenBack: string | undefined
}

/** The circumstances at the time of asking. */
export interface SchedulingView {
  /** State of an item, by its id; undefined if it does not exist. */
  stateOf(id: string): string | undefined
  /** An archived project starts nothing. */
  isArchived(item: WaitingItem): boolean
  /** A paused campaign starts nothing. */
  isCampaignPaused(campaign: string): boolean
  /** The repository that the item needs exclusively; undefined if none. */
  repositoryOf(item: WaitingItem): string | undefined
  /** The items and run requests that hold the repository, if no further run of the item's project may change it. */
  holdersOf(repository: string, item: WaitingItem): readonly string[]
  /** The first of its labels of which no further run may start; undefined if none. */
  fullLabel(item: WaitingItem): LabelUse | undefined
  /** The same for a handed-out item, as far as runs are concerned that runners hold. */
  takenLabel(item: WaitingItem): LabelUse | undefined
  /** Of a handed-out item: whether it stands in line with run requests for a place under the limits of its labels. */
  isInLine(item: WaitingItem): boolean
  /** Whether a person lets nothing with one of its labels start. */
  isLabelStopped(item: WaitingItem): boolean
  /** Another read-only run for the same owner that has not ended: a run request, or an item about to become one. */
  otherReadOnlyRun(item: WaitingItem): string | undefined
  /** Whether it may run as far as the number of running items is concerned. */
  hasPlace(item: WaitingItem): boolean
  /** For the sentence: items that run, are handed out or about to be; and how many may. */
  running(): number
  maxRunning(): number
  nowMs(): number
  isLanePaused(lane: string): boolean
  /** Whether an online runner may take it. */
  hasRunner(item: WaitingItem): boolean
  /** Whether such a runner is about to poll for work, as far as is known. */
  isExpected(item: WaitingItem): boolean
}

/** The first rule that holds the item back, and what it is about; `next` if none does. */
export interface Rule {
  readonly code: ItemWaitingCode
  /** The dependency, holders, label, lane or run request that the rule is about. */
  readonly subject?: string
  readonly detail?: string
}

const NEXT: Rule = { code: 'next' }

/** States from which a dependency can no longer land. */
const CANNOT_LAND: ReadonlySet<string> = new Set(SETTLED_STATES.filter((state) => state !== 'landed'))

export function firstRule(item: WaitingItem, now: SchedulingView): Rule {
  const before = ruleBeforeCap(item, now)
  if (before !== undefined) return before
  // Without any runner there is no cap either: what is missing is a runner.
  if (!now.hasPlace(item) && (now.maxRunning() > 0 || now.hasRunner(item))) return { code: 'running_cap' }
  return ruleAfterCap(item, now) ?? noRunner(item, now) ?? NEXT
}

/**
 * Whether a rule holds the item back that depends only on its lane and its wish (project, access, labels, and who may
 * take it), so that it holds back every item that shares these.
 */
export function isLineHeld(item: WaitingItem, now: SchedulingView): boolean {
  return isLineStopped(item, now) || !now.hasRunner(item)
}

/** The same without the runner rule. */
export function isLineStopped(item: WaitingItem, now: SchedulingView): boolean {
  if (now.isArchived(item) || now.isLanePaused(item.lane)) return true
  return busyRepository(item, now) !== undefined || now.fullLabel(item) !== undefined
}

/** Why no runner can begin a handed-out item; undefined if one can. */
export function whyNotBegun(item: WaitingItem, now: SchedulingView): Rule | undefined {
  return archived(item, now) ?? pausedLane(item, now) ?? limited(now.takenLabel(item)) ?? noRunner(item, now)
}

/** Why a handed-out item that no runner has begun goes back to the queue; undefined if it stays. */
export function whyTakenBack(item: WaitingItem, now: SchedulingView): Rule | undefined {
  const rule = pausedCampaign(item, now) ?? whyNotBegun(item, now)
  return rule?.code === 'label_limit' && now.isInLine(item) ? noRunner(item, now) : rule
}

/**
 * Whether the rule takes the item back from a run in that state. Normally an offer must first come back, and an
 * accepted run goes on; but a paused campaign is like a hold by a person: no runner may begin the item any more.
 */
export function takesBackFrom({ code }: Rule, runState: string | undefined): boolean {
  return runState === 'queued' || (code === 'campaign_paused' && (runState === 'offered' || runState === 'accepted'))
}

function pausedCampaign({ cycleOf }: WaitingItem, now: SchedulingView): Rule | undefined {
  const isPaused = cycleOf !== undefined && now.isCampaignPaused(cycleOf)
  return isPaused ? { code: 'campaign_paused', subject: cycleOf } : undefined
}

function archived(item: WaitingItem, now: SchedulingView): Rule | undefined {
  return now.isArchived(item) ? { code: 'project_archived', subject: item.project } : undefined
}

function pausedLane({ lane }: WaitingItem, now: SchedulingView): Rule | undefined {
  return now.isLanePaused(lane) ? { code: 'lane_paused', subject: lane } : undefined
}

function limited(full: LabelUse | undefined): Rule | undefined {
  if (full === undefined) return undefined
  const { label, maxRunning, underWay } = full
  return {
    code: 'label_limit',
    subject: label,
    ...(maxRunning === 0 ? {} : { detail: `${underWay} of ${maxRunning}` }),
  }
}

function noRunner(item: WaitingItem, now: SchedulingView): Rule | undefined {
  return now.hasRunner(item) ? undefined : { code: 'no_runner' }
}

/** An item that waits for a runner to begin its run. `why`: the run's own reason. */
export function handedOut(runId: string, why: WaitingBecause | undefined): Rule {
  const code = why?.code === 'provider_unavailable' || why?.code === 'limited' ? why.code : 'handed_out'
  return { code, subject: runId, ...(why === undefined ? {} : { detail: why.detail }) }
}

interface Pinned {
  /** The only runner that may take it. */
  readonly pin: string | undefined
}

/**
 * The rule; if no runner takes the item, the more exact reason that the dispatcher knows: the runner that it names was
 * removed for good, or those that may take it are limited. `withoutTaker`: the dispatcher's reason.
 */
export function inDetail(rule: Rule, { pin }: Pinned, withoutTaker: () => WaitingBecause | undefined): Rule {
  if (rule.code !== 'no_runner' && (rule.code !== 'running_cap' || pin === undefined)) return rule
  const why = withoutTaker()
  if (why?.code === 'runner_removed') return { code: why.code, subject: pin! }
  return why?.code === 'limited' && rule.code === 'no_runner' ? { code: why.code, detail: why.detail } : rule
}

/**
 * Whether no runner that is online may take it, and a person has not stopped its line; its repository or label may be
 * busy.
 */
export function isLineWithoutRunner(item: WaitingItem, now: SchedulingView): boolean {
  return !now.isArchived(item) && !now.isLanePaused(item.lane) && !now.isLabelStopped(item) && !now.hasRunner(item)
}

/** Whether the item would start if it had a runner, a place and its repository. */
export function waitsForRunnerAlone(item: WaitingItem, now: SchedulingView): boolean {
  return ruleBeforeRepository(item, now) === undefined && ruleAfterCap(item, now) === undefined
}

function ruleBeforeCap(item: WaitingItem, now: SchedulingView): Rule | undefined {
  return ruleBeforeRepository(item, now) ?? busyRepository(item, now) ?? limited(now.fullLabel(item))
}

function ruleBeforeRepository(item: WaitingItem, now: SchedulingView): Rule | undefined {
  const first = deadDependency(item.dependsOn, now) ?? archived(item, now) ?? pausedCampaign(item, now)
  if (first !== undefined) return first
  if (item.takenBack !== undefined) return { code: 'stopping', subject: item.takenBack }
  const other = now.otherReadOnlyRun(item)
  return other === undefined ? undefined : { code: 'stopping', subject: other, detail: item.readOnlyOwner! }
}

function busyRepository(item: WaitingItem, now: SchedulingView): Rule | undefined {
  const repository = now.repositoryOf(item)
  const holders = repository === undefined ? [] : now.holdersOf(repository, item)
  return holders.length === 0 ? undefined : { code: 'repository_busy', subject: namesOf(holders), detail: repository! }
}

function ruleAfterCap(item: WaitingItem, now: SchedulingView): Rule | undefined {
  if (item.notBeforeMs !== undefined && now.nowMs() < item.notBeforeMs) return { code: 'not_before' }
  for (const id of item.dependsOn) if (now.stateOf(id) !== 'landed') return { code: 'dependency', subject: id }
  return pausedLane(item, now)
}

/** The first dependency that can never land: it settled otherwise, or does not exist. */
function deadDependency(dependsOn: readonly string[], now: SchedulingView): Rule | undefined {
  for (const id of dependsOn) {
    const state = now.stateOf(id)
    if (state === undefined || CANNOT_LAND.has(state)) {
      return { code: 'dependency_cannot_land', subject: id, detail: state ?? 'unknown' }
    }
  }
  return undefined
}

/** Those of the dependencies that can never land: a release no longer waits for them. */
export function unlandable(dependsOn: readonly string[], now: Pick<SchedulingView, 'stateOf'>): string[] {
  return dependsOn.filter((id) => CANNOT_LAND.has(now.stateOf(id) ?? 'cancelled'))
}

/** The rule as one line for people. */
export function wordsOf(rule: Rule, item: WaitingItem, now: SchedulingView): ItemWaitingBecause {
  return { code: rule.code, detail: sentence(rule, item, now) }
}

/**
 * The same for a reason that is stored and read by everyone who may see the item. Of other people's work it names only
 * what the item itself names, its dependencies, without their states.
 */
export function lastingReason(rule: Rule, item: WaitingItem, now: SchedulingView): string {
  const { code, subject, detail } = rule
  switch (code) {
    case 'dependency_cannot_land':
      return `its dependency ${subject} did not land`
    case 'dependency':
      return `waits for ${subject} to land`
    case 'stopping':
      return detail === undefined
        ? sentence(rule, item, now)
        : `another formation or assessment for ${detail} has not ended`
    case 'repository_busy':
      return `${named(detail!)} is busy`
    default:
      return sentence(rule, item, now)
  }
}

/** A project without a repository has an implicit one, named by the project's id. */
function named(repository: string): string {
  return repository.startsWith('proj_') ? 'its project’s repository' : `repository ${repository}`
}

function sentence({ code, subject, detail }: Rule, item: WaitingItem, now: SchedulingView): string {
  switch (code) {
    case 'dependency_cannot_land':
      return `its dependency ${subject} did not land: it is ${detail}`
    case 'project_archived':
      return `project ${subject} is archived`
    case 'campaign_paused':
      return `its campaign ${subject} is paused`
    case 'stopping':
      if (detail !== undefined) return `${subject}, which forms or assesses for ${detail}, has not ended`
      return `its previous run ${subject} is being stopped`
    case 'repository_busy':
      return `${named(detail!)} is held by ${subject}`
    case 'label_limit':
      return detail === undefined
        ? `label ${subject} is limited to 0`
        : `${detail} with the label ${subject} are running`
    case 'running_cap':
      return `${now.running()} of ${now.maxRunning()} are running`
    case 'not_before':
      return `not before ${new Date(item.notBeforeMs!).toISOString()}`
    case 'dependency':
      return `waits for ${subject} to land (${now.stateOf(subject!)})`
    case 'lane_paused':
      return `lane ${subject} is paused`
    case 'no_runner':
      return 'no runner that is online may take it'
    case 'runner_removed':
      return `runner ${subject}, which it names, was removed`
    case 'held':
      return 'held by an operator'
    case 'submitted':
      return 'the scheduler has not looked at it yet'
    case 'passed_over':
      return 'the scheduler failed on this item and will retry; see the service log'
    case 'limited':
    case 'provider_unavailable':
      return detail!
    case 'handed_out':
      return `handed out: ${subject}${detail === undefined ? '' : ` (${detail})`}`
    default:
      return 'next to start'
  }
}
