/**
 * How an event type is declared. Each type is classified here once (who owns it, whether it opens a span, whether it is
 * a command), so that no endpoint, machine or document needs a list of its own.
 */
import { absent, type Rule, type TSchema } from '../schema.ts'

/** Who may state an event: `service` types are refused everywhere except at import. */
type Owner = 'service' | 'engine'

export interface EventDefinition<S extends TSchema = TSchema> {
  /** Section of SPEC that names the type, or `own` for the service's own resources. */
  readonly section: string
  /** One line. */
  readonly meaning: string
  readonly payload: S
  readonly owner: Owner
  /** The event starts a span of its own; others belong to the span in which they were emitted. */
  readonly opensSpan: boolean
  /** When emitted, it becomes a run request with this type as entry event; stated on a run, it is only recorded. */
  readonly command: boolean
}

interface Classes {
  readonly opensSpan?: boolean
  readonly command?: boolean
}

/** An event type that engines and runners state. */
export function engineEvent<S extends TSchema>(
  section: string,
  meaning: string,
  payload: S,
  { opensSpan = false, command = false }: Classes = {},
): EventDefinition<S> {
  return { section, meaning, payload, owner: 'engine', opensSpan, command }
}

/** An event type that only the service states. */
export function serviceEvent<S extends TSchema>(section: string, meaning: string, payload: S): EventDefinition<S> {
  return { section, meaning, payload, owner: 'service', opensSpan: false, command: false }
}

/** For payloads about documents that have a credential: events are public. */
export const noSecrets: Rule = absent(
  ['token', 'secret', 'credential', 'credentials', 'hash', 'credential_hash'],
  'an event never holds a secret',
)
