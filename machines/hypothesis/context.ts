/** What a hypothesis remembers, and the messages it takes. */
import type { HypothesisDrawn } from '../documents/discovery.ts'
import type { ContentGiven } from '../intent-record/context.ts'
import type { By, Message, MessageBody } from '../machine.ts'

export interface HypothesisContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  /** The words of the discovery that opened it. */
  readonly says: HypothesisDrawn & { readonly key: string }
  readonly discovery_id: string
  readonly revision?: string
  readonly files: readonly string[]
  readonly sightings: number
  readonly last_seen?: { readonly discovery_id: string; readonly confidence: number; readonly at: string }
  readonly intent_record_id?: string
  readonly edited?: readonly string[]
  readonly reason?: string | undefined
  readonly decided_by?: By | undefined
  readonly decided_at?: string
  readonly created_by?: By
  readonly created_at: string
  readonly internal: {
    /** The newest discoveries that have drawn it: each counts once. */
    readonly discoveries: readonly string[]
    /** The record that was requested, kept while its slug may turn out to be taken. */
    readonly record?: RecordAsked
    /** Hash of the acceptance: tells a repeat of the same post from a different one. */
    readonly fingerprint?: string
  }
}

export interface RecordAsked {
  /** As the reviewer wanted it, or as derived from the title. */
  readonly slug: string
  /** How many slugs were tried. */
  readonly tries: number
  readonly content: ContentGiven
}

/** From a discovery that has drawn it. The first one opens the hypothesis, later ones are sightings. */
export interface OpenHypothesis extends MessageBody {
  readonly type: 'open'
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly discovery_id: string
  readonly revision?: string
  readonly files: readonly string[]
  readonly says: HypothesisContext['says']
}

interface AcceptHypothesis extends MessageBody {
  readonly type: 'accept'
  readonly slug: string
  readonly content: ContentGiven
  readonly edited: readonly string[]
  readonly reason?: string
  readonly fingerprint: string
}

interface RejectHypothesis extends MessageBody {
  readonly type: 'reject'
  readonly reason: string
}

/** From the record that already has the slug. */
interface SlugTaken extends MessageBody {
  readonly type: 'slug_taken'
  readonly slug: string
}

export type HypothesisBody = OpenHypothesis | AcceptHypothesis | RejectHypothesis | SlugTaken
export type HypothesisMessage = Message<HypothesisBody>
export type Of<T extends HypothesisBody['type']> = Message<Extract<HypothesisBody, { type: T }>>
