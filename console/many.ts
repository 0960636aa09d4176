/** What is done to many things that were selected: each by its own request, some at a time; what is refused is told. */
import type { Document, Problem } from './document.ts'

/** Requests under way at once: the service answers one after the other, and others want to be served, too. */
const AT_ONCE_MAX = 8

export interface RefusedOne {
  readonly of: Document
  readonly problem: Problem
}

/**
 * Calls `send` for each of them, in their order, and `onDone` with how many have been answered so far. Returns those
 * that were refused. `send` answers the problem, and must not reject.
 */
export async function sendMany(
  all: readonly Document[],
  send: (of: Document) => Promise<Problem | undefined>,
  onDone: (count: number) => void,
): Promise<readonly RefusedOne[]> {
  const refused: (RefusedOne | undefined)[] = all.map(() => undefined)
  let next = 0
  let done = 0
  const work = async (): Promise<void> => {
    while (next < all.length) {
      const at = next++
      const problem = await send(all[at]!)
      if (problem !== undefined) refused[at] = { of: all[at]!, problem }
      onDone(++done)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, work))
  return refused.filter((one) => one !== undefined)
}

/** The selection after a click on `key`: with the shift key, all from the one clicked last take its new state. */
export function selectedAfter(
  selected: ReadonlySet<string>,
  keys: readonly string[],
  { key, from, isOn }: { readonly key: string; readonly from: string | undefined; readonly isOn: boolean },
): ReadonlySet<string> {
  const end = keys.indexOf(key)
  const start = from === undefined ? -1 : keys.indexOf(from)
  const changed = start < 0 ? [key] : keys.slice(Math.min(start, end), Math.max(start, end) + 1)
  const after = new Set(selected)
  for (const one of changed) {
    if (isOn) after.add(one)
    else after.delete(one)
  }
  return after
}
