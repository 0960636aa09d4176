/** Reads until what was read satisfies the check: what follows a commit through the outbox comes a turn later. */
export async function until<T>(read: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  let last = await read()
  for (let tries = 0; tries < 300 && !holds(last); tries++) {
    await new Promise((resolve) => setTimeout(resolve, tries < 20 ? 1 : 10))
    last = await read()
  }
  if (!holds(last)) throw new Error(`it never came to that: ${JSON.stringify(last)}`)
  return last
}
