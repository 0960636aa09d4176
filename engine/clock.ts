/**
 * Times for the events that a runner states. No two readings are equal, because an event's id is computed from its
 * content: two identical output lines with the same time would be one event.
 */

let lastMicros = 0

/** The current time, RFC 3339 in UTC with microseconds; later than every earlier reading in this process. */
export function occurredAt(): string {
  lastMicros = Math.max(lastMicros + 1, Date.now() * 1000)
  const micros = String(lastMicros % 1000).padStart(3, '0')
  return `${new Date(Math.floor(lastMicros / 1000)).toISOString().slice(0, -1)}${micros}Z`
}
