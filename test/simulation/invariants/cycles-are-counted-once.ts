/**
 * A campaign's counts are right: each cycle is counted once, except those that no runner began, whose run could not
 * begin or whose provider was unreachable; each landed result is counted once; and there are never more cycles than the
 * budget allows.
 */
import { OUT_OF_REACH } from '../actors/adviser.ts'
import type { Fact, OwnedItem, OwnerModel } from '../model/owners.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'cycles are counted once'
const COULD_NOT_BEGIN = /^run failed \((?:dispatch|\w+, (?:provider_unavailable|usage_limit|agent_missing))\)/
const ADDED = /, with (\d+) more cycles$/

/** What tells of the end of a campaign. */
const ENDS: ReadonlySet<string> = new Set(['campaign_completed', 'campaign_cancelled'])

interface Count {
  /** Cycles that it may have. */
  budget: number
  /** As it said when it began the last one. */
  cycles: number
  landed: number
}

export const cyclesAreCountedOnce: MakeInvariant = (world) => {
  const counts = new Map<string, Count>()

  const take = (owner: OwnerModel, count: Count, begun: readonly OwnedItem[], { type, payload }: Fact): void => {
    if (type === 'campaign_resumed') count.budget += Number(ADDED.exec(payload.reason)?.[1] ?? 0)
    const { cycles_completed: cycles, cycles_landed: landed, decision } = payload
    if (cycles === undefined) return
    const wrong = (what: string, due: number): Violation =>
      new Violation(NAME, `${owner.name} says ${JSON.stringify(payload)}: ${what}, it is ${due}`)
    const free = begun.length > 0 && isFree(begun.at(-1)!) ? 1 : 0
    const landings = begun.filter(({ ended }) => ended?.landed === true).length
    // What ended while it was stopped is counted when it goes on, or never.
    const isUpToDate = decision !== undefined && decision !== 'stood_down'
    if (landed < count.landed || landed > landings || (isUpToDate && landed < landings))
      throw wrong('landed results', landings)
    count.landed = landed
    const due = count.cycles - free + (decision === 'advance' ? 1 : 0)
    const last = begun.at(-1)
    if (ENDS.has(type) && last?.ended === undefined && last !== undefined) {
      // It waits, and is called off: not charged. One that has just begun may not have been heard of yet.
      const isRight = cycles === count.cycles - 1 || (last.started && cycles === count.cycles)
      if (!isRight) throw wrong('cycles, with the last called off', count.cycles - (last.started ? 0 : 1))
    } else if (cycles !== due && (isUpToDate || cycles !== count.cycles)) throw wrong('cycles', due)
    if (decision !== 'advance') return
    if (cycles > count.budget) throw wrong('its budget', count.budget)
    count.cycles = cycles
  }

  return {
    name: NAME,
    owner({ owner, item, facts, opened }) {
      if (owner.kind !== 'campaign' || item !== undefined) return
      let count = counts.get(owner.name)
      if (count === undefined) {
        count = { budget: world.gossip.budgets.get(owner.name)!, cycles: 0, landed: 0 }
        counts.set(owner.name, count)
      }
      const begun = owner.items.filter((one) => one.role === 'cycle' && !opened.includes(one))
      for (const [i, fact] of facts.entries()) {
        if (!isToldAgain(fact, facts[i - 1])) take(owner, count, begun, fact)
      }
    },
  }
}

/** The end of an advance, to another who had asked for it; what its agent was told is in the first. */
function isToldAgain({ type, payload }: Fact, before: Fact | undefined): boolean {
  if (type !== 'campaign_advance_completed' || before?.type !== type) return false
  const { prompt: _, ...told } = before.payload
  return JSON.stringify(told) === JSON.stringify(payload)
}

/** Nothing was done in it. What was taken back from a run that had begun and then landed its work was never told to have started. */
function isFree({ started, ended }: OwnedItem): boolean {
  if (ended === undefined || ended.landed) return false
  return !started || COULD_NOT_BEGIN.test(ended.reason) || ended.reason.endsWith(OUT_OF_REACH)
}
