/**
 * Times for the events that a runner states. Two readings are never the same, because an event's id is computed
 * from its content: two equal output lines with an equal time would be one event.
 */

let lastMicros = 0

/** Now, RFC 3339 in UTC with microseconds, later than every reading before in this process. */
export function occurredAt(): string {
  lastMicros = Math.max(lastMicros + 1, Date.now() * 1000)
  const micros = String(lastMicros % 1000).padStart(3, '0')
  return `${new Date(Math.floor(lastMicros / 1000)).toISOString().slice(0, -1)}${micros}Z`
}
