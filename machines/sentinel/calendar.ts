/** When a cron pattern falls due. Pure: the same pattern, zone and time give the same answer. */
import { Cron } from 'croner'

/**
 * The first time behind `afterMs` (milliseconds since the epoch) at which the pattern matches, as RFC 3339 in UTC;
 * undefined if there is none. Where clocks go forward, a time that is left out comes an hour later; where they go back,
 * a time that comes twice counts once. Throws an Error that says what is wrong with the pattern or the zone.
 */
export function nextDue(cron: string, timeZone: string, afterMs: number): string | undefined {
  return new Cron(cron, { timezone: timeZone, mode: '5-part' }).nextRun(new Date(afterMs))?.toISOString()
}
