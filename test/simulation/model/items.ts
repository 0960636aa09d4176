/** Work items and paused lanes as the log describes them. A move that the ledger does not have is a violation. */
import { Violation } from '../violation.ts'
import type { LoggedEvent } from './mirror.ts'

export interface ItemModel {
  readonly id: string
  readonly project: string
  readonly lane: string
  state: string
  /** Ids of its dependencies. */
  dependsOn: readonly string[]
  sinceMs: number
}

/** Nothing more happens to it by itself; a person may still have to decide. */
export const ITEM_ENDS: ReadonlySet<string> = new Set(['landed', 'preserved', 'needs_decision', 'failed', 'cancelled'])

/** From which states an event may be stated; its payload has the state that follows. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  work_item_started: ['queued'],
  work_item_settled: ['queued', 'held', 'running', 'preserved'],
  work_item_cancelled: ['queued', 'held', 'running', 'preserved', 'needs_decision', 'failed'],
  work_item_held: ['queued'],
  work_item_released: ['held', 'queued', 'needs_decision'],
}

export class Items {
  readonly byId = new Map<string, ItemModel>()
  readonly pausedLanes = new Set<string>()
  /** When lanes were last paused or resumed, virtual. */
  pacedMs = 0
  private readonly mayBeForgotten: () => boolean

  /** `mayBeForgotten`: retention may have forgotten items, so that others may take their ids. */
  constructor(mayBeForgotten: () => boolean) {
    this.mayBeForgotten = mayBeForgotten
  }

  take(event: LoggedEvent): void {
    const { type, payload, atMs } = event
    if (type === 'pacing_paused' || type === 'pacing_resumed') {
      this.pacedMs = atMs
      this.pausedLanes.clear()
      for (const lane of payload.paused) this.pausedLanes.add(lane)
      return
    }
    if (!type.startsWith('work_item_')) return
    const { item_id: id, state, lane, depends_on: dependsOn = [] } = payload
    const known = this.byId.get(id)
    if (type === 'work_item_submitted') {
      if (known !== undefined && !(ITEM_ENDS.has(known.state) && this.mayBeForgotten())) throw wrong(event, 'again')
      this.byId.set(id, { id, project: event.project, lane, state, dependsOn, sinceMs: atMs })
      return
    }
    if (known === undefined) throw wrong(event, 'of an item that was never submitted')
    if (MOVES[type]?.includes(known.state) !== true) throw wrong(event, `of an item that is ${known.state}`)
    if (type === 'work_item_cancelled' && state !== 'cancelled') throw wrong(event, `and states ${state}`)
    if (type === 'work_item_settled' && !ITEM_ENDS.has(state)) throw wrong(event, `and states ${state}`)
    if (state !== known.state) known.sinceMs = atMs
    known.state = state
    known.dependsOn = dependsOn
  }
}

function wrong(event: LoggedEvent, why: string): Violation {
  return new Violation('legal moves', `${event.type} (event ${event.sequence}) ${why}: ${event.text}`)
}
