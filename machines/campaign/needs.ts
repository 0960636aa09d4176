/**
 * What a campaign needs from its owner. Decided only here: the document puts it into words, `GET /api/attention` and
 * the index call a person because of it, and the command line suggests commands for it. Works from the served document,
 * too.
 */
import type { SnapshotOf } from '../machine.ts'
import type { CampaignContext } from './context.ts'

export type Need =
  | { readonly is: 'advance'; readonly hasBegun: boolean }
  /** `lacksCycles`: it can be resumed only with more cycles. */
  | { readonly is: 'resume'; readonly pausedBy: 'owner' | 'provider'; readonly lacksCycles: boolean }
  /** `isPaused`: its owner has paused it since, and must resume it first. */
  | { readonly is: 'escalated'; readonly asks: 'answer' | 'cycles' | 'judgment'; readonly isPaused: boolean }

/** The parts of a campaign that determine what it needs. */
interface Standing {
  readonly status: string
  readonly isIdle: boolean
  readonly cyclesLeft: number
  /** What its last cycle asks. */
  readonly question?: unknown
  readonly paused?: { readonly by: string; readonly until?: string; readonly escalated?: string } | undefined
}

/** Undefined if it goes on without its owner, or is over. */
export function needOf(standing: Standing): Need | undefined {
  const { status, isIdle, cyclesLeft, paused } = standing
  switch (status) {
    case 'staged':
    case 'active':
      return isIdle ? { is: 'advance', hasBegun: status === 'active' } : undefined
    case 'paused':
      if (paused?.escalated !== undefined) return { is: 'escalated', asks: askedBy(standing), isPaused: true }
      if (paused?.until !== undefined) return undefined
      return { is: 'resume', pausedBy: paused?.by === 'provider' ? 'provider' : 'owner', lacksCycles: cyclesLeft <= 0 }
    case 'escalated':
      return { is: 'escalated', asks: askedBy(standing), isPaused: false }
    default:
      return undefined
  }
}

/** A question comes first: more cycles do not answer it, and are asked for when a next task is formed. */
function askedBy({ question, cyclesLeft }: Standing): 'answer' | 'cycles' | 'judgment' {
  if (question !== undefined) return 'answer'
  return cyclesLeft <= 0 ? 'cycles' : 'judgment'
}

export function needIn({ value, context }: Pick<SnapshotOf<CampaignContext>, 'value' | 'context'>): Need | undefined {
  const { work, question, paused, max_cycles, cycles_completed } = context
  const cyclesLeft = max_cycles - cycles_completed
  return needOf({ status: value, isIdle: work === undefined, cyclesLeft, question, paused })
}

/** Why a person is called; undefined if nobody is: a campaign not begun, or paused by its owner, is meant to wait. */
export function calledFor(need: Need | undefined): 'escalated' | 'paused' | undefined {
  if (need?.is === 'escalated') return 'escalated'
  return need?.is === 'resume' && need.pausedBy === 'provider' ? 'paused' : undefined
}

/** The need in words, for the document. */
export function wordsOf(need: Need): string {
  switch (need.is) {
    case 'advance':
      return need.hasBegun ? 'advance it: nothing is under way' : 'advance it: it has not begun'
    case 'resume':
      return need.lacksCycles
        ? 'resume it with more cycles when it should continue'
        : 'resume it when it should continue'
    default:
      return askedInWords(need)
  }
}

function askedInWords({ asks, isPaused }: Need & { readonly is: 'escalated' }): string {
  if (asks === 'cycles') return 'resume it with more cycles, complete it or cancel it'
  const toDecide = 'answer the question of its last cycle'
  if (isPaused) return `resume it, then ${asks === 'answer' ? toDecide : 'it is still escalated'}`
  return asks === 'answer' ? toDecide : 'decide, resume it, complete it or cancel it'
}
