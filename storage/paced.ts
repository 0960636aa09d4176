/** Long reads beside a running service: nobody waits for more than a few rows of them. */
const ROWS_A_TURN = 1_000

/** The same rows, with a turn of the event loop now and then. */
export async function* paced<R>(rows: Iterable<R>): AsyncGenerator<R> {
  let count = 0
  for (const row of rows) {
    yield row
    count += 1
    if (count % ROWS_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
