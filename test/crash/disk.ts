/**
 * A disk that keeps what was flushed and owes nothing for the rest. It follows a trace of the service; at any point it
 * gives the files that a power cut would leave: what a finished flush covers, and of everything else an arbitrary part,
 * by whole writes, pages of 4 KiB or sectors of 512 bytes. A name is kept only once its folder was flushed.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Random } from '../random.ts'
import type { TraceRecord } from './trace.ts'

const SECTOR_BYTES = 512
const PAGE_BYTES = 4096

interface Pending {
  /** Its position in the trace. */
  readonly number: number
  /** Undefined: a truncation to `place`. */
  readonly data: Buffer | undefined
  readonly place: number
  /** For a write-through: until it has ended. */
  readonly token: number
}

/** The bytes of a file; grows by doubling, and what was never written is zeros. */
class Content {
  private bytes: Buffer
  length: number

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.length = bytes.length
  }

  copy(): Content {
    return new Content(Buffer.from(this.bytes.subarray(0, this.length)))
  }

  /** Makes the file this many bytes long from now on. */
  resize(length: number): void {
    if (length > this.bytes.length) {
      const larger = Buffer.alloc(length * 2)
      this.bytes.copy(larger, 0, 0, this.length)
      this.bytes = larger
    }
    if (length < this.length) this.bytes.fill(0, length, this.length)
    this.length = length
  }

  write(data: Buffer, place: number): void {
    if (place + data.length > this.length) this.resize(place + data.length)
    data.copy(this.bytes, place)
  }

  change({ data, place }: Pending): void {
    if (data === undefined) this.resize(place)
    else this.write(data, place)
  }

  toBuffer(): Buffer {
    return this.bytes.subarray(0, this.length)
  }
}

class StoredFile {
  readonly durable: Content
  pending: Pending[] = []

  constructor(bytes: Buffer) {
    this.durable = new Content(bytes)
  }

  /** Every write before `number` is on disk. */
  flushed(number: number): void {
    for (const one of this.pending) if (one.number < number) this.durable.change(one)
    this.pending = this.pending.filter((one) => one.number >= number)
  }

  /** A write-through has ended: it is on disk, and so is what was written before it to the same pages. */
  writtenThrough(token: number): void {
    const through = this.pending.find((one) => one.token === token)
    if (through === undefined) return
    const ends = this.pending.filter((one) => one === through || (one.number < through.number && overlap(one, through)))
    for (const one of ends) this.durable.change(one)
    this.pending = this.pending.filter((one) => !ends.includes(one))
  }
}

function overlap(one: Pending, other: Pending): boolean {
  if (one.data === undefined || other.data === undefined) return true
  const page = (place: number) => Math.floor(place / PAGE_BYTES)
  return (
    page(one.place) <= page(other.place + other.data.length - 1) &&
    page(other.place) <= page(one.place + one.data.length - 1)
  )
}

/** A change of names, durable once its folder was flushed. */
interface NameChange {
  readonly number: number
  readonly folder: string
  readonly kind: 'create' | 'mkdir' | 'rename' | 'unlink' | 'rmdir'
  readonly path: string
  readonly to: string
  readonly file: number
}

/** Path -> inode, or 'folder'. */
type Names = Map<string, number | 'folder'>

const SURVIVALS = ['nothing', 'everything', 'writes', 'pages', 'sectors', 'sectors'] as const
export type Survival = (typeof SURVIVALS)[number]

export interface Image {
  readonly files: ReadonlyMap<string, Buffer>
  readonly folders: readonly string[]
  readonly survival: Survival
  /** Writes that no flush covered, and how many of their bytes are not in the image. */
  readonly uncovered: number
  readonly lostBytes: number
}

export class Disk {
  private readonly files = new Map<number, StoredFile>()
  private names: Names = new Map()
  private nameChanges: NameChange[] = []
  private readonly flushes = new Map<number, { file: number; path: string; number: number }>()
  private number = 0

  /** Starts with the content of the folder, all of it durable. */
  constructor(home: string) {
    for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
      const full = join(entry.parentPath, entry.name)
      const path = full.slice(home.length + 1)
      const { ino } = statSync(full)
      this.names.set(path, entry.isDirectory() ? 'folder' : ino)
      if (!entry.isDirectory()) this.files.set(ino, new StoredFile(readFileSync(full)))
    }
  }

  /** Takes the next record of the trace. */
  follow(record: TraceRecord): void {
    const number = this.number++
    const { kind, path, token } = record
    const file = this.files.get(record.file)
    switch (kind) {
      case 'create':
        this.files.set(record.file, new StoredFile(Buffer.alloc(0)))
        this.nameChanges.push({ number, folder: dirname(path), kind, path, to: '', file: record.file })
        break
      case 'mkdir':
      case 'rename':
      case 'unlink':
      case 'rmdir':
        this.nameChanges.push({ number, folder: dirname(path), kind, path, to: record.data.toString(), file: 0 })
        break
      case 'write':
      case 'write_through':
        file?.pending.push({ number, data: Buffer.from(record.data), place: record.place, token })
        break
      case 'truncate':
        file?.pending.push({ number, data: undefined, place: record.place, token: 0 })
        break
      case 'written_through':
        file?.writtenThrough(token)
        break
      case 'flush_begin':
      case 'directory_flush_begin':
        this.flushes.set(token, { file: record.file, path, number })
        break
      case 'flush_end':
        file?.flushed(this.flushes.get(token)!.number)
        break
      case 'directory_flush_end': {
        const begun = this.flushes.get(token)!
        this.namesFlushed(begun.path, begun.number)
        break
      }
    }
  }

  /** What a power cut at this moment leaves. */
  image(random: Random): Image {
    const survival = random.pick(SURVIVALS)
    const share = random.pick([0.1, 0.5, 0.9])
    const files = new Map<string, Buffer>()
    const folders: string[] = []
    let uncovered = 0
    let lostBytes = 0
    for (const [path, file] of this.survivingNames(survival, random)) {
      if (file === 'folder') {
        folders.push(path)
        continue
      }
      const stored = this.files.get(file)
      if (stored === undefined) continue
      const content = stored.durable.copy()
      let longest = content.length
      for (const one of stored.pending) {
        uncovered += 1
        if (one.data === undefined) {
          if (keeps(survival, share, random)) content.resize(one.place)
          continue
        }
        longest = Math.max(longest, one.place + one.data.length)
        for (const { from, to } of parts(one, survival)) {
          if (keeps(survival, share, random)) content.write(one.data.subarray(from, to), one.place + from)
          else lostBytes += to - from
        }
      }
      // The new length may have reached the disk before what was written there.
      if (longest > content.length && random.chance(0.3)) content.resize(longest)
      files.set(path, content.toBuffer())
    }
    return { files, folders, survival, uncovered, lostBytes }
  }

  private namesFlushed(folder: string, number: number): void {
    const isInto = ({ kind, to }: NameChange) => kind === 'rename' && dirname(to) === folder
    const isDone = (one: NameChange) => one.number < number && (one.folder === folder || isInto(one))
    for (const one of this.nameChanges) if (isDone(one)) change(this.names, one)
    this.nameChanges = this.nameChanges.filter((one) => !isDone(one))
  }

  /** In each folder, its first so many changes survive. */
  private survivingNames(survival: Survival, random: Random): Names {
    const names: Names = new Map(this.names)
    const kept = new Map<string, number>()
    for (const { folder } of this.nameChanges) kept.set(folder, (kept.get(folder) ?? 0) + 1)
    for (const [folder, count] of kept) {
      const of = survival === 'nothing' ? 0 : survival === 'everything' ? count : random.below(count + 1)
      kept.set(folder, of)
    }
    for (const one of this.nameChanges) {
      const left = kept.get(one.folder)!
      if (left === 0) continue
      kept.set(one.folder, left - 1)
      change(names, one)
    }
    // The content of a missing folder is missing.
    for (const path of names.keys()) {
      for (let at = dirname(path); at !== '.'; at = dirname(at)) if (names.get(at) !== 'folder') names.delete(path)
    }
    return names
  }
}

function keeps(survival: Survival, share: number, random: Random): boolean {
  if (survival === 'nothing' || survival === 'everything') return survival === 'everything'
  return random.chance(share)
}

/** The parts of a write that reach the disk completely or not at all. */
function* parts({ place, data }: Pending, survival: Survival): Generator<{ from: number; to: number }> {
  const length = data!.length
  const unit = survival === 'sectors' ? SECTOR_BYTES : survival === 'pages' ? PAGE_BYTES : length
  let from = 0
  while (from < length) {
    const to = Math.min(length, unit === length ? length : from + unit - ((place + from) % unit))
    yield { from, to }
    from = to
  }
}

function change(names: Names, { kind, path, to, file }: NameChange): void {
  if (kind === 'create') names.set(path, file)
  else if (kind === 'mkdir') names.set(path, 'folder')
  else if (kind === 'unlink' || kind === 'rmdir') names.delete(path)
  else {
    for (const [name, entry] of [...names]) {
      if (name !== path && !name.startsWith(`${path}/`)) continue
      names.delete(name)
      names.set(to + name.slice(path.length), entry)
    }
  }
}

const LOCK_BYTES = 8272

/** Lays the image out in an empty folder. lock.mdb is written through a memory map, so it may hold anything. */
export function writeImage(image: Image, folder: string, random: Random): void {
  mkdirSync(folder, { recursive: true })
  for (const path of image.folders) mkdirSync(join(folder, path), { recursive: true })
  for (const [path, content] of image.files) {
    const isLock = path.endsWith('lock.mdb')
    const garbage = () => Buffer.from(Array.from({ length: LOCK_BYTES }, () => random.below(256)))
    writeFileSync(
      join(folder, path),
      isLock
        ? random.pick([Buffer.alloc(0), Buffer.alloc(LOCK_BYTES), garbage(), garbage().subarray(0, 4096)])
        : content,
    )
  }
}
