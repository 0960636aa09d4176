/** What an intent record remembers, and the messages it takes. */

import type { ClassificationWord } from '../documents/drift.ts'
import type {
  IntentEvidence,
  IntentRecord,
  IntentRecordCreate,
  IntentRecordPatch,
  RelationshipBody,
} from '../documents/intent-record.ts'
import type { ObserveMessage } from '../documents/observation.ts'
import type { KeptDrift } from '../drift/state.ts'
import type { By, Message, MessageBody } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../repeated-create.ts'

export type Evidence = Omit<IntentEvidence, 'latest'>
export type Source = Omit<NonNullable<IntentRecord['sources']>[number], 'untrusted'>
type Judgement = Pick<
  IntentRecord,
  | 'title'
  | 'capability'
  | 'threat'
  | 'expectation'
  | 'strategy'
  | 'tradeoff'
  | 'evidence_summary'
  | 'confidence'
  | 'scope'
>

/** What the record says; any change to it makes a new version. */
export interface RecordContent extends Judgement {
  readonly sources?: readonly Source[]
  readonly evidence: readonly Evidence[]
}

/** The content as a person or a hypothesis gives it: evidence entries have no ids yet. */
export type ContentGiven = Omit<IntentRecordCreate, 'slug' | 'state'>

export interface Relationship {
  readonly id: string
  readonly type: RelationshipBody['type']
  readonly to: string
  readonly notes?: string
  readonly by?: By
  readonly at: string
}

export interface IntentRecordContext extends KeptDrift {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  readonly slug: string
  readonly content: RecordContent
  readonly version: number
  readonly versioned_at: string
  readonly relationships: readonly Relationship[]
  readonly supersedes: readonly string[]
  readonly superseded_by?: string
  readonly hypothesis_id?: string
  readonly reason?: string | undefined
  readonly state_by?: By | undefined
  readonly state_at: string
  readonly created_by?: By
  readonly created_at: string
  readonly internal: {
    readonly creation: CreationRecord
    /** How many ids were given out so far: an id is never reused. */
    readonly evidence_count: number
    readonly relationship_count: number
  }
}

interface Named {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly slug: string
  readonly content: ContentGiven
}

interface CreateIntentRecord extends CreateBody, Named {
  readonly state?: 'proposed' | 'hypothesized'
}

/** From an accepted hypothesis. A record that already has the slug answers with `slug_taken`. */
export interface MakeIntentRecord extends MessageBody, Named {
  readonly type: 'make'
  readonly hypothesis_id: string
}

interface UpdateIntentRecord extends MessageBody {
  readonly type: 'update'
  readonly patch: IntentRecordPatch
  /** The version that the caller has read; if absent, any will do. */
  readonly if_version?: number
  /** Whether the caller may change accepted content. */
  readonly may_rewrite: boolean
}

interface MoveIntentRecord extends MessageBody {
  readonly type: 'accept' | 'activate' | 'deprecate' | 'contradict'
  readonly reason?: string
  /** The version that the caller has read; if absent, any will do. */
  readonly if_version?: number
}

interface SupersedeIntentRecord extends MessageBody {
  readonly type: 'supersede'
  /** Id of the record that replaces this one, and its key and state, read while nobody else could end it. */
  readonly replacement?: string
  readonly replacement_key?: string
  readonly replacement_state?: string
  readonly reason?: string
  /** The version that the caller has read; if absent, any will do. */
  readonly if_version?: number
}

/** From the record that this one replaces. */
interface TakePlace extends MessageBody {
  readonly type: 'take_place'
  readonly of: string
}

interface RelateIntentRecord extends MessageBody {
  readonly type: 'relate'
  readonly relation: RelationshipBody['type']
  readonly to: string
  readonly notes?: string
  /** Whether the other record guides runs, as read when the message was made. */
  readonly to_guides: boolean
  /** Whether the caller may change the standing of accepted content. */
  readonly may_rewrite: boolean
}

interface UnrelateIntentRecord extends MessageBody {
  readonly type: 'unrelate'
  readonly relationship_id: string
  /** Whether the caller may change the standing of accepted content. */
  readonly may_rewrite: boolean
}

/**
 * Between two records in conflict: whether the sender guides runs. `declared`: the sender has just declared the
 * conflict and wants to know the same of the receiver; `withdrawn`: it no longer declares it.
 */
interface PeerConflict extends MessageBody {
  readonly type: 'peer_conflict'
  /** Id and key of the sender. */
  readonly with: string
  readonly key: string
  readonly guiding: boolean
  readonly said?: 'declared' | 'withdrawn'
}

interface ClassifyDrift extends MessageBody {
  readonly type: 'classify'
  readonly classification: ClassificationWord | 'none'
  readonly reason?: string
  readonly review_at?: string
}

/** A brief to repair the drift was drafted. */
interface RepairDrafted extends MessageBody {
  readonly type: 'repair_drafted'
  readonly formation_brief_id: string
}

export type IntentRecordBody =
  | CreateIntentRecord
  | MakeIntentRecord
  | UpdateIntentRecord
  | MoveIntentRecord
  | SupersedeIntentRecord
  | TakePlace
  | RelateIntentRecord
  | UnrelateIntentRecord
  | PeerConflict
  | ObserveMessage
  | ClassifyDrift
  | RepairDrafted
export type IntentRecordMessage = Message<IntentRecordBody>
export type Of<T extends IntentRecordBody['type']> = Message<Extract<IntentRecordBody, { type: T }>>
/** The messages that change its state. */
export type Moves = (MoveIntentRecord | SupersedeIntentRecord)['type']
export type Change = Partial<IntentRecordContext>
