/**
 * Logs whose bytes are not what was written: truncated, flipped, left over, missing or of another log. Opening one
 * gives what was committed or is refused, and damage is reported to whoever reads it.
 */
import {
  closeSync,
  copyFileSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CorruptRow } from '../../../storage/checked-text.ts'
import { openEnvironments } from '../../../storage/home/home-environments.ts'
import { segmentPath, segmentsIn } from '../../../storage/home/home-paths.ts'
import { HomeRefused } from '../../../storage/home/home-refused.ts'
import { FrameWriter } from '../../../storage/segments/frame.ts'
import { type FrameAt, framesFrom } from '../../../storage/segments/frames-in.ts'
import { SegmentedLog } from '../../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../../storage/segments/tables.ts'
import { Random } from '../../random.ts'
import { openIn } from '../open.ts'
import { overwrite } from '../overwrite.ts'
import { type Content, contentOf, Model, transact } from './model.ts'

const root = t.testdir()
const newFolder = (): string => mkdtempSync(join(root, 'log-'))
const NOTHING: Content = { events: [], redo: [], head: {} }

interface Written {
  readonly folder: string
  /** The content after each transaction, the newest last. */
  readonly contents: readonly Content[]
}

/** Writes a log of this many files. With more than one, the newest holds three transactions. */
async function written(files: number, seed: number): Promise<Written> {
  const folder = newFolder()
  const random = new Random(seed)
  const model = new Model()
  const contents = [NOTHING]
  let needed = 0
  const writeWhile = (segmentBytesMax: number, isToGoOn: (log: SegmentedLog) => boolean) => {
    const log = new SegmentedLog(folder, { readOnly: false, segmentBytesMax })
    while (isToGoOn(log)) {
      transact(random, tablesOf(log), model)
      contents.push(model.content())
    }
    needed = log.snapshot.segments.length
    void log.close()
  }
  writeWhile(700, (log) => log.snapshot.segments.at(-1)!.ordinal < files)
  let more = 2
  writeWhile(1e6, () => more-- > 0)
  await removed(folder, needed)
  return { folder, contents }
}

/** A log of which every file is needed. */
async function writtenWhole(files: number, fromSeed: number): Promise<Written> {
  for (let seed = fromSeed; seed < fromSeed + 50; seed += 1) {
    const made = await written(files, seed)
    if (segmentsIn(made.folder).length === files) return made
  }
  throw new Error('none of fifty logs needs all of its files')
}

/** Files are removed in the background. */
async function removed(folder: string, needed: number): Promise<void> {
  while (segmentsIn(folder).length > needed) await new Promise((resolve) => setImmediate(resolve))
}

/** A complete copy in a folder of its own. */
function copyOf(folder: string): string {
  const copy = newFolder()
  cpSync(folder, copy, { recursive: true })
  return copy
}

/** What a service reads there, unchanged after it has written; or why it is refused. */
function opened(folder: string): Content | HomeRefused | CorruptRow {
  const seen = seenIn(folder)
  if (seen instanceof Error) return seen
  write(folder)
  const after = read(folder, true)
  const rows = { events: after.events.slice(0, -1), redo: after.redo, head: { ...after.head, last: '' } }
  if (!same(rows, { ...seen, head: { ...seen.head, last: '' } })) throw new Error('a write changed what was there')
  return seen
}

/** What read-only and writing openers both read there. Changes nothing. */
function seenIn(folder: string): Content | HomeRefused | CorruptRow {
  try {
    const seen = read(folder, true)
    if (!same(read(folder, false), seen)) throw new Error('who only reads sees something else')
    return seen
  } catch (error) {
    if (error instanceof CorruptRow || (error instanceof HomeRefused && error.code === 'corrupt')) return error
    throw error
  }
}

/** What is read with one file replaced by these bytes; with `isWritten` by a writer, too. */
function openedWith(
  folder: string,
  ordinal: number,
  bytes: Buffer,
  isWritten: boolean,
): Content | HomeRefused | CorruptRow {
  const path = segmentPath(folder, ordinal)
  const before = readFileSync(path)
  overwrite(path, bytes)
  try {
    return isWritten ? opened(copyOf(folder)) : seenIn(folder)
  } finally {
    overwrite(path, before)
  }
}

function read(folder: string, readOnly: boolean): Content {
  const log = new SegmentedLog(folder, { readOnly })
  try {
    return contentOf(tablesOf(log))
  } finally {
    void log.close()
  }
}

function write(folder: string): void {
  const log = new SegmentedLog(folder, { readOnly: false })
  try {
    log.sync()
    const tables = tablesOf(log)
    log.transactionSync(() => {
      tables.events.append(1e6, ['written afterwards'])
      tables.head.put('last', 'written afterwards')
    })
  } finally {
    void log.close()
  }
}

/** Throws unless every byte is what was written. */
function assertEvery(folder: string): void {
  const log = new SegmentedLog(folder, { readOnly: true })
  try {
    log.assertEvery()
  } finally {
    void log.close()
  }
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

function newest(folder: string): { readonly path: string; readonly ordinal: number; readonly bytes: Buffer } {
  const ordinal = segmentsIn(folder).at(-1)!
  const path = segmentPath(folder, ordinal)
  return { path, ordinal, bytes: readFileSync(path) }
}

/** The bytes with one bit changed. */
function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at]! ^= 1 << ((at * 5) % 8)
  return changed
}

t.test(
  'a log truncated at any byte of its newest file holds a prefix of its transactions, or is refused',
  async (t) => {
    for (const files of [1, 2, 3]) {
      const { folder, contents } = await written(files, files)
      const { ordinal, bytes } = newest(folder)
      const found = new Set<number>()
      let refused = 0
      for (let length = 0; length <= bytes.length; length += 1) {
        const now = openedWith(folder, ordinal, bytes.subarray(0, length), length % 16 === 0)
        if (now instanceof Error) refused += 1
        else found.add(contents.findLastIndex((content) => same(content, now)))
      }
      t.notOk(found.has(-1), 'nothing else is ever found')
      const all = [...contents.keys()].slice(files === 1 ? 0 : -4)
      t.same([...found], all)
      // The first file exists from the creation of the log on.
      t.equal(refused > 0, files === 1)
    }
  },
)

t.test('with any bit flipped, a log never reads as anything but what was written', async (t) => {
  const { folder, contents } = await written(3, 4)
  const last = contents.at(-1)!
  const beforeLast = contents.at(-2)!
  const outcomes = { same: 0, refused: 0, corrupt: 0, lastIsMissing: 0 }
  for (const ordinal of segmentsIn(folder)) {
    const bytes = readFileSync(segmentPath(folder, ordinal))
    for (let at = 0; at < bytes.length; at += 1) {
      const now = openedWith(folder, ordinal, flipped(bytes, at), at % 16 === 5)
      if (now instanceof HomeRefused) outcomes.refused += 1
      else if (now instanceof CorruptRow) outcomes.corrupt += 1
      else if (same(now, last)) outcomes.same += 1
      else if (ordinal === 3 && same(now, beforeLast)) outcomes.lastIsMissing += 1
      else throw new Error(`byte ${at} of file ${ordinal}: ${JSON.stringify(now)}`)
    }
  }
  for (const [outcome, times] of Object.entries(outcomes)) t.ok(times > 0, `${outcome}: ${times}`)
})

/** A log whose newest file is full, as when the process was killed before it had created the next one. */
async function writtenFull(seed: number): Promise<Written> {
  const made = await writtenWhole(2, seed)
  rmSync(newest(made.folder).path)
  return { folder: made.folder, contents: made.contents.slice(0, -3) }
}

t.test('after a kill between two files, the log is complete, and damage to the full file is noticed', async (t) => {
  const { folder, contents } = await writtenFull(6)
  const { ordinal, bytes } = newest(folder)
  t.ok(same(opened(copyOf(folder)), contents.at(-1)))
  for (let at = 0; at < bytes.length; at += 1) {
    const now = openedWith(folder, ordinal, flipped(bytes, at), at % 16 === 5)
    if (!(now instanceof Error) && !same(now, contents.at(-1))) throw new Error(`byte ${at}: ${JSON.stringify(now)}`)
  }
  for (let length = 0; length < bytes.length; length += 1) {
    const now = openedWith(folder, ordinal, bytes.subarray(0, length), length % 16 === 0)
    if (!(now instanceof Error) && !contents.some((content) => same(content, now)))
      throw new Error(`${length} bytes: ${JSON.stringify(now)}`)
  }
})

t.test('a full file that lost pages in the middle of its last frame to a power cut is repaired', async (t) => {
  const { folder, contents } = await writtenFull(7)
  const { path, bytes } = newest(folder)
  const index = bytes.readDoubleLE(bytes.length - 8)
  bytes.fill(0, index + 40, index + 80)
  writeFileSync(path, bytes)
  t.ok(same(opened(folder), contents.at(-1)))
  assertEvery(folder)
})

t.test('a new file that holds no frame yet counts as the newest', async (t) => {
  for (let seed = 10; seed < 20; seed += 1) {
    const { folder, contents } = await writtenWhole(3, 100 * seed)
    const { path, bytes } = newest(folder)
    truncateSync(path, bytes.readUInt32LE(16))
    t.ok(same(opened(folder), contents.at(-4)))
  }
})

t.test('a log that was created and not yet written is empty', async (t) => {
  const folder = newFolder()
  await new SegmentedLog(folder, { readOnly: false }).close()
  t.same(segmentsIn(folder), [1])
  t.strictSame(opened(folder), NOTHING)
})

t.test('a home whose service was killed before its first write starts empty', async (t) => {
  const home = join(root, 'home')
  await (await openEnvironments(home, () => {})).close()
  t.equal((await openIn(t, home)).lastSequence, 0)
})

/** A log that needs only its files 4 and 5, and its earlier state. */
async function writtenAndRemoved(t: Test): Promise<{ folder: string; whole: string; content: Content }> {
  const folder = newFolder()
  const log = new SegmentedLog(folder, { readOnly: false, segmentBytesMax: 1 })
  const tables = tablesOf(log)
  for (let key = 1; key <= 3; key += 1) log.transactionSync(() => tables.events.append(key, [`event ${key}`]))
  const whole = copyOf(folder)
  log.transactionSync(() => tables.events.removeBefore(3))
  t.same(
    log.snapshot.segments.map(({ ordinal }) => ordinal),
    [4, 5],
  )
  const content = contentOf(tables)
  await log.close()
  await removed(folder, 2)
  return { folder, whole, content }
}

t.test('removed files that have come back are not read, and are removed again after a sync', async (t) => {
  const { folder, whole, content } = await writtenAndRemoved(t)
  for (const left of [[1, 2, 3], [3], [1], [2]]) {
    const copy = copyOf(folder)
    for (const ordinal of left) copyFileSync(segmentPath(whole, ordinal), segmentPath(copy, ordinal))
    // A file that came back need not be complete.
    const bytes = readFileSync(segmentPath(copy, left.at(-1)!))
    bytes[9]! ^= 1
    writeFileSync(segmentPath(copy, left.at(-1)!), bytes)
    t.strictSame(read(copy, true), content)
    t.ok(segmentsIn(copy).length > 2)
    const log = new SegmentedLog(copy, { readOnly: false })
    t.strictSame(contentOf(tablesOf(log)), content)
    t.ok(segmentsIn(copy).length > 2, 'not before what made them needless is on disk')
    log.sync()
    await removed(copy, 2)
    await log.close()
    t.strictSame(opened(copy), content)
  }
})

t.test('a log that lacks a file, or has one of another log, is refused', async (t) => {
  const { folder } = await writtenWhole(4, 21)
  const { folder: other } = await writtenWhole(4, 2_100)
  for (const ordinal of [1, 2, 3]) {
    const missing = copyOf(folder)
    rmSync(segmentPath(missing, ordinal))
    t.match(opened(missing), { code: 'corrupt' }, `without file ${ordinal}`)
    for (const name of [ordinal, 4]) {
      const mixed = copyOf(folder)
      copyFileSync(segmentPath(other, ordinal), segmentPath(mixed, name))
      t.match(opened(mixed), { code: 'corrupt' }, `file ${ordinal} of another log as ${name}`)
    }
  }
})

t.test('a full file with damaged rows and a damaged index of them is refused as a whole', async (t) => {
  const { folder } = await writtenWhole(2, 30)
  const path = segmentPath(folder, 1)
  const bytes = readFileSync(path)
  const index = bytes.readDoubleLE(bytes.length - 8)
  bytes[index + 40]! ^= 1
  // The second frame's directory.
  bytes[bytes.readUInt32LE(16) + 9]! ^= 1
  writeFileSync(path, bytes)
  t.ok(opened(folder) instanceof CorruptRow)
  t.throws(() => assertEvery(folder), { code: 'corrupt' })
})

t.test('a whole frame that belongs elsewhere is found in a full file, though its index fits', async (t) => {
  const folder = newFolder()
  const log = new SegmentedLog(folder, { readOnly: false, segmentBytesMax: 500 })
  const { events } = tablesOf(log)
  for (let key = 1; key <= 12; key += 1) log.transactionSync(() => events.append(key, [`row ${key}`]))
  await log.close()
  const path = segmentPath(folder, 1)
  const file = openSync(path, 'r')
  const [, { at, frame, bytes }] = [...framesFrom(file, 0, 500, 'checked')] as [FrameAt, FrameAt]
  closeSync(file)
  t.doesNotThrow(() => assertEvery(folder))
  const whole = readFileSync(path)
  const put = (number: number, ordinal: number): void => {
    const writer = new FrameWriter()
    writer.begin()
    for (const row of frame.rows) writer.add(row.kind, row.key, [bytes.toString('utf8', row.at, row.at + row.bytes)])
    const other = Buffer.from(whole)
    writer.finish(number, ordinal).copy(other, at)
    writeFileSync(path, other)
  }
  put(frame.number, frame.ordinal)
  t.same(readFileSync(path), whole, 'it is replaced in its place')
  for (const [number, ordinal] of [
    [frame.number + 1, frame.ordinal],
    [frame.number, frame.ordinal + 1],
  ] as const) {
    put(number, ordinal)
    t.equal(seenIn(folder) instanceof Error, false, 'who reads rows by the index does not see it')
    t.throws(() => assertEvery(folder), { code: 'corrupt', message: new RegExp(`^${path} `) })
  }
})
