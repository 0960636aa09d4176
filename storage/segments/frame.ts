/**
 * A frame is what one transaction of the log makes durable: some rows, whole or not at all. In a file it is
 *
 *     head (32 bytes) | the rows' bytes, filled up to a multiple of 8 | directory (24 bytes a row)
 *
 * all numbers little-endian. The head has a checksum of itself and the directory, and the directory one of each row's bytes, so
 * that one row can be read and trusted without the others. Nothing in UTF-8 looks like the beginning of a frame.
 */
import { Buffer } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { UTF8_BYTES_PER_UNIT_MAX } from '../../machines/utf8.ts'

export const HEAD_BYTES = 32
const DIRECTORY_ROW_BYTES = 24
/** Frames begin at multiples of it, and so do their directories. */
export const ALIGNMENT = 8
/** Bytes that begin no UTF-8 character. */
export const MAGIC = Buffer.of(0xf5, 0x49, 0x4e, 0xf6)
const HEAD = { checksum: 4, number: 8, bytes: 16, rows: 20, ordinal: 24 } as const
const ROW = { key: 0, kind: 8, at: 12, bytes: 16, checksum: 20 } as const

const SCRATCH_BYTES = 64 * 1024
/** What a larger frame took is given back behind it. */
const SCRATCH_KEPT_BYTES_MAX = 32 * 1024 * 1024

/** What a row is of. `index`: where the rows of its file are; the last frame of a file that is full. */
export const KIND = { events: 1, redo: 2, head: 3, index: 4 } as const
type Kind = (typeof KIND)[keyof typeof KIND]

export interface FrameRow {
  readonly kind: Kind
  readonly key: number
  /** First byte, counted from the beginning of the frame. */
  readonly at: number
  readonly bytes: number
  readonly checksum: number
}

export interface Frame {
  /** Frames of a log are numbered without a hole. */
  readonly number: number
  /** The file that it was written for. */
  readonly ordinal: number
  readonly bytes: number
  readonly rows: readonly FrameRow[]
}

/** Whether it says where the rows of its file are. */
export function isIndex({ rows }: Pick<Frame, 'rows'>): boolean {
  return rows.some(({ kind }) => kind === KIND.index)
}

/**
 * Hot: rows are encoded behind one another into one buffer, which is written as it is. The texts of a row are encoded one by
 * one: to join those of 512 events first took 2.3 us of each (V8 flattens what was joined into memory of its own), to encode each as
 * it is 0.3.
 */
export class FrameWriter {
  rows: FrameRow[] = []
  #bytes = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  #end = HEAD_BYTES

  begin(): void {
    if (this.#bytes.length > SCRATCH_KEPT_BYTES_MAX) this.#bytes = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
    this.rows = []
    this.#end = HEAD_BYTES
  }

  /** A row of these texts, with `between` (one ASCII character, or nothing) between two. */
  add(kind: Kind, key: number, texts: readonly string[], between = ''): void {
    const separator = between === '' ? undefined : between.charCodeAt(0)
    let units = texts.length
    for (const text of texts) units += text.length
    this.#room(units * UTF8_BYTES_PER_UNIT_MAX)
    const bytes = this.#bytes
    let end = this.#end
    for (let i = 0; i < texts.length; i += 1) {
      if (i > 0 && separator !== undefined) bytes[end++] = separator
      end += bytes.write(texts[i]!, end, 'utf8')
    }
    this.#added(kind, key, end - this.#end)
  }

  addBytes(kind: Kind, key: number, bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#end)
    this.#added(kind, key, bytes.length)
  }

  /** The whole frame; its bytes stand until the next `begin`. */
  finish(number: number, ordinal: number): Buffer {
    const { rows } = this
    const directory = Math.ceil(this.#end / ALIGNMENT) * ALIGNMENT
    const end = directory + rows.length * DIRECTORY_ROW_BYTES
    this.#room(end - this.#end)
    const bytes = this.#bytes
    bytes.fill(0, this.#end, directory)
    let at = directory
    for (const row of rows) {
      bytes.writeDoubleLE(row.key, at + ROW.key)
      bytes.writeUInt32LE(row.kind, at + ROW.kind)
      bytes.writeUInt32LE(row.at, at + ROW.at)
      bytes.writeUInt32LE(row.bytes, at + ROW.bytes)
      bytes.writeUInt32LE(row.checksum, at + ROW.checksum)
      at += DIRECTORY_ROW_BYTES
    }
    MAGIC.copy(bytes, 0)
    bytes.writeDoubleLE(number, HEAD.number)
    bytes.writeUInt32LE(end, HEAD.bytes)
    bytes.writeUInt32LE(rows.length, HEAD.rows)
    bytes.writeUInt32LE(ordinal, HEAD.ordinal)
    bytes.fill(0, HEAD.ordinal + 4, HEAD_BYTES)
    bytes.writeUInt32LE(checksumOf(bytes.subarray(0, HEAD_BYTES), bytes.subarray(directory, end)), HEAD.checksum)
    return bytes.subarray(0, end)
  }

  #added(kind: Kind, key: number, bytes: number): void {
    const at = this.#end
    this.#end += bytes
    this.rows.push({ kind, key, at, bytes, checksum: crc32(this.#bytes.subarray(at, at + bytes)) })
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(2 * (this.#end + bytes))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}

/** How long the frame is that begins with these 32 bytes, by its own word; undefined: none begins so. */
export function frameBytes(head: Buffer): number | undefined {
  if (head.length < HEAD_BYTES || MAGIC.compare(head, 0, MAGIC.length) !== 0) return undefined
  const bytes = head.readUInt32LE(HEAD.bytes)
  const rows = head.readUInt32LE(HEAD.rows)
  return bytes % ALIGNMENT === 0 && bytes >= HEAD_BYTES + rows * DIRECTORY_ROW_BYTES ? bytes : undefined
}

/** The frame that these bytes are, or undefined. The bytes of its rows are not looked at: see `rowMatches`. */
export function frameOf(bytes: Buffer): Frame | undefined {
  if (frameBytes(bytes) !== bytes.length) return undefined
  const count = bytes.readUInt32LE(HEAD.rows)
  const directory = bytes.length - count * DIRECTORY_ROW_BYTES
  const checksum = checksumOf(bytes.subarray(0, HEAD_BYTES), bytes.subarray(directory))
  if (checksum !== bytes.readUInt32LE(HEAD.checksum)) return undefined
  const rows: FrameRow[] = []
  for (let at = directory; at < bytes.length; at += DIRECTORY_ROW_BYTES) {
    rows.push({
      key: bytes.readDoubleLE(at + ROW.key),
      kind: bytes.readUInt32LE(at + ROW.kind) as Kind,
      at: bytes.readUInt32LE(at + ROW.at),
      bytes: bytes.readUInt32LE(at + ROW.bytes),
      checksum: bytes.readUInt32LE(at + ROW.checksum),
    })
  }
  return {
    number: bytes.readDoubleLE(HEAD.number),
    ordinal: bytes.readUInt32LE(HEAD.ordinal),
    bytes: bytes.length,
    rows,
  }
}

/** Whether the row's bytes, in those of its frame, are what was written. */
export function rowMatches(frame: Buffer, { at, bytes, checksum }: FrameRow): boolean {
  return at + bytes <= frame.length && crc32(frame.subarray(at, at + bytes)) === checksum
}

/** The head but for its magic and its checksum, then the directory. */
function checksumOf(head: Buffer, directory: Buffer): number {
  return crc32(directory, crc32(head.subarray(HEAD.number)))
}
