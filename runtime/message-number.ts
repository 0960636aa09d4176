/**
 * Numbers of the messages that an actor sends to others. Who gets them remembers, by the sender's name, the last number
 * that it applied; and a name comes back, when retention has forgotten who had it and its key is used again. So each life
 * counts on above all that the lives before it can have counted: what it says is not taken for what they said, and a row
 * of theirs that is still under way is not written over.
 */

/** Above the numbers of earlier versions, which counted each life from 1. */
const COUNTED_FROM_ONE_MAX = 1_000_000_000_000

/**
 * What is sent follows from what the log is told, a few messages for an event: between two lives of one name there is
 * more room than the first can have used. Exact (below 2^53) for 35 million million events.
 */
const ROOM_PER_EVENT = 256

/**
 * The number behind `last`, which is 0 of who has sent nothing. `sequence` is the log's last event: a count that no clock
 * sets back, and that a restore sets back only together with all numbers that were made of it.
 */
export function nextMessageNumber(last: number, sequence: number): number {
  return last > COUNTED_FROM_ONE_MAX ? last + 1 : COUNTED_FROM_ONE_MAX + sequence * ROOM_PER_EVENT + 1
}
