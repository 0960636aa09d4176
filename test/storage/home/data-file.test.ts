import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Depth, faultOfDataFile } from '../../../storage/home/data-file.ts'
import { openEnvironments } from '../../../storage/home/home-environments.ts'
import { checkTree, PageFault, treeAt } from '../../../storage/home/page-tree.ts'
import { verifyHome } from '../../../storage/verify/verify.ts'
import { modelAfter, nextBatch } from '../kill-model.ts'
import { openIn } from '../open.ts'
import { overwrite } from '../overwrite.ts'
import { append, appendEvents, event, step } from '../steps.ts'

const PAGE = 4096
const HEADER = 24
const DAMAGES = 100
const child = fileURLToPath(new URL('../damaged-child.js', import.meta.url))

/** A closed home with trees of several levels, long values and free pages. */
async function filledHome(t: Test): Promise<string> {
  const home = join(t.testdir(), 'home')
  const journal = await openIn(t, home)
  const { model } = modelAfter(0)
  for (let n = 1; n <= 40; n += 1) await append(journal, ...nextBatch(model, n))
  for (let n = 0; n < 40; n += 1) {
    await appendEvents(journal, ...Array.from({ length: 100 }, (_, i) => event(`${n}.${i}`, { traceId: `t${n}` })))
  }
  await append(journal, step('large', 1, { record: JSON.stringify({ v: 1, padding: 'x'.repeat(20_000) }) }))
  await journal.settled()
  await journal.trim({ beforeSequence: 900 })
  // The file then ends with free pages.
  await append(journal, step('shrinking', 1, { record: JSON.stringify({ v: 1, padding: 'x'.repeat(200_000) }) }))
  await journal.settled()
  await append(journal, step('shrinking', 2))
  await journal.close()
  return home
}

const fileOf = (home: string) => join(home, 'view', 'data.mdb')

/** Pages in use: those that the check objects to when their header loses its page number. */
async function pagesInUse(file: string): Promise<number[]> {
  const sound = readFileSync(file)
  const used: number[] = []
  for (let page = 2; page < sound.length / PAGE; page += 1) {
    const bytes = Buffer.from(sound)
    bytes.writeBigUInt64LE(1n, page * PAGE)
    overwrite(file, bytes)
    if ((await faultOfDataFile(file, 'every')) !== undefined) used.push(page)
  }
  overwrite(file, sound)
  return used
}

t.test('a sound data file has no fault', async (t) => {
  const home = await filledHome(t)
  for (const depth of ['inner', 'every'] as const) t.equal(await faultOfDataFile(fileOf(home), depth), undefined)
})

t.test('a damaged page is reported, whatever part of its structure is wrong', async (t) => {
  const home = await filledHome(t)
  const damages: Record<string, (page: Buffer) => void> = {
    'its number': (page) => page.writeBigUInt64LE(page.readBigUInt64LE(0) + 1n, 0),
    'its kind': (page) => page.writeUInt16LE(0x40, 18),
    zeroes: (page) => page.fill(0),
  }
  const ofNodes: Record<string, (page: Buffer) => void> = {
    'its transaction': (page) => page.writeBigUInt64LE(1n << 40n, 8),
    'its lower bound': (page) => page.writeUInt16LE(page.readUInt16LE(20) + 1, 20),
    'its upper bound': (page) => page.writeUInt16LE(PAGE, 22),
    'where a node is': (page) => page.writeUInt16LE(0xfff0, HEADER),
    'the length of a key': (page) => page.writeUInt16LE(0xffff, HEADER + page.readUInt16LE(HEADER) + 6),
  }
  const file = fileOf(home)
  const sound = readFileSync(file)
  const used = await pagesInUse(file)
  t.ok(used.length > 20, `${used.length} pages are in use`)
  for (const page of used) {
    const isLong = sound.readUInt16LE(page * PAGE + 18) === 4
    for (const [what, damage] of Object.entries(isLong ? damages : { ...damages, ...ofNodes })) {
      const bytes = Buffer.from(sound)
      damage(bytes.subarray(page * PAGE, (page + 1) * PAGE))
      overwrite(file, bytes)
      const fault = await faultOfDataFile(file, 'every')
      if (fault?.kind !== 'damaged_page') t.fail(`${what} of page ${page}: ${JSON.stringify(fault)}`)
    }
  }
})

/** Whether each row that a walk finds is also found by its key. */
async function isAllFound(home: string): Promise<boolean> {
  const { view, close } = await openEnvironments(home, () => {}, { readOnly: true })
  try {
    for (const table of [view.snapshots, view.entities, view.eventIds])
      for (const key of table.getKeys()) if (!table.doesExist(key)) return false
    return true
  } finally {
    await close()
  }
}

t.test('a flipped bit in a branch key is reported as a fault unless it hides no row', async (t) => {
  const home = await filledHome(t)
  const file = fileOf(home)
  const sound = readFileSync(file)
  const branches = (await pagesInUse(file)).filter((page) => sound.readUInt16LE(page * PAGE + 18) === 1)
  let flips = 0
  let faults = 0
  for (const page of branches) {
    const bytes = sound.subarray(page * PAGE, (page + 1) * PAGE)
    // The first key of a branch is not read.
    for (let at = HEADER + 2; at < HEADER + bytes.readUInt16LE(20); at += 2) {
      const node = HEADER + bytes.readUInt16LE(at)
      const keyBytes = bytes.readUInt16LE(node + 6)
      const place = node + 8 + ((flips * 7) % keyBytes)
      const damaged = Buffer.from(sound)
      damaged[page * PAGE + place]! ^= 1 << (flips % 8)
      flips += 1
      overwrite(file, damaged)
      const fault = await faultOfDataFile(file, 'every')
      if (fault !== undefined) faults += 1
      else if (!(await isAllFound(home))) t.fail(`byte ${place} of page ${page} hides a row, and is no fault`)
    }
  }
  t.ok(branches.length > 2 && faults > 10, `${faults} faults in ${flips} keys of ${branches.length} branches`)
})

t.test('a home with a damaged page is refused with the reason, and verify reports the same', async (t) => {
  const home = await filledHome(t)
  const file = fileOf(home)
  const sound = readFileSync(file)
  const [page] = (await pagesInUse(file)).filter((one) => sound.readUInt16LE(one * PAGE + 18) === 1)
  const bytes = Buffer.from(sound)
  bytes.writeUInt16LE(0xfff0, page! * PAGE + HEADER)
  overwrite(file, bytes)
  const named = new RegExp(`view/data.mdb is damaged \\(page ${page} .*restore a backup`)
  await t.rejects(openIn(t, home), { name: 'HomeRefused', code: 'corrupt', message: named })
  t.match((await verifyHome(home)).findings, [{ code: 'unreadable', detail: named }])
})

t.test('a file cut at any length is refused, unless only unused pages are cut off', async (t) => {
  const home = await filledHome(t)
  const file = fileOf(home)
  const sound = readFileSync(file)
  const last = Math.max(...(await pagesInUse(file)))
  for (let pages = 0; pages < sound.length / PAGE; pages += 1) {
    for (const depth of ['inner', 'every'] satisfies Depth[]) {
      truncateSync(file, pages * PAGE + (pages % 2) * 100)
      const fault = await faultOfDataFile(file, depth)
      const expected = pages < 2 ? 'not_a_data_file' : pages <= last ? 'cut_short' : undefined
      if (fault?.kind !== expected) t.fail(`${pages} pages, ${depth}: ${fault?.kind}, not ${expected}`)
      overwrite(file, sound)
    }
  }
})

/** The newer of the two meta pages, as LMDB lays it out. */
function metaOf(file: Buffer) {
  const metas = [0, PAGE].map((at) => ({
    pageBytes: PAGE,
    free: treeAt(file, at + 48),
    main: treeAt(file, at + 96),
    lastPage: Number(file.readBigUInt64LE(at + 144)),
    transaction: file.readBigUInt64LE(at + 152),
  }))
  return metas[0]!.transaction > metas[1]!.transaction ? metas[0]! : metas[1]!
}

t.test('leaves are read only where the file lacks a page that is not known to be free', async (t) => {
  const home = await filledHome(t)
  const file = readFileSync(fileOf(home))
  const meta = metaOf(file)
  /** How many pages are read without asking for leaves; undefined: a page in use is missing. */
  const pagesRead = (pages: number, lastPage = meta.lastPage): number | undefined => {
    let read = 0
    const bytesOf = (page: number, bytes: Buffer) => {
      read += 1
      return page < pages && file.copy(bytes, 0, page * PAGE) === bytes.length
    }
    const sparing = { leavesSince: meta.transaction + 1n, leavesMax: 0 }
    try {
      checkTree({ ...meta, ...sparing, lastPage, pages, read: bytesOf, soon: () => {} })
      return read
    } catch (error) {
      if (error instanceof PageFault && error.isMissing) return undefined
      throw error
    }
  }
  const whole = meta.lastPage + 1
  const inner = pagesRead(whole)!
  const last = Math.max(...(await pagesInUse(fileOf(home))))
  t.ok(last < whole - 2, `of ${whole} pages the last in use is ${last}`)
  for (let pages = 2; pages < whole; pages += 1) {
    const expected = pages <= last ? undefined : inner
    if (pagesRead(pages) !== expected) t.fail(`${pages} pages: ${pagesRead(pages)}, not ${expected}`)
  }
  const read = pagesRead(whole, meta.lastPage + 1)!
  t.ok(read > 2 * inner, `${read} pages are read where one is missing that no list names, and ${inner} else`)
})

t.test(
  'LMDB can read every file that passes the check without the process dying from a signal',
  { timeout: 300_000 },
  async (t) => {
    const home = await filledHome(t)
    const passing: string[] = []
    let seed = 7
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
      return seed % below
    }
    for (let damage = 0; damage < DAMAGES; damage += 1) {
      const bytes = readFileSync(fileOf(home))
      // Near the beginning of a page, where its structure is, or anywhere.
      const page = 2 + random(bytes.length / PAGE - 2)
      const at = page * PAGE + (damage % 3 === 0 ? random(PAGE) : random(120))
      bytes[at]! ^= 1 << random(8)
      const copy = join(t.testdirName, `damaged-${damage}`)
      cpSync(home, copy, { recursive: true })
      overwrite(fileOf(copy), bytes)
      if ((await faultOfDataFile(fileOf(copy), 'every')) === undefined) passing.push(copy)
    }
    t.ok(passing.length > DAMAGES / 4, `${passing.length} of ${DAMAGES} damages are not of the structure`)
    const { signal, status, stdout } = spawnSync(process.execPath, [child, ...passing], { encoding: 'utf8' })
    t.match({ signal, status }, { signal: null, status: 0 }, `it died at ${stdout.split('\n').at(-2)}`)
    t.match(stdout, /done\n$/)
  },
)
