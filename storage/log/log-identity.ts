/**
 * Identifies the log, and the incarnation that recorded each event. Each start of a service that may write is one
 * incarnation. A copy of a home that is put back continues the same epoch and reuses the sequence numbers of the
 * events that it lacks. Cursors that the lost service gave out for those events carry its own incarnation, which this
 * log does not have at that sequence.
 */
import { HEAD_EPOCH, HEAD_INCARNATIONS } from '../environments.ts'
import type { Platform } from '../platform.ts'

const EPOCH_CHARS = 12
/** 30 random bits: one stale cursor in a thousand million would pass as valid. */
const INCARNATION_CHARS = 6
const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

/** How many are kept. An event of an older incarnation is known to be of this log, but no longer of which start. */
const INCARNATIONS_MAX = 1_000

/** Tells the events of one log from those of every other. */
export interface LogIdentity {
  /** Made when the log is created or restored. */
  readonly epoch: string
  /** The start that recorded the event with this sequence; undefined if that is not known, and for 0. */
  incarnationAt(sequence: number): string | undefined
}

/** The first event that the incarnation recorded, or will record, and its name. */
type Incarnation = readonly [firstSequence: number, name: string]

/** In order of their sequences. Incarnations that recorded nothing are not kept. */
export type Incarnations = readonly Incarnation[]

/** Identity of a new log: 60 random bits. */
export function mintEpoch(platform: Pick<Platform, 'randomHex'>): string {
  return mint(platform, EPOCH_CHARS)
}

export function incarnationsIn(text: string | undefined): Incarnations {
  return text === undefined ? [] : (JSON.parse(text) as Incarnations)
}

/**
 * @param log what the log holds now: incarnations that ended before the place just ahead of its oldest event are
 * dropped.
 */
export function withNewIncarnation(
  known: Incarnations,
  { oldestSequence, lastSequence }: { readonly oldestSequence: number; readonly lastSequence: number },
  platform: Pick<Platform, 'randomHex'>,
): Incarnations {
  const kept = known.filter(([first], i) => {
    const next = known[i + 1]?.[0] ?? Number.POSITIVE_INFINITY
    return first <= lastSequence && next >= oldestSequence
  })
  return [...kept.slice(1 - INCARNATIONS_MAX), [lastSequence + 1, mint(platform, INCARNATION_CHARS)]]
}

/** Hot for the newest incarnation, which is checked first. */
export function incarnationAt(known: Incarnations, sequence: number): string | undefined {
  for (let i = known.length - 1; i >= 0; i -= 1) if (known[i]![0] <= sequence) return known[i]![1]
  return undefined
}

/**
 * Whether the log holds at this place what the given incarnation recorded there. True also where the log does not know
 * its incarnation: before incarnations were kept.
 */
export function isKnownBy(log: LogIdentity, place: { sequence: number; incarnation?: string | undefined }): boolean {
  const recordedBy = log.incarnationAt(place.sequence)
  return recordedBy === undefined || recordedBy === place.incarnation
}

/** The identity of a log, from its head. */
export function identityIn(head: Readonly<Record<string, string | undefined>>): LogIdentity {
  const known = incarnationsIn(head[HEAD_INCARNATIONS])
  return { epoch: head[HEAD_EPOCH] ?? '', incarnationAt: (sequence) => incarnationAt(known, sequence) }
}

function mint(platform: Pick<Platform, 'randomHex'>, chars: number): string {
  let name = ''
  for (const byte of Buffer.from(platform.randomHex(2 * chars), 'hex')) name += ALPHABET[byte % ALPHABET.length]
  return name
}
