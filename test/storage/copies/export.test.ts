/** Exports of a log that cannot be read everywhere, and into a folder that cannot be written. */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { exportEvents } from '../../../storage/copies/export.ts'
import { dataFilesOf } from '../../../storage/home/home-paths.ts'
import { failing } from '../../failing-files.ts'
import { flip } from '../log-surgery.ts'
import { ofManyFiles, openIn } from '../open.ts'
import { appendEvents, event } from '../steps.ts'

const EVENTS = 60
const PAGE_BYTES = 4096
const MONTH = 'events-2026-11.jsonl'

const logFiles = (home: string) => dataFilesOf(join(home, 'log'))

/** The numbers of the exported events. */
function numbersIn(directory: string): number[] {
  const texts = readdirSync(directory).flatMap((name) => readFileSync(join(directory, name), 'utf8').trim().split('\n'))
  return texts.map((text) => Number(JSON.parse(text).payload.name))
}

/** The numbers of the events in a log file. */
function numbersOf(path: string): number[] {
  return [...readFileSync(path, 'latin1').matchAll(/"event_type":"tested".*?"name":"(\d+)"/g)].map(([, n]) => Number(n))
}

const hurts: Record<string, (t: Test, path: string) => RegExp> = {
  'whose file gives nothing from its second page on': (t, path) => {
    failing(t, 'readSync', (of, _into, from, bytes, at) => {
      // What is before the page is read first, as the kernel does.
      return of === path && at + bytes > PAGE_BYTES && (from === 0 || at >= PAGE_BYTES) ? 'EIO' : undefined
    })
    return /^EIO: .*, read$/
  },
  'whose file does not let itself be opened': (t, path) => {
    failing(t, 'openSync', (of) => (of === path ? 'EACCES' : undefined))
    return /^EACCES: .*, open/
  },
  'of which a folder is in the place of a file': (_t, path) => {
    rmSync(path)
    mkdirSync(path)
    return /^EISDIR: /
  },
  'of which a link to nowhere is in the place of a file': (_t, path) => {
    rmSync(path)
    symlinkSync('/nowhere/x', path)
    return /^ENOENT: /
  },
}

for (const [name, hurt] of Object.entries(hurts)) {
  t.test(`an export of a log ${name} reports that file and exports everything else`, async (t) => {
    const root = t.testdir()
    const home = join(root, 'home')
    await ofManyFiles(t, home, EVENTS)
    const [, path] = logFiles(home)
    const ofFile = numbersOf(path!)
    const size = statSync(path!).size
    t.ok(ofFile.length > 5 && size > 2 * PAGE_BYTES, `${ofFile} ${size}`)
    const detail = hurt(t, path!)
    const report = await exportEvents(home, join(root, 'events'))
    t.match(report.unread, [{ path, detail }])
    t.equal(report.unread.length, 1)
    const taken = numbersIn(join(root, 'events'))
    t.equal(new Set(taken).size, taken.length, 'none twice')
    const missing = Array.from({ length: EVENTS }, (_, i) => i + 1).filter((n) => !taken.includes(n))
    t.equal(report.unreadable, missing.length)
    t.same(report.gaps, [{ firstSequence: missing[0], lastSequence: missing.at(-1) }])
    if (name.includes('second page')) {
      t.ok(missing.length < ofFile.length, 'events on its first page are exported')
      t.equal(missing.at(-1), ofFile.at(-1))
    } else t.same(missing, ofFile)
  })
}

t.test('an export reports an unreadable newest file, without knowing what it held', async (t) => {
  const root = t.testdir()
  const home = join(root, 'home')
  await ofManyFiles(t, home, EVENTS)
  const path = logFiles(home).at(-1)!
  const before = Math.min(...numbersOf(path)) - 1
  const whole = await exportEvents(home, join(root, 'whole'))
  failing(t, 'openSync', (of) => (of === path ? 'EIO' : undefined))
  const report = await exportEvents(home, join(root, 'events'))
  t.match(report, { events: before, lastSequence: before, unreadable: 0, unread: [{ path }] })
  const { log, lastSequence: sequence } = whole
  const place = { epoch: log.epoch, sequence, incarnation: log.incarnationAt(sequence) }
  t.match(await exportEvents(home, join(root, 'more'), place), { events: 0, unread: [{ path }] })
})

t.test('what retention has removed is not reported as lost where the beginning of a file is damaged', async (t) => {
  const root = t.testdir()
  const home = join(root, 'home')
  await ofManyFiles(t, home, EVENTS)
  const journal = await openIn(t, home, { logFileBytesMax: 8_000 })
  await journal.trim({ beforeSequence: 3 })
  for (let n = 1; n <= 3; n += 1) await appendEvents(journal, event(`${EVENTS + n}`))
  await journal.close()
  const path = logFiles(home).at(-1)!
  flip(path, 40)
  const ofFile = numbersOf(path)
  const report = await exportEvents(home, join(root, 'events'), { sequence: 1 })
  t.match(report, { firstSequence: 3, lastSequence: EVENTS + 3, forgotten: 1, unreadable: 0, gaps: [] })
  t.ok(ofFile.length > 0)
  t.same(
    numbersIn(join(root, 'events')),
    Array.from({ length: EVENTS + 1 }, (_, i) => i + 3),
  )
})

t.test('another file of the log in the place of one costs only the events of that one', async (t) => {
  const root = t.testdir()
  const home = join(root, 'home')
  await ofManyFiles(t, home, EVENTS)
  const [first, , third] = logFiles(home)
  const lost = numbersOf(first!)
  writeFileSync(first!, readFileSync(third!))
  const report = await exportEvents(home, join(root, 'events'))
  t.match(report, { unreadable: lost.length, gaps: [{ firstSequence: 1, lastSequence: lost.at(-1) }] })
  const others = Array.from({ length: EVENTS }, (_, i) => i + 1).filter((n) => !lost.includes(n))
  t.same(numbersIn(join(root, 'events')), others)
})

t.test('a failed export leaves existing files as they were, and names the folder whose disk failed', async (t) => {
  const root = t.testdir()
  const home = join(root, 'home')
  const journal = await openIn(t, home)
  await appendEvents(journal, event('1'), event('2', { occurredAt: '2026-12-01T00:00:00Z' }))
  await journal.close()
  const directory = join(root, 'events')
  mkdirSync(directory)
  writeFileSync(join(directory, MONTH), '{"kept":true}\n')
  symlinkSync('/dev/full', join(directory, 'events-2026-12.jsonl'))
  const message = `the disk of ${directory} fails (ENOSPC`
  await t.rejects(exportEvents(home, directory), { code: 'disk_failed', message })
  t.equal(readFileSync(join(directory, MONTH), 'utf8'), '{"kept":true}\n')
  rmSync(join(directory, 'events-2026-12.jsonl'))
  rmSync(join(directory, MONTH))
  symlinkSync('/dev/full', join(directory, 'events-2026-12.jsonl'))
  await t.rejects(exportEvents(home, directory))
  t.same(readdirSync(directory), ['events-2026-12.jsonl'], 'a file that was not there is not left there')
})

t.test('an export starts on a new line when a killed one has left part of a line', async (t) => {
  const root = t.testdir()
  const home = join(root, 'home')
  await ofManyFiles(t, home, 2)
  const directory = join(root, 'events')
  await exportEvents(home, directory)
  const text = readFileSync(join(directory, MONTH), 'utf8')
  appendFileSync(join(directory, MONTH), text.slice(0, 10))
  await exportEvents(home, directory)
  t.equal(readFileSync(join(directory, MONTH), 'utf8'), `${text}${text.slice(0, 10)}\n${text}`)
})
