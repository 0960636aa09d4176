/**
 * An error in a log line: pino's own fields, and a message that says each cause once. Invariant: no error ends the
 * logging, whatever it names as its causes.
 */
import { stdSerializers } from 'pino'

/** Most causes in a message: a chain may be a ring. */
const CAUSES_MAX = 20

export function errorFields(error: Error): object {
  if (!(error instanceof Error)) return stdSerializers.err(error)
  return { ...fieldsOf(error), message: messageOf(error, [error]) }
}

/** Pino goes through the errors of an AggregateError, and through theirs, without looking where it has been. */
function fieldsOf(error: Error): object {
  try {
    return stdSerializers.err(error)
  } catch {
    return { type: error.name, stack: error.stack }
  }
}

/** The messages of the error and its causes, without those that an outer one repeats. `told`: the error and those around it. */
function messageOf({ message, cause }: Error, told: readonly Error[]): string {
  if (!(cause instanceof Error) || told.includes(cause) || told.length > CAUSES_MAX) return message
  const inner = messageOf(cause, [...told, cause])
  return message.includes(cause.message) ? message.replace(cause.message, () => inner) : `${message}: ${inner}`
}
