/**
 * Rewrites 5,000 rows over and over, each time in one `batch`, until it is killed: more rows than lmdb-js starts a
 * write with.
 */
import { writeSync } from 'node:fs'
import { open } from 'lmdb'

const ROWS = 5_000
const env = open({ path: process.argv[2]!, overlappingSync: false, maxDbs: 4 })
const rows = env.openDB<string, number>('rows', { encoding: 'string' })
let generation = Number(rows.get(0) ?? 0)
for (;;) {
  generation += 1
  await env.batch(() => {
    for (let row = 0; row < ROWS; row += 1) rows.put(row, String(generation))
  })
  writeSync(1, `${generation}\n`)
}
