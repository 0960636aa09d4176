/**
 * The fields that several documents share, each with its bound and its description, so that a rule about an id,
 * a time or a label is written once. Every string and array of a request is bounded by a named constant here.
 */
import { idPattern } from '../ids.ts'
import { inPrompt, stringEnum, type TSchema, Type } from '../schema.ts'

/** Longest key, name or id chosen by a caller: fits into an LMDB key together with its prefix. */
export const NAME_LENGTH_MAX = 128
/** Longest one-paragraph text: a reason, a message, a note. */
export const TEXT_LENGTH_MAX = 4_000
/** Longest free text: a statement, a mission, a prompt. */
export const LONG_TEXT_LENGTH_MAX = 32_000
/** Longest URI, path or revision. */
export const REFERENCE_LENGTH_MAX = 2_048
/** Most labels of a runner or a request: each is an index row. */
const LABELS_MAX = 32
const LABEL_LENGTH_MAX = 63
/** Most projects that a runner or a token lists by key. */
const PROJECTS_MAX = 1_000
/** Most entries of a list inside a document. */
export const LIST_MAX = 256
/** Most events in one post of events. */
export const EVENTS_A_POST_MAX = 1_000
/** Longest idempotency key (as in the Idempotency-Key header). */
export const IDEMPOTENCY_KEY_LENGTH_MAX = 255
/** A key in a header: printable ASCII without white space at either end. */
export const HEADER_KEY = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** Schema of an id made by the service: its prefix, `_` and 24 hexadecimal digits. */
export function serviceId(prefix: string, description: string) {
  return Type.String({ pattern: `^${idPattern(prefix)}$`, description })
}

export function time(description: string) {
  return Type.String({ format: 'date-time', maxLength: 40, description })
}

export function text(description: string) {
  return Type.String({ maxLength: TEXT_LENGTH_MAX, description })
}

/** A text that prompts always have in full; only invisible characters take more than four bytes. */
export function prompted(description: string, maxLength: number = TEXT_LENGTH_MAX) {
  const told = `${description} Invisible characters count as they are written out.`
  return Type.String({ minLength: 1, maxLength, pattern: '\\S', description: told, ...inPrompt(4 * maxLength) })
}

export function name(description: string) {
  return Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX, description })
}

/**
 * No control character and no line terminator (`.` is none). Generated clients compile it without the flag `u` or write
 * its escapes as characters: no property of Unicode, no escape of a line terminator.
 */
const ONE_LINE_PATTERN = '^(?!.*[\\u0000-\\u001f\\u007f-\\u009f]).*$'

/** The same, and not blank. */
const SHOWN_LINE_PATTERN = ONE_LINE_PATTERN.replace('.*$', '.*\\S.*$')

/** One line of text: it can neither control a terminal nor break a line of a log, and there is something to see. */
export function oneLine(description: string, maxLength: number) {
  return Type.String({ minLength: 1, maxLength, pattern: SHOWN_LINE_PATTERN, description })
}

/** Longest ref that a run may state: longer than any that git makes, or a path to a bundle. */
const REF_LENGTH_MAX = 4_096
const ONE_LINE = new RegExp(ONE_LINE_PATTERN)

export function statedRef(description: string) {
  return Type.String({ maxLength: REF_LENGTH_MAX, pattern: ONE_LINE_PATTERN, description })
}

/** The ref in a payload, which may have come through an endpoint that does not check it; undefined if it is none. */
export function refIn(stated: unknown): string | undefined {
  return typeof stated === 'string' && stated.length <= REF_LENGTH_MAX && ONE_LINE.test(stated) ? stated : undefined
}

/** A display name: of a token, a project, a runner. */
export function shownName(description: string) {
  return oneLine(description, NAME_LENGTH_MAX)
}

export function reference(description: string) {
  return Type.String({ minLength: 1, maxLength: REFERENCE_LENGTH_MAX, description })
}

export function strings(description: string, itemLengthMax: number = TEXT_LENGTH_MAX) {
  return Type.Array(Type.String({ minLength: 1, maxLength: itemLengthMax }), { maxItems: LIST_MAX, description })
}

/** `:` and `/` are excluded because they separate the parts of paths and index keys. */
export const RUNNER_ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'

export function runnerId(description: string) {
  return Type.String({ pattern: RUNNER_ID_PATTERN, description })
}

/** A slug, or the name of a campaign or an initiative: part of paths, index keys and events. */
export const SLUG_PATTERN = '^[a-z0-9][a-z0-9_-]{0,62}$'

/** `system` is the service's own, and a key must not look like an id, since every `:id` of a project takes either. */
export const PROJECT_KEY_PATTERN = '^(?!proj_)(?!system$)[a-z0-9][a-z0-9_-]{0,62}$'

export function projectKey(description: string) {
  return Type.String({ pattern: PROJECT_KEY_PATTERN, description })
}

export function digest(description: string) {
  return Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description })
}

/** W3C trace context: 16 bytes, not all zero. */
export const TRACE_ID_PATTERN = '^(?!0{32}$)[0-9a-f]{32}$'

export function traceId(description: string) {
  return Type.String({ pattern: TRACE_ID_PATTERN, description })
}

export function spanId(description: string) {
  return Type.String({ pattern: '^(?!0{16}$)[0-9a-f]{16}$', description })
}

const LABEL = { pattern: `^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,${LABEL_LENGTH_MAX - 1}}$`, maxLength: LABEL_LENGTH_MAX }

export function label(description: string) {
  return Type.String({ ...LABEL, description })
}

export function labels(description: string) {
  return Type.Array(Type.String(LABEL), { maxItems: LABELS_MAX, uniqueItems: true, description })
}

/** A list of project keys, or just `*` for all of them; empty means none. */
export function projects(description: string) {
  return Type.Array(Type.String({ pattern: `^\\*$|${PROJECT_KEY_PATTERN}` }), {
    maxItems: PROJECTS_MAX,
    uniqueItems: true,
    description,
  })
}

export const THROTTLES = ['full', 'dry_run'] as const

/** The same schema for a create body, where the field may be omitted; its description names the default. */
export function byDefault<const S extends TSchema>(schema: S, value: string): S {
  const { description } = schema as { readonly description?: string }
  return { ...schema, description: `${description} Default \`${value}\`.` }
}

export const throttle = stringEnum(THROTTLES, {
  description: '`full` may make changes; `dry_run` only simulates them.',
})

/** Longest description of where a person acted from: a host's name and a sentence. */
const ORIGIN_LENGTH_MAX = 256

/** Opaque; never parsed. */
export function originText(description: string) {
  return oneLine(description, ORIGIN_LENGTH_MAX)
}

/** Who did something: the token's id and its name at that time, and where a person did it from. */
export const by = Type.Object(
  {
    id: Type.String({ maxLength: NAME_LENGTH_MAX, description: 'Id of the token, or of the runner.' }),
    name: Type.String({ maxLength: NAME_LENGTH_MAX, description: 'Its name.' }),
    origin: Type.Optional(
      Type.String({
        description: 'Where it came from, as stated, or else `<token name>@<peer address>`. Not present for runners.',
      }),
    ),
  },
  { title: 'Actor', description: 'Who did it.' },
)

export const CLOSED = { additionalProperties: false } as const
