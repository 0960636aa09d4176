/**
 * Numbers of the messages that an actor sends to other actors. A receiver remembers, by the sender's name, the last
 * number it applied. A name comes back when retention has forgotten its entity and the key is used again. So each life
 * of a name counts from above every number that earlier lives can have used: its messages are not mistaken for theirs,
 * and a row of theirs that is still undelivered is not overwritten.
 */

/** No number of the earlier versions, which counted each life from 1, exceeds this. */
const COUNTED_FROM_ONE_MAX = 1_000_000_000_000

/**
 * Messages follow from events in the log, a few for each event, so between two lives of one name there is
 * more room than the first can have used. Exact (below 2^53) for 35 million million events.
 */
const ROOM_PER_EVENT = 256

/**
 * The number after `last`, which is 0 for an actor that has sent nothing. `sequence` is the log's last event: a count
 * that no clock sets back, and that a restore sets back only together with all numbers derived from it.
 */
export function nextMessageNumber(last: number, sequence: number): number {
  return last > COUNTED_FROM_ONE_MAX ? last + 1 : COUNTED_FROM_ONE_MAX + sequence * ROOM_PER_EVENT + 1
}
