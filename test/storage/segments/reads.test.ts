/**
 * A log in many small files reads as one, whoever reads it, whatever was removed, and however often it is opened again.
 */
import { mkdtempSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LogTables, ReadTransaction } from '../../../storage/environments.ts'
import { segmentsIn } from '../../../storage/home/home-paths.ts'
import { SegmentedLog } from '../../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../../storage/segments/tables.ts'
import { Random } from '../../random.ts'
import { type Content, contentOf, inRange, Model, NAMES, someRange, transact } from './model.ts'

const root = t.testdir()
const newFolder = (): string => mkdtempSync(join(root, 'log-'))

const SEGMENT_BYTES_MAX = 2_000
const ROUNDS = 12
const STEPS = 120

interface Log {
  readonly log: SegmentedLog
  readonly tables: LogTables
}

function open(folder: string, readOnly = false, segmentBytesMax = SEGMENT_BYTES_MAX): Log {
  const log = new SegmentedLog(folder, { readOnly, segmentBytesMax })
  return { log, tables: tablesOf(log) }
}

function assertReads(
  t: Test,
  random: Random,
  tables: LogTables,
  expected: Content,
  transaction?: ReadTransaction,
): void {
  t.strictSame(contentOf(tables, transaction), expected)
  const reading = transaction === undefined ? {} : { transaction }
  for (const name of NAMES) {
    const last = (expected[name].at(-1)?.[0] ?? 0) + 5
    const range = someRange(random, last)
    const rows = inRange(expected[name], range)
    const keys = rows.map(([key]) => key)
    const how = `${name} ${JSON.stringify(range)}`
    const asked = { ...reading, ...range }
    t.strictSame(
      [...tables[name].getRange(asked)].map(({ key, value }) => [key, value]),
      rows,
      how,
    )
    t.strictSame([...tables[name].getKeys(asked)], keys, how)
    t.equal(tables[name].getKeysCount(asked), keys.length, how)
    const key = random.below(last)
    t.equal(tables[name].get(key, reading), new Map(expected[name]).get(key), `${name} ${key}`)
  }
}

t.test('after random transactions, the writer, a follower and snapshots read what the model holds', async (t) => {
  for (let seed = 1; seed <= ROUNDS; seed += 1) {
    const random = new Random(seed)
    const folder = newFolder()
    const model = new Model()
    let writer = open(folder)
    let follower = open(folder, true)
    const snapshots: { readonly of: LogTables; readonly taken: ReadTransaction; readonly content: Content }[] = []
    for (let step = 0; step < STEPS; step += 1) {
      transact(random, writer.tables, model)
      assertReads(t, random, writer.tables, model.content())
      if (random.chance(0.3)) {
        follower.log.refresh()
        assertReads(t, random, follower.tables, model.content())
      }
      if (random.chance(0.1)) {
        const { log, tables } = random.chance(0.5) ? writer : follower
        if (log === follower.log) log.refresh()
        snapshots.push({ of: tables, taken: log.useReadTransaction(), content: model.content() })
      }
      for (const { of, taken, content } of snapshots) assertReads(t, random, of, content, taken)
      if (random.chance(0.1)) {
        for (const { taken } of snapshots.splice(0)) taken.done()
        await writer.log.close()
        writer = open(folder)
        if (random.chance(0.5)) writer.log.sync()
        assertReads(t, random, writer.tables, model.content())
        if (random.chance(0.5)) {
          await follower.log.close()
          follower = open(folder, true)
        }
      }
      if (!t.passing()) throw new Error(`seed ${seed}, step ${step}`)
    }
    t.ok(segmentsIn(folder).at(-1)! > 10, 'the log was written in many files')
    t.ok(segmentsIn(folder).length < segmentsIn(folder).at(-1)!, 'and some of them were removed')
    await writer.log.close()
    await follower.log.close()
  }
})

t.test('a log of 200 files is read with few of them open and few of their indexes in memory', async (t) => {
  const folder = newFolder()
  const writer = open(folder, false, 1)
  const follower = open(folder, true)
  const isLinux = process.platform === 'linux'
  const opened = () => (isLinux ? readdirSync('/proc/self/fd').length : 0)
  const before = opened()
  for (let key = 1; key <= 200; key += 1) {
    writer.log.transactionSync(() => writer.tables.events.append(key, [`event ${key}`]))
    if (key % 10 === 0) follower.log.refresh()
  }
  t.equal(segmentsIn(folder).length, 201)
  t.equal(follower.tables.events.getKeysCount(), 200)
  for (const { log } of [writer, follower]) t.ok(log.snapshot.segments.filter((one) => one.isLoaded).length <= 18)
  await writer.log.close()
  await follower.log.close()
  const again = open(folder, false, 1)
  const loaded = () => again.log.snapshot.segments.filter((one) => one.isLoaded).length
  t.same([...again.tables.redo.getKeys({ limit: 1 })], [])
  t.ok(loaded() <= 1, 'the absence of a kind of row is known without the files')
  t.equal(again.tables.events.getKeysCount(), 200)
  const { done } = again.log.useReadTransaction()
  done()
  await again.log.copyTo(newFolder())
  t.ok(loaded() <= 18)
  t.ok(opened() - before <= 20, `${opened()} files are open, before ${before}`)
  const undisturbed = new SegmentedLog(folder, { readOnly: true, isUndisturbed: true })
  t.ok(opened() - before <= 25, `${opened()} files are open, before ${before}`)
  t.equal(tablesOf(undisturbed).events.getKeysCount(), 200)
  t.equal([...tablesOf(undisturbed).events.getRange()].length, 200)
  t.ok(opened() - before <= 40, `${opened()} files are open, before ${before}`)
  undisturbed.assertEvery()
  const reading = undisturbed.useReadTransaction()
  t.equal([...tablesOf(undisturbed).events.getRange({ transaction: reading })].length, 200)
  t.ok(opened() - before <= 40, `${opened()} files are open to check and to read a snapshot, before ${before}`)
  reading.done()
  await undisturbed.close()
  await again.log.close()
})

t.test('of the loaded file indexes, those used longest ago are dropped', async (t) => {
  const folder = newFolder()
  const { log, tables } = open(folder, false, 1)
  for (let key = 1; key <= 60; key += 1) log.transactionSync(() => tables.events.append(key, [`event ${key}`]))
  const { segments } = log.snapshot
  tables.events.get(1)
  const first = segments.find((one) => one.isLoaded && one !== segments.at(-1) && one.header.after[0] === 0)!
  let isKept = true
  for (let key = 2; key < 60; key += 1) {
    t.equal(tables.events.get(key), `event ${key}`)
    isKept &&= first.isLoaded
    t.equal(tables.events.get(1), 'event 1')
  }
  t.ok(isKept, 'an index in constant use stays')
  t.ok(segments.filter((one) => one.isLoaded).length <= 18)
  log.transactionSync(() => tables.events.removeBefore(2))
  t.equal(tables.events.get(1), undefined)
  t.equal(tables.events.get(2), 'event 2')
  await log.close()
})

t.test('an aborted transaction leaves nothing behind, and an empty transaction is allowed', async (t) => {
  const folder = newFolder()
  const { log, tables } = open(folder)
  log.transactionSync(() => tables.events.append(5, ['five']))
  t.throws(
    () =>
      log.transactionSync(() => {
        tables.events.append(6, ['six'])
        tables.head.put('last', 'six')
        t.equal(tables.head.get('last'), 'six')
        tables.events.removeBefore(6)
        throw new Error('not that')
      }),
    { message: 'not that' },
  )
  t.throws(() => log.transactionSync(() => tables.events.append(5, ['five again'])))
  log.transactionSync(() => {})
  // Beyond the last row.
  log.transactionSync(() => tables.redo.removeBefore(100))
  log.transactionSync(() => tables.redo.append(3, ['three']))
  t.throws(() => tables.events.append(9, ['outside']))
  await log.close()
  const again = open(folder)
  t.strictSame(contentOf(again.tables), { events: [[5, 'five']], redo: [[3, 'three']], head: {} })
  await again.log.close()
})

t.test('rows of any length are read back exactly', async (t) => {
  const folder = newFolder()
  const texts = [127, 128, 129, 1_024, 4_096, 9_000].map((kib) => '€'.repeat((kib * 1_024) / 3) + kib)
  const { log, tables } = open(folder, false, 3_000_000)
  log.transactionSync(() => {
    for (const [i, text] of texts.entries()) tables.events.append(2 * i + 1, [text])
  })
  for (const [i, text] of texts.entries()) log.transactionSync(() => tables.redo.append(i + 1, [text]))
  await log.close()
  const again = open(folder, true)
  for (const [i, text] of texts.entries()) {
    t.ok(again.tables.events.get(2 * i + 1) === text)
    t.ok(again.tables.redo.get(i + 1) === text)
  }
  t.ok([...again.tables.events.getRange()].every(({ value }, i) => value === texts[i]))
  t.ok([...again.tables.redo.getRange()].every(({ value }, i) => value === texts[i]))
  await again.log.close()
})

t.test('a follower that fell far behind starts over', async (t) => {
  const folder = newFolder()
  const { log, tables } = open(folder, false, 1)
  log.transactionSync(() => tables.events.append(1, ['one']))
  const follower = open(folder, true)
  for (let key = 2; key <= 9; key += 1) log.transactionSync(() => tables.events.append(key, [`${key}`]))
  log.transactionSync(() => tables.events.removeBefore(9))
  while (segmentsIn(folder).length > 2) await new Promise((resolve) => setImmediate(resolve))
  follower.log.refresh()
  t.strictSame(contentOf(follower.tables), contentOf(tables))
  await log.close()
  await follower.log.close()
})

t.test('a copy made while the log is written is the log at one moment', async (t) => {
  const folder = newFolder()
  const random = new Random(5)
  const model = new Model()
  const writer = open(folder)
  for (let step = 0; step < 60; step += 1) transact(random, writer.tables, model)
  for (let copies = 0; copies < 4; copies += 1) {
    const content = model.content()
    const to = newFolder()
    let copying = true
    const copied = writer.log.copyTo(to).finally(() => {
      copying = false
    })
    while (copying) {
      transact(random, writer.tables, model)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await copied
    const copy = open(to)
    t.strictSame(contentOf(copy.tables), content)
    copy.log.assertEvery()
    transact(random, copy.tables, Object.assign(new Model(), { last: { ...model.last } }))
    await copy.log.close()
  }
  await t.rejects(writer.log.copyTo(join(folder, 'nowhere')), { code: 'ENOENT' })
  t.strictSame(contentOf(writer.tables), model.content())
  await writer.log.close()
})
