/** How long a slow machine may take to reach a state. */
const WAITED_MAX_MS = 25_000

/** Reads until the value satisfies the check: effects through the outbox come a turn after their commit. */
export async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  const endMs = performance.now() + WAITED_MAX_MS
  let last = await read()
  for (let tries = 0; !holds(last) && performance.now() < endMs; tries++) {
    await new Promise((resolve) => setTimeout(resolve, tries < 20 ? 1 : 10))
    last = await read()
  }
  if (!holds(last)) throw new Error(`it never came to that: ${JSON.stringify(last)}`)
  return last
}
