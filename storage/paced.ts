/** Long reads beside a running service: other work waits for at most this many rows. */
const ROWS_A_TURN = 1_000

/** The same rows, with a pause for one turn of the event loop after every ROWS_A_TURN rows. */
export async function* paced<R>(rows: Iterable<R>): AsyncGenerator<R> {
  let count = 0
  for (const row of rows) {
    yield row
    count += 1
    if (count % ROWS_A_TURN === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
