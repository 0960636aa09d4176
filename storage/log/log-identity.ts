/**
 * Which log it is, and which of its incarnations recorded an event. Each start of a service that may write is one. A copy of a
 * home that is put back as it is goes on with the epoch and the numbers of what it lacks; what the lost service gave out of those
 * events names its own incarnation, and this log knows them under another or not at all.
 */
import { HEAD_EPOCH, HEAD_INCARNATIONS } from '../environments.ts'
import type { Nature } from '../nature.ts'

const EPOCH_CHARS = 12
/** 30 random bits: one cursor in a thousand million is taken for what it is not. */
const INCARNATION_CHARS = 6
const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

/** So many are kept: what an older one recorded is known to be of the log, and no longer of which start. */
const INCARNATIONS_MAX = 1_000

/** What tells the events of one log from those of all others. */
export interface LogIdentity {
  /** Made when the log is created or restored. */
  readonly epoch: string
  /** Of the start that recorded the event with this sequence; undefined where that is not known, and for 0. */
  incarnationAt(sequence: number): string | undefined
}

/** The first event that it recorded, or will; its name. */
type Incarnation = readonly [firstSequence: number, name: string]

/** In order. Those that recorded nothing are not kept. */
export type Incarnations = readonly Incarnation[]

/** Identity of a new log: 60 random bits. */
export function mintEpoch(nature: Pick<Nature, 'randomHex'>): string {
  return mint(nature, EPOCH_CHARS)
}

export function incarnationsIn(text: string | undefined): Incarnations {
  return text === undefined ? [] : (JSON.parse(text) as Incarnations)
}

/** @param log what it holds now: what is older than its oldest event needs no name, but for the place before that event. */
export function withNewIncarnation(
  known: Incarnations,
  { oldestSequence, lastSequence }: { readonly oldestSequence: number; readonly lastSequence: number },
  nature: Pick<Nature, 'randomHex'>,
): Incarnations {
  const kept = known.filter(([first], i) => {
    const next = known[i + 1]?.[0] ?? Number.POSITIVE_INFINITY
    return first <= lastSequence && next >= oldestSequence
  })
  return [...kept.slice(1 - INCARNATIONS_MAX), [lastSequence + 1, mint(nature, INCARNATION_CHARS)]]
}

/** Hot for the newest, which is looked at first. */
export function incarnationAt(known: Incarnations, sequence: number): string | undefined {
  for (let i = known.length - 1; i >= 0; i -= 1) if (known[i]![0] <= sequence) return known[i]![1]
  return undefined
}

/**
 * Whether what this incarnation recorded at this place is what the log holds there, as far as it knows; of what was recorded
 * before incarnations were kept it does not.
 */
export function isKnownBy(log: LogIdentity, place: { sequence: number; incarnation?: string | undefined }): boolean {
  const recordedBy = log.incarnationAt(place.sequence)
  return recordedBy === undefined || recordedBy === place.incarnation
}

/** Of a log as its head tells. */
export function identityIn(head: Readonly<Record<string, string | undefined>>): LogIdentity {
  const known = incarnationsIn(head[HEAD_INCARNATIONS])
  return { epoch: head[HEAD_EPOCH] ?? '', incarnationAt: (sequence) => incarnationAt(known, sequence) }
}

function mint(nature: Pick<Nature, 'randomHex'>, chars: number): string {
  let name = ''
  for (const byte of Buffer.from(nature.randomHex(2 * chars), 'hex')) name += ALPHABET[byte % ALPHABET.length]
  return name
}
