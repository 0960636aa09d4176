/**
 * What a campaign needs of its owner. Decided here alone: its document says it in words, `GET /api/attention` and its index
 * call a person by it, and the command line makes commands of it. Takes what the document has, too.
 */
import type { SnapshotOf } from '../machine.ts'
import type { CampaignContext } from './context.ts'

export type Need =
  | { readonly is: 'advance'; readonly hasBegun: boolean }
  /** `lacksCycles`: it is resumed with more of them only. */
  | { readonly is: 'resume'; readonly pausedBy: 'owner' | 'provider'; readonly lacksCycles: boolean }
  /** `isPaused`: its owner has paused it since, and resumes it first. */
  | { readonly is: 'escalated'; readonly asks: 'answer' | 'cycles' | 'judgment'; readonly isPaused: boolean }

/** As much of a campaign as tells what it needs. */
interface Standing {
  readonly status: string
  readonly isIdle: boolean
  readonly cyclesLeft: number
  /** What its last cycle asks. */
  readonly question?: unknown
  readonly paused?: { readonly by: string; readonly until?: string; readonly escalated?: string } | undefined
}

/** Undefined: it goes on by itself, or is over. */
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

/** A question comes first: more cycles are no answer to it, and are asked for when a next task is formed. */
function askedBy({ question, cyclesLeft }: Standing): 'answer' | 'cycles' | 'judgment' {
  if (question !== undefined) return 'answer'
  return cyclesLeft <= 0 ? 'cycles' : 'judgment'
}

export function needIn({ value, context }: Pick<SnapshotOf<CampaignContext>, 'value' | 'context'>): Need | undefined {
  const { work, question, paused, max_cycles, cycles_completed } = context
  const cyclesLeft = max_cycles - cycles_completed
  return needOf({ status: value, isIdle: work === undefined, cyclesLeft, question, paused })
}

/** Why a person is called. Undefined: nobody is; what is to be begun waits for that, and what its owner has paused is meant to. */
export function calledFor(need: Need | undefined): 'escalated' | 'paused' | undefined {
  if (need?.is === 'escalated') return 'escalated'
  return need?.is === 'resume' && need.pausedBy === 'provider' ? 'paused' : undefined
}

/** In words, for its document. */
export function wordsOf(need: Need): string {
  switch (need.is) {
    case 'advance':
      return need.hasBegun ? 'advance it: nothing is under way' : 'advance it: it has not begun'
    case 'resume':
      return need.lacksCycles ? 'resume it with more cycles when it may go on' : 'resume it when it may go on'
    default:
      return askedInWords(need)
  }
}

function askedInWords({ asks, isPaused }: Need & { readonly is: 'escalated' }): string {
  if (asks === 'cycles') return 'resume it with more cycles, complete it or cancel it'
  const toDecide = 'decide what its last cycle asks'
  if (isPaused) return `resume it, then ${asks === 'answer' ? toDecide : 'it is escalated still'}`
  return asks === 'answer' ? toDecide : 'decide, resume it, complete it or cancel it'
}
