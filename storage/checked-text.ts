/**
 * Texts with a CRC-32 of their UTF-8. Neither files nor LMDB have checksums, so a torn or flipped row is found here,
 * on every read (0.2 us for 450 bytes), and never served. Rows of the view that cannot be derived from others have a
 * checksum as those of the log do; without it, three flipped bits in ten of a view went unnoticed everywhere, even by
 * `verify`.
 */
import { Buffer } from 'node:buffer'
import { crc32 } from 'node:zlib'

const CHECKSUM_BYTES = 4

/** The bytes of a row do not match its checksum. */
export class CorruptRow extends Error {
  override readonly name = 'CorruptRow'

  constructor(message = 'the row does not match its checksum') {
    super(message)
  }
}

/** Decodes the bytes. Throws CorruptRow. */
export function textOf(bytes: Buffer, checksum: number): string {
  if (crc32(bytes) !== checksum) throw new CorruptRow()
  return bytes.toString('utf8')
}

/** For the databases of an old log in LMDB, which is only read: four bytes of checksum, then the UTF-8. */
export const checkedText = {
  /** Throws CorruptRow. */
  decode(value: Uint8Array): string {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    if (bytes.length < CHECKSUM_BYTES) throw new CorruptRow()
    return textOf(bytes.subarray(CHECKSUM_BYTES), bytes.readUInt32LE(0))
  },
}

/**
 * First byte of a view row with a checksum; no JSON begins so. Rows of earlier versions have none, and are read as
 * they are.
 */
const CHECKED = 1
const ROW_HEAD_BYTES = 1 + CHECKSUM_BYTES

/**
 * Value encoder and decoder for databases written in batches. Each value gets a buffer of its own, since it must stay
 * unchanged until it is written.
 */
export const checkedRow = {
  encode(text: string): Buffer {
    const bytes = Buffer.allocUnsafe(ROW_HEAD_BYTES + Buffer.byteLength(text))
    bytes.write(text, ROW_HEAD_BYTES, 'utf8')
    bytes[0] = CHECKED
    bytes.writeUInt32LE(crc32(bytes.subarray(ROW_HEAD_BYTES)), 1)
    return bytes
  },

  /** Throws CorruptRow. */
  decode(value: Uint8Array): string {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    if (bytes[0] !== CHECKED) return bytes.toString('utf8')
    if (bytes.length < ROW_HEAD_BYTES) throw new CorruptRow()
    return textOf(bytes.subarray(ROW_HEAD_BYTES), bytes.readUInt32LE(1))
  },
}

/**
 * For actors' records. A damaged one is decoded to text that is no record, so that it does not hide others and its
 * reader (`parsedRecord`) can name it.
 */
export const checkedRecord = {
  encode: checkedRow.encode,

  decode(value: Uint8Array): string {
    try {
      return checkedRow.decode(value)
    } catch (error) {
      return `(${(error as Error).message})`
    }
  },
}

/** The content of a record as decoded. Throws CorruptRow for a damaged one, SyntaxError for one that is not JSON. */
export function parsedRecord(text: string): any {
  if (text.startsWith('(')) throw new CorruptRow(text.slice(1, -1))
  return JSON.parse(text)
}
