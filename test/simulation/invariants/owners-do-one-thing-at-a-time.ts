/**
 * A campaign has one thing under way at a time, an initiative one assessment. Nothing begins for one that is stopped: a
 * pause holds whatever has broken since, and nothing follows its end.
 */
import type { OwnedItem, OwnerMove } from '../model/owners.ts'
import { OVER } from '../model/owners.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'owners do one thing at a time'
const GOES_ON: ReadonlySet<string> = new Set(['staged', 'active'])
/** What was handed out is taken back by a message that is on its way for so long at most, if nothing hinders it. */
const SLACK_MS = 2_000

/** Of an initiative's tasks there may be many: it is what it decides that goes one by one. */
const isExclusive = ({ owner, role }: OwnedItem): boolean => owner.kind === 'campaign' || role === 'assessment'

export const ownersDoOneThingAtATime: MakeInvariant = (world) => {
  /** When a thing was over, virtual. */
  const overMs = new Map<OwnedItem, number>()

  const begins = (item: OwnedItem): void => {
    const { owner } = item
    if (!GOES_ON.has(owner.status)) throw new Violation(NAME, `${item.role} ${item.id} of ${told(item)}`)
    const other = owner.items.find((one) => one !== item && !one.isOver && isExclusive(one) && isExclusive(item))
    if (other !== undefined)
      throw new Violation(NAME, `${item.role} ${item.id} of ${told(item)}, beside ${other.role} ${other.id}`)
  }

  /** What was stopped, or is of what is over or paused, has had its time to be taken back. */
  const startsLate = (item: OwnedItem): void => {
    const { status, sinceMs } = item.owner
    const isStopped = OVER.has(status) || status === 'paused'
    const stoppedMs = overMs.get(item) ?? (isStopped ? sinceMs : Number.POSITIVE_INFINITY)
    const lateMs = world.timeline.nowMs - Math.max(stoppedMs, world.quietSinceMs)
    // Its tasks go on when an initiative is completed.
    const isLeftAlone = item.owner.kind === 'initiative' && item.role === 'cycle'
    if (lateMs > SLACK_MS && !isLeftAlone)
      throw new Violation(NAME, `${item.role} ${item.id} of ${told(item)} starts ${lateMs} ms after it was stopped`)
  }

  return {
    name: NAME,
    owner({ owner, item, facts, opened }: OwnerMove) {
      if (item !== undefined && facts.some(({ type }) => type === 'work_item_started')) startsLate(item)
      for (const one of opened) if (!one.isOver) begins(one)
      for (const one of owner.items) if (one.isOver && !overMs.has(one)) overMs.set(one, world.timeline.nowMs)
    },
    owed() {
      for (const { id, role, state, owner } of world.owners.items.values())
        if (state === undefined) return `${role} ${id} of ${owner.kind} ${owner.name} is not in the ledger`
      return undefined
    },
  }
}

function told({ owner }: OwnedItem): string {
  return `${owner.kind} ${owner.name}, which is ${owner.status},`
}
