/** Hashes of the newest ids: rows are found whatever the order they are put in and however many share a hash. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { IdHash, IdHashes } from '../../../runtime/stream/id-hashes.ts'

/** Every row with this hash, newest first. */
function rowsOf(hashes: IdHashes, hash: number): number[] {
  const rows: number[] = []
  let row = hashes.newestBefore(Number.POSITIVE_INFINITY, hash)
  for (; row > 0; row = hashes.newestBefore(row, hash)) rows.push(row)
  return rows
}

/** So many rows are added, and these of them are put, in some order. */
const arrival = fc.record({
  rows: fc.nat(12),
  puts: fc.array(fc.record({ back: fc.nat(12), hash: fc.constantFrom(1, 2, 3, 17, 18, 0x10001, 0xffffffff) }), {
    maxLength: 12,
  }),
})

t.test('a put row within the newest rowsMax is found by its hash, newest first, and no other row is', async () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 9 }),
    fc.array(arrival, { maxLength: 40 }),
    (rowsMax, arrivals) => {
      const hashes = new IdHashes(rowsMax)
      const model = new Map<number, number>()
      let top = 0
      for (const { rows, puts } of arrivals) {
        top += rows
        hashes.moveTo(top)
        for (const { back, hash } of puts) {
          const sequence = top - back
          if (sequence < 1 || sequence <= top - rowsMax || model.has(sequence)) continue
          hashes.put(sequence, hash)
          model.set(sequence, hash)
        }
        for (const hash of [1, 2, 3, 17, 18, 0x10001, 0xffffffff, 33]) {
          const expected = [...model].filter(([sequence, held]) => held === hash && sequence > top - rowsMax)
          const rowsFound = rowsOf(hashes, hash)
          const rowsExpected = expected.map(([sequence]) => sequence).sort((a, b) => b - a)
          if (String(rowsFound) !== String(rowsExpected)) throw new Error(`${hash}: ${rowsFound}, not ${rowsExpected}`)
        }
      }
    },
  )
  fc.assert(property, { numRuns: 1_000 })
})

t.test('the table is rebuilt before it is full, again and again', async (t) => {
  const hashes = new IdHashes(100)
  for (let sequence = 1; sequence <= 5_000; sequence += 1) {
    hashes.moveTo(sequence)
    hashes.put(sequence, sequence * 7)
  }
  for (let sequence = 4_901; sequence <= 5_000; sequence += 1) t.same(rowsOf(hashes, sequence * 7), [sequence])
  t.same(rowsOf(hashes, 4_900 * 7), [])
})

/** The same digits in each run. */
const digits = (count: number): string =>
  createHash('shake256', { outputLength: count / 2 })
    .update('seed')
    .digest('hex')

t.test('every digit of an id at every place changes its hash, and the random words decide how', async (t) => {
  const hash = new IdHash(digits)
  const id = `evt_${'0'.repeat(128)}`
  const seen = new Set([hash.of(id)])
  for (let place = 0; place < 128; place += 1)
    for (const digit of '123456789abcdef') seen.add(hash.of(`${id.slice(0, 4 + place)}${digit}${id.slice(5 + place)}`))
  t.equal(seen.size, 1 + 128 * 15)
  t.equal(new IdHash(digits).of(id), hash.of(id))
  const other = new IdHash((count) => digits(count + 2).slice(2))
  t.not(other.of(id), hash.of(id))
  t.equal(new IdHash((count) => '0'.repeat(count)).of(id), 1, 'never 0')
})
