/** An error in a log line: pino's own fields, and a message that says each cause once. */
import { stdSerializers } from 'pino'

export function errorFields(error: Error): object {
  const fields = stdSerializers.err(error)
  if (error instanceof Error) fields.message = messageOf(error)
  return fields
}

/** The messages of the error and its causes, without those that an outer one repeats. */
function messageOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message
  const inner = messageOf(cause)
  return message.includes(cause.message) ? message.replace(cause.message, () => inner) : `${message}: ${inner}`
}
