/**
 * Zeros written ahead of frames: the file while it is written, after a kill and at rest, and for others that read or
 * write it.
 */
import {
  appendFileSync,
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { segmentPath } from '../../../storage/home/home-paths.ts'
import { frameOf, KIND } from '../../../storage/segments/frame.ts'
import { frameFrom, framesFrom } from '../../../storage/segments/frames-in.ts'
import { SegmentFault } from '../../../storage/segments/segment.ts'
import { SegmentedLog } from '../../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../../storage/segments/tables.ts'

const root = t.testdir()
const newFolder = (): string => mkdtempSync(join(root, 'log-'))
const opened = (folder: string, readOnly = false): SegmentedLog => new SegmentedLog(folder, { readOnly })
const append = (log: SegmentedLog, key: number, text = 'x'): void =>
  log.transactionSync(() => tablesOf(log).events.append(key, [text]))
const keysOf = (log: SegmentedLog): number[] => [...tablesOf(log).events.getKeys()]
const textsIn = async (folder: string): Promise<string[]> => {
  const log = opened(folder, true)
  try {
    log.assertEvery()
    return [...tablesOf(log).events.getRange()].map(({ value }) => value)
  } finally {
    await log.close()
  }
}
const LOCKED = { name: 'HomeRefused', code: 'locked' }
const LARGE = 'x'.repeat(100_000)

/** The size of the newest file, and how many of its bytes count. */
function sizes(folder: string, log: SegmentedLog): { size: number; bytes: number } {
  const { bytes, ordinal } = log.snapshot.segments.at(-1)!
  return { size: statSync(segmentPath(folder, ordinal)).size, bytes }
}

/** The log as a process killed now leaves it. */
function killed(folder: string): string {
  const copy = newFolder()
  cpSync(folder, copy, { recursive: true })
  return copy
}

t.test(
  'small frames do not lengthen the file, a large one does, and a closed file ends with its last frame',
  async (t) => {
    const folder = newFolder()
    const log = opened(folder)
    append(log, 1)
    const { size, bytes } = sizes(folder, log)
    t.ok(size > bytes + 100_000, `${size} bytes, of which ${bytes} count`)
    for (let key = 2; key <= 50; key += 1) append(log, key)
    t.equal(sizes(folder, log).size, size)
    for (let key = 51; sizes(folder, log).size === size; key += 1) append(log, key, LARGE)
    const grown = sizes(folder, log)
    t.equal(grown.size, grown.bytes, 'nothing is ahead of a large frame')
    const last = keysOf(log).at(-1)!
    append(log, last + 1)
    t.ok(sizes(folder, log).size > sizes(folder, log).bytes)
    const ended = sizes(folder, log).bytes
    await log.close()
    t.equal(statSync(segmentPath(folder, 1)).size, ended)
    const again = opened(folder)
    t.equal(keysOf(again).at(-1), last + 1)
    await again.close()
  },
)

t.test(
  'after a kill, every acknowledged row is there, and a partly written frame is not, whichever sectors of it are',
  async (t) => {
    const folder = newFolder()
    const log = opened(folder)
    for (let key = 1; key <= 20; key += 1) append(log, key)
    const { bytes } = sizes(folder, log)
    const left = killed(folder)
    append(log, 21, 'y'.repeat(3_000))
    const whole = readFileSync(segmentPath(folder, 1)).subarray(bytes, sizes(folder, log).bytes)
    await log.close()
    // Any of its sectors may be on disk without the others.
    for (let sectors = 0; sectors < 2 ** 7 - 1; sectors += 1) {
      const copy = killed(left)
      const path = segmentPath(copy, 1)
      const file = readFileSync(path)
      for (let sector = 0; sector * 512 < whole.length; sector += 1)
        if (sectors & (1 << sector)) whole.copy(file, bytes + sector * 512, sector * 512, (sector + 1) * 512)
      writeFileSync(path, file)
      const next = opened(copy)
      next.sync()
      t.equal(keysOf(next).length, 20)
      append(next, 21)
      append(next, 22)
      await next.close()
      const reader = opened(copy, true)
      reader.assertEvery()
      t.strictSame(
        keysOf(reader),
        Array.from({ length: 22 }, (_, i) => i + 1),
      )
      await reader.close()
    }
  },
)

t.test('a damaged frame followed by others is refused, and not taken for the zeros at the end', async (t) => {
  const folder = newFolder()
  const log = opened(folder)
  for (let key = 1; key <= 20; key += 1) append(log, key)
  const at = Math.floor(sizes(folder, log).bytes / 2)
  const left = killed(folder)
  await log.close()
  for (const readOnly of [true, false]) {
    const copy = killed(left)
    const file = readFileSync(segmentPath(copy, 1))
    file.fill(0, at, at + 200)
    writeFileSync(segmentPath(copy, 1), file)
    t.throws(() => opened(copy, readOnly), { name: 'HomeRefused', code: 'corrupt', message: /is damaged/ })
  }
})

t.test(
  'a writer refuses to write over what another process wrote, even though the length of the file is unchanged',
  async (t) => {
    const folder = newFolder()
    const first = opened(folder)
    append(first, 1)
    const { size } = sizes(folder, first)
    const late = opened(folder)
    append(first, 2)
    t.equal(sizes(folder, first).size, size)
    t.throws(() => late.sync(), LOCKED)
    t.throws(() => append(late, 2), LOCKED)
    await late.close()
    append(first, 3)
    const next = opened(folder)
    append(next, 4)
    t.throws(() => append(first, 4), LOCKED, 'the earlier one finds that another has gone on')
    append(next, 5)
    await first.close()
    append(next, 6)
    await next.close()
    const reader = opened(folder, true)
    t.strictSame(keysOf(reader), [1, 2, 3, 4, 5, 6])
    await reader.close()
  },
)

t.test(
  'a file whose end was truncated is opened up to its last complete frame, even with zeros after that',
  async (t) => {
    const folder = newFolder()
    const log = new SegmentedLog(folder, { readOnly: false, segmentBytesMax: 2_000 })
    while (log.snapshot.segments.length === 1) append(log, (keysOf(log).at(-1) ?? 0) + 1)
    await log.close()
    const reader = opened(folder, true)
    reader.assertEvery()
    const keys = keysOf(reader)
    await reader.close()
    const path = segmentPath(folder, 1)
    const whole = readFileSync(path)
    for (const missing of [0, 8, 16, 24, 60]) {
      const copy = newFolder()
      writeFileSync(segmentPath(copy, 1), whole.subarray(0, whole.length - missing))
      appendFileSync(segmentPath(copy, 1), Buffer.alloc(5_000))
      const next = opened(copy)
      next.sync()
      const there = keysOf(next)
      t.strictSame(there, keys.slice(0, there.length))
      t.ok(there.length >= keys.length - 1, 'all but what is in the next file')
      append(next, there.at(-1)! + 1)
      await next.close()
      const after = opened(copy, true)
      after.assertEvery()
      t.strictSame(keysOf(after), [...there, there.at(-1)! + 1])
      await after.close()
    }
  },
)

t.test('a reader of a file that is being written sees only complete frames, and no damage', async (t) => {
  const folder = newFolder()
  const log = opened(folder)
  append(log, 1)
  const reader = opened(folder, true)
  for (let key = 2; key <= 300; key += 1) {
    append(log, key)
    if (key % 3 === 0) {
      reader.refresh()
      t.equal(keysOf(reader).at(-1), key)
    }
    if (key % 50 === 0) t.doesNotThrow(() => reader.assertEvery(), SegmentFault)
  }
  await log.close()
  reader.refresh()
  t.equal(keysOf(reader).length, 300)
  await reader.close()
})

t.test('a reader that knew the file with zeros at its end still finds every frame once they are cut off', async (t) => {
  const folder = newFolder()
  const log = opened(folder)
  for (const key of [1, 2]) append(log, key)
  const file = openSync(segmentPath(folder, 1), 'r')
  t.teardown(() => closeSync(file))
  const sizeBefore = statSync(segmentPath(folder, 1)).size
  const places = () => [...framesFrom(file, 0, sizeBefore, 'checked')].map(({ at }) => at)
  const before = places()
  await log.close()
  t.ok(statSync(segmentPath(folder, 1)).size < sizeBefore)
  t.equal(before.length, 3)
  t.same(places(), before)
  t.equal(frameFrom(file, 1, sizeBefore), before[1])
})

/** Writes frames of another process that end where the zeros of the first had ended. */
async function asLongAsZeros(folder: string, length: number): Promise<void> {
  const other = opened(folder)
  other.sync()
  append(other, 2, 'y')
  const one = other.bytes
  append(other, 3, 'y'.repeat(20_000))
  const beside = other.bytes - one - 20_000
  append(other, 4, 'y'.repeat(length - other.bytes - beside))
  await other.close()
}

t.test('a close does not cut off what another process wrote into a file of unchanged length', async (t) => {
  for (const goOn of [(log: SegmentedLog) => t.throws(() => append(log, 2), LOCKED), () => {}]) {
    const folder = newFolder()
    const log = opened(folder)
    append(log, 1)
    const { size } = statSync(segmentPath(folder, 1))
    await asLongAsZeros(folder, size)
    t.equal(statSync(segmentPath(folder, 1)).size, size)
    goOn(log)
    await log.close()
    t.same(
      (await textsIn(folder)).map((text) => text[0]),
      ['x', 'y', 'y', 'y'],
    )
  }
})

t.test('a sync finds nothing foreign when the other process has merely cut off its zeros', async (t) => {
  const folder = newFolder()
  const log = opened(folder)
  append(log, 1)
  const next = opened(folder)
  await log.close()
  next.sync()
  append(next, 2, 'y')
  await next.close()
  t.same(await textsIn(folder), ['x', 'y'])
})

t.test('a follower does not see a frame while part of it is missing, and sees it once it is complete', async (t) => {
  const folder = newFolder()
  const log = opened(folder)
  append(log, 1)
  const left = killed(folder)
  const { bytes } = sizes(folder, log)
  append(log, 2, 'y'.repeat(3_000))
  const whole = readFileSync(segmentPath(folder, 1)).subarray(bytes, sizes(folder, log).bytes)
  await log.close()
  const writeOver = (frame: Buffer): void => {
    const file = readFileSync(segmentPath(left, 1))
    frame.copy(file, bytes)
    writeFileSync(segmentPath(left, 1), file)
  }
  const reader = opened(left, true)
  const head = frameOf(Buffer.from(whole))!.rows.find(({ kind }) => kind === KIND.head)!
  for (const [from, to] of [
    [0, 512],
    [whole.length - 100, whole.length],
    [head.at, head.at + head.bytes],
  ] as const) {
    const part = Buffer.from(whole)
    part.fill(0, from, to)
    writeOver(part)
    t.doesNotThrow(() => reader.refresh(), `without bytes ${from} to ${to}`)
    t.strictSame(keysOf(reader), [1])
  }
  writeOver(whole)
  reader.refresh()
  t.strictSame(keysOf(reader), [1, 2])
  await reader.close()
})
