/** What a runner remembers, and the messages it takes. */
import type { LimitedRunner } from '../documents/runner.ts'
import type { Message, MessageBody } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../repeated-create.ts'
import type { RunRight } from '../rights.ts'
import type { RunnerCredential } from './credentials.ts'

export interface RunnerContext {
  readonly id: string
  readonly name?: string
  readonly allowed_projects: readonly string[]
  readonly labels: readonly string[]
  readonly capacity: number
  readonly trusted: boolean
  /** What the tokens of its runs may do; empty: they get none. */
  readonly run_rights: readonly RunRight[]
  readonly session?: { readonly instance: string; readonly version: string; readonly started_at: string } | undefined
  /** The provider of its agents is unavailable, as far as is known. */
  readonly limited?: LimitedRunner | undefined
  readonly created_at: string
  readonly updated_at?: string
  readonly removed_at?: string
  readonly internal: {
    readonly credentials: readonly RunnerCredential[]
    /** The presence that was last stated. */
    readonly online: boolean
    /** The last stated time at which it was certainly online. Absent if it never called. */
    readonly seen_at?: string
    readonly creation: CreationRecord
    /** Outages of its provider since a run of it last completed: each pause is longer than the one before. */
    readonly outages?: number | undefined
    /** When the first of them was reported whose end nobody has stated. */
    readonly outages_since?: string | undefined
    /** The limit that ended last, by its time alone: whether its provider is back is not known yet. */
    readonly outage?: LimitedRunner | undefined
  }
}

export interface Terms {
  readonly name?: string
  readonly allowed_projects?: readonly string[]
  readonly labels?: readonly string[]
  readonly capacity?: number
  readonly trusted?: boolean
  readonly run_rights?: readonly RunRight[]
}

interface CreateRunner extends CreateBody, Terms {
  readonly draining?: boolean
  readonly id: string
  readonly credential_hash: string
}

/** Omitted members stay as they are. */
interface UpdateRunner extends MessageBody, Terms {
  readonly type: 'update'
  /** Ends its limit. */
  readonly limited?: false
  readonly draining?: boolean
}

/** A run request, and the attempt of it that the runner holds. */
export interface Holding {
  readonly id: string
  readonly attempt: number
}

interface RemoveRunner extends MessageBody {
  readonly type: 'remove'
  readonly in_flight: readonly Holding[]
}

interface RotateCredential extends MessageBody {
  readonly type: 'rotate_credential'
  readonly hash: string
}

/** A process of the runner started. */
interface StartSession extends MessageBody {
  readonly type: 'session'
  readonly instance: string
  readonly version: string
  readonly in_flight: readonly Holding[]
}

/** The process reports that it ends: nothing of it keeps running. */
interface EndSession extends MessageBody {
  readonly type: 'end_session'
  readonly instance: string
  readonly in_flight: readonly Holding[]
}

export interface CameOnline extends MessageBody {
  readonly type: 'came_online'
}

export interface WentOffline extends MessageBody {
  readonly type: 'went_offline'
  /** Its last call; absent if it has not called since the service started. */
  readonly seen_at?: string
}

/** From a run request: its runner says that the provider is unavailable. */
interface LimitRunner extends MessageBody {
  readonly type: 'limit'
  readonly run_request_id: string
  readonly code: string
  readonly message: string
  /** When the provider said that it is back, RFC 3339. */
  readonly until?: string
}

/** The limit's time is over. */
interface LimitOver extends MessageBody {
  readonly type: 'limit_over'
  /** The limit that was meant; a later one stands. */
  readonly until: string
}

/** From the dispatcher: a run of the runner has completed, so its provider answers. */
export interface ProviderAnswered extends MessageBody {
  readonly type: 'provider_answered'
  readonly run_request_id: string
}

export type RunnerBody =
  | CreateRunner
  | UpdateRunner
  | RemoveRunner
  | RotateCredential
  | StartSession
  | EndSession
  | LimitRunner
  | LimitOver
  | ProviderAnswered
  | CameOnline
  | WentOffline
export type RunnerMessage = Message<RunnerBody>
export type Of<T extends RunnerBody['type']> = Message<Extract<RunnerBody, { type: T }>>

/** The members that an update may change. */
export const SETTABLE = ['name', 'allowed_projects', 'labels', 'capacity', 'trusted', 'run_rights'] as const
