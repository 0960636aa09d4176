/** The model of the disk that power cuts are made with: what it keeps, what it may lose, and what it must lose. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Random } from '../random.ts'
import { Disk, type Survival } from './disk.ts'
import type { TraceRecord } from './trace.ts'

const NOTHING = Buffer.alloc(0)
const record = (kind: TraceRecord['kind'], fields: Partial<TraceRecord> = {}): TraceRecord => ({
  kind,
  atNs: 0,
  file: 0,
  place: 0,
  token: 0,
  path: '',
  data: NOTHING,
  ...fields,
})
const write = (file: number, place: number, text: string, token = 0): TraceRecord =>
  record(token === 0 ? 'write' : 'write_through', { file, place, token, data: Buffer.from(text) })

/** A file `a` with inode 7 whose name and first bytes are on disk. */
const FLUSHED: readonly TraceRecord[] = [
  record('create', { path: 'a', file: 7 }),
  write(7, 0, 'old'),
  record('flush_begin', { file: 7, token: 1 }),
  record('flush_end', { file: 7, token: 1 }),
  record('directory_flush_begin', { path: '.', token: 2 }),
  record('directory_flush_end', { token: 2 }),
]

/** Random numbers of which the first decides what survives. */
class Surviving extends Random {
  private first: number | undefined

  constructor(survival: Survival, seed: number) {
    super(seed)
    this.first = (['nothing', 'everything', 'writes', 'pages', 'sectors'].indexOf(survival) + 0.5) / 6
  }

  override next(): number {
    const first = this.first
    this.first = undefined
    return first ?? super.next()
  }
}

/** Every content that `a` has in a hundred images; undefined: it is not there. */
function contents(folder: string, records: readonly TraceRecord[], survival: Survival): (string | undefined)[] {
  const found = new Set<string | undefined>()
  for (let seed = 0; seed < 100; seed += 1) {
    const disk = new Disk(folder)
    for (const one of records) disk.follow(one)
    found.add(disk.image(new Surviving(survival, seed)).files.get('a')?.toString())
  }
  return [...found].sort()
}

t.test('what was there before, and what a finished flush covers, is in every image', async (t) => {
  const folder = t.testdir({ b: 'was there' })
  for (const survival of ['nothing', 'everything', 'writes', 'pages', 'sectors'] as const) {
    t.same(contents(folder, FLUSHED, survival), ['old'])
  }
  t.equal(new Disk(folder).image(new Random(1)).files.get('b')?.toString(), 'was there')
})

t.test('a write that no flush covers may be lost, and so may one made during a flush', async (t) => {
  const folder = t.testdir()
  const after = [...FLUSHED, write(7, 0, 'new')]
  t.same(contents(folder, after, 'nothing'), ['old'])
  t.same(contents(folder, after, 'everything'), ['new'])
  t.same(contents(folder, after, 'writes'), ['new', 'old'])
  const during = [
    ...FLUSHED,
    record('flush_begin', { file: 7, token: 3 }),
    write(7, 0, 'new'),
    record('flush_end', { file: 7, token: 3 }),
  ]
  t.same(contents(folder, during, 'nothing'), ['old'])
  const unfinished = [...FLUSHED, write(7, 0, 'new'), record('flush_begin', { file: 7, token: 3 })]
  t.same(contents(folder, unfinished, 'nothing'), ['old'])
})

t.test('a write-through is on disk once it has ended, and not before', async (t) => {
  const folder = t.testdir()
  const begun = [...FLUSHED, write(7, 0, 'new', 9)]
  t.same(contents(folder, begun, 'nothing'), ['old'])
  t.same(contents(folder, [...begun, record('written_through', { file: 7, token: 9 })], 'nothing'), ['new'])
})

t.test('a write may be torn between its sectors', async (t) => {
  const folder = t.testdir()
  const long = (letter: string) => letter.repeat(1024)
  const records = [
    ...FLUSHED,
    write(7, 0, long('o')),
    record('flush_begin', { file: 7, token: 3 }),
    record('flush_end', { file: 7, token: 3 }),
    write(7, 0, long('n')),
  ]
  const halves = ['n', 'o'].flatMap((one) => ['n', 'o'].map((other) => one.repeat(512) + other.repeat(512)))
  t.same(contents(folder, records, 'sectors'), halves.sort())
  t.same(contents(folder, records, 'pages'), [long('n'), long('o')])
})

t.test('a name is on disk once its folder was flushed, not its file', async (t) => {
  const folder = t.testdir()
  const unnamed = FLUSHED.slice(0, 4)
  t.same(contents(folder, unnamed, 'nothing'), [undefined])
  t.same(contents(folder, unnamed, 'everything'), ['old'])
  const renamed = [...FLUSHED, record('rename', { path: 'a', data: Buffer.from('c') })]
  t.same(contents(folder, renamed, 'nothing'), ['old'])
  t.same(contents(folder, renamed, 'everything'), [undefined])
  const removed = [...FLUSHED, record('unlink', { path: 'a' })]
  t.same(contents(folder, removed, 'nothing'), ['old'])
})

t.test('the content of a folder whose own name was lost is lost with it', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'there'))
  writeFileSync(join(folder, 'there', 'x'), 'x')
  const disk = new Disk(folder)
  for (const one of [
    record('mkdir', { path: 'new' }),
    record('create', { path: 'new/a', file: 7 }),
    record('directory_flush_begin', { path: 'new', token: 1 }),
    record('directory_flush_end', { token: 1 }),
  ]) {
    disk.follow(one)
  }
  t.same([...disk.image(new Surviving('nothing', 1)).files.keys()], ['there/x'])
  t.same([...disk.image(new Surviving('everything', 1)).files.keys()].sort(), ['new/a', 'there/x'])
})

t.test('flushing a folder keeps the names in it, and no others', async (t) => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'there'))
  const disk = new Disk(folder)
  for (const one of [
    record('create', { path: 'there/a', file: 7 }),
    record('create', { path: 'b', file: 8 }),
    record('directory_flush_begin', { path: '.', token: 1 }),
    record('directory_flush_end', { token: 1 }),
  ]) {
    disk.follow(one)
  }
  t.same([...disk.image(new Surviving('nothing', 1)).files.keys()], ['b'])
})
