/** What a sentinel remembers and the messages it takes. `internal` is never served. */
import type { LastFiring, SentinelCreate, SkipCode, Skipping } from '../documents/sentinel.ts'
import type { By, MessageBody } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../repeated-create.ts'

/** What it is, as somebody has asked for it. */
interface Asked {
  readonly name: string
  readonly project: string
  readonly project_id: string
  readonly cron: string
  readonly time_zone: string
  readonly item: SentinelCreate['item']
}

export interface SentinelContext extends Asked {
  /** Who added it or has changed it last: its items are submitted in that name. */
  readonly by: By
  readonly created_at: string
  readonly updated_at?: string | undefined
  /** Undefined unless it is active and its time zone is known. */
  readonly next_at?: string | undefined
  readonly last?: LastFiring | undefined
  readonly skipping?: Skipping | undefined
  readonly fired: number
  readonly internal: {
    readonly creation: CreationRecord
    /** The latest time at which it fell due, as far as that counts: it does so once, even if the clock is set back. */
    readonly due_at?: string
    /** The last items that it has submitted since somebody has looked after it, oldest first. */
    readonly recent?: readonly string[]
  }
}

/** Why nothing is to be submitted now, although the service runs. */
export interface WhyNot {
  readonly code: Exclude<SkipCode, 'missed' | 'unknown_time_zone'>
  /** The unsettled item that asks for the same; absent while that is on its way. */
  readonly item_id?: string
}

type CreateSentinel = CreateBody & Asked

/** Omitted members stay as they are. */
interface UpdateSentinel extends MessageBody, Partial<Pick<Asked, 'cron' | 'time_zone' | 'item'>> {
  readonly type: 'update'
}

/** From its timer. The runtime adds `why_not`. */
interface FallDue extends MessageBody {
  readonly type: 'fall_due'
  readonly due_at: string
  readonly why_not?: WhyNot
}

/** From a person: submit the item now, whatever the time. */
interface Fire extends MessageBody {
  readonly type: 'fire'
  readonly why_not?: WhyNot
}

interface Pause extends MessageBody {
  readonly type: 'pause'
}

interface Resume extends MessageBody {
  readonly type: 'resume'
}

interface Remove extends MessageBody {
  readonly type: 'remove'
}

/** From the service, which has started, or seen that the clock was set back: it may fall due sooner than it thinks. */
interface Reckon extends MessageBody {
  readonly type: 'reckon'
}

export type SentinelBody = CreateSentinel | UpdateSentinel | FallDue | Fire | Pause | Resume | Remove | Reckon
