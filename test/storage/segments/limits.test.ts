/** A file system that is full, and a process that may open few files. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { segmentPath, segmentsIn } from '../../../storage/home/home-paths.ts'
import { Segment } from '../../../storage/segments/segment.ts'
import { SegmentedLog } from '../../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../../storage/segments/tables.ts'

const CHILD = fileURLToPath(new URL('./limits-child.js', import.meta.url))
const root = t.testdir()
const newFolder = (): string => mkdtempSync(join(root, 'log-'))

interface Told {
  readonly failure?: string
  readonly later?: string
  readonly last: number
  readonly count: number
}

/** Runs the child under a limit of the shell, and returns what it prints. */
function under(limit: string, ...args: readonly (string | number)[]): Told {
  const command = `trap '' XFSZ; ulimit ${limit}; exec "${process.execPath}" "${CHILD}" ${args.join(' ')}`
  const { stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' })
  t.equal(stderr, '')
  return JSON.parse(stdout) as Told
}

/** Asserts that the log holds these keys, each with a text of this many characters. */
function assertRows(folder: string, last: number, chars: number): void {
  const log = new SegmentedLog(folder, { readOnly: true })
  const rows = [...tablesOf(log).events.getRange()]
  t.same(
    rows.map(({ key }) => key),
    Array.from({ length: last }, (_, i) => i + 1),
  )
  t.ok(rows.every(({ value }) => value === 'x'.repeat(chars)))
  log.assertEvery()
  void log.close()
}

t.test(
  'rows that a full disk refused are neither acknowledged nor there, and appending works again once there is space',
  async () => {
    const folder = newFolder()
    // In blocks of 512 bytes: 64 KiB.
    const told = under('-f 128', folder, 1e6, 1_000)
    t.match(told, { failure: 'EFBIG', later: 'EFBIG', count: told.last })
    t.ok(told.last > 50)
    t.ok(statSync(segmentPath(folder, 1)).size < 65_536, 'the part of it that was written is cut off')
    assertRows(folder, told.last, 1_000)
    t.match(under('-f unlimited', folder, 1e6, 1_000, 10), { last: told.last + 10 })
    assertRows(folder, told.last + 10, 1_000)
  },
)

t.test('a file without space for its end is not full, and is ended once there is space', async () => {
  const folder = newFolder()
  const told = under('-f 128', folder, 65_000, 1)
  t.match(told, { failure: 'EFBIG', later: 'EFBIG', count: told.last })
  t.same(segmentsIn(folder), [1])
  t.ok(statSync(segmentPath(folder, 1)).size < 65_536)
  assertRows(folder, told.last, 1)
  t.match(under('-f unlimited', folder, 65_000, 1, 10), { last: told.last + 10 })
  t.same(segmentsIn(folder), [1, 2])
  assertRows(folder, told.last + 10, 1)
})

t.test(
  'while no other file can be opened a full file takes more rows, and the next is begun once one can be',
  async (t) => {
    const folder = newFolder()
    t.match(under('-n 64', folder, 1_000, 100, 20, 50), { last: 70, count: 70 })
    assertRows(folder, 70, 100)
    t.ok(segmentsIn(folder).length > 1)
    t.ok(statSync(segmentPath(folder, 1)).size > 50 * 100)
  },
)

t.test('a next file that cannot be created ends the writing, and the next process creates it', async (t) => {
  const folder = newFolder()
  const log = new SegmentedLog(folder, { readOnly: false, segmentBytesMax: 1 })
  const { events } = tablesOf(log)
  const append = (key: number) => log.transactionSync(() => events.append(key, ['x']))
  append(1)
  mkdirSync(segmentPath(folder, 3))
  t.throws(() => append(2), { code: 'EISDIR' })
  t.throws(() => append(2), { code: 'EISDIR' }, 'nothing is written any more')
  t.same([...events.getKeys()], [1])
  await log.close()
  rmdirSync(segmentPath(folder, 3))
  assertRows(folder, 1, 1)
  t.match(under('-f unlimited', folder, 1, 1, 5), { last: 6, count: 6 })
  assertRows(folder, 6, 1)
})

const BY_ANOTHER = { name: 'HomeRefused', code: 'locked', message: /another process wrote to this log.*: stop one/ }
const append = (log: SegmentedLog, key: number) => log.transactionSync(() => tablesOf(log).events.append(key, ['x']))

t.test('a writer refuses to cut off what another process wrote after it opened the log', async (t) => {
  const folder = newFolder()
  const logs = [1, 2].map(() => new SegmentedLog(folder, { readOnly: false }))
  append(logs[0]!, 1)
  t.throws(() => logs[1]!.sync(), BY_ANOTHER)
  t.throws(() => append(logs[1]!, 1), BY_ANOTHER)
  append(logs[0]!, 2)
  assertRows(folder, 2, 1)
  for (const log of logs) await log.close()
})

t.test('a writer refuses to cut off a frame that another process was writing when it opened the log', async (t) => {
  const folder = newFolder()
  const path = segmentPath(folder, 1)
  const log = new SegmentedLog(folder, { readOnly: false })
  for (const key of [1, 2]) append(log, key)
  await log.close()
  const whole = readFileSync(path)
  const shorter = whole.subarray(0, whole.length - 8)
  const asLong = Buffer.concat([shorter, Buffer.alloc(8)])
  for (const [seen, now] of [
    [shorter, whole],
    [asLong, whole],
    [whole.subarray(0, whole.length - 16), shorter],
  ] as const) {
    writeFileSync(path, seen)
    const late = new SegmentedLog(folder, { readOnly: false })
    writeFileSync(path, now)
    t.throws(() => late.sync(), BY_ANOTHER)
    t.throws(() => append(late, 2), BY_ANOTHER)
    await late.close()
    t.same(readFileSync(path), now)
  }
})

t.test('a writer refuses to cut off what another process writes while it looks at the file', async (t) => {
  const folder = newFolder()
  const log = new SegmentedLog(folder, { readOnly: false })
  append(log, 1)
  const late = Segment.open(folder, 1, 'written')!
  late.follow('checked', () => append(log, 2))
  t.throws(() => late.cut(), BY_ANOTHER)
  late.close()
  await log.close()
  assertRows(folder, 2, 1)
})

t.test('a writer refuses to begin a next file that another process has begun', async (t) => {
  const folder = newFolder()
  const options = { readOnly: false, segmentBytesMax: 1 }
  const log = new SegmentedLog(folder, options)
  for (const key of [1, 2]) append(log, key)
  await log.close()
  const path = segmentPath(folder, 3)
  const whole = readFileSync(path)
  for (const seen of [undefined, whole.subarray(0, 0), whole.subarray(0, 20)]) {
    if (seen === undefined) rmSync(path)
    else writeFileSync(path, seen)
    const late = new SegmentedLog(folder, options)
    writeFileSync(path, whole)
    late.sync()
    t.throws(() => append(late, 2), BY_ANOTHER)
    await late.close()
    assertRows(folder, 2, 1)
  }
})

t.test('a log of more files than a process may open can be read and written', async () => {
  const folder = newFolder()
  t.match(under('-n 256', folder, 1, 10, 150), { last: 150 })
  t.match(under('-n 100', folder, 1, 10, 20), { last: 170, count: 170 })
  t.ok(segmentsIn(folder).length > 160)
})
