/**
 * What the shim recorded (test/crash/shim/shim.c): every write, flush and change of a name below one folder, in order.
 */
import { readFileSync } from 'node:fs'

const KINDS = [
  '',
  'create',
  'mkdir',
  'rename',
  'unlink',
  'rmdir',
  'write',
  'write_through',
  'written_through',
  'flush_begin',
  'flush_end',
  'truncate',
  'directory_flush_begin',
  'directory_flush_end',
  'unsupported',
] as const

export interface TraceRecord {
  readonly kind: (typeof KINDS)[number]
  /** Nanoseconds of the monotonic clock, the same in every process. */
  readonly atNs: number
  /** Inode of the file. */
  readonly file: number
  /** Where a write begins; for a truncation, the new length. */
  readonly place: number
  /** Links the end of a flush or of a write-through to its beginning. */
  readonly token: number
  /** Relative to the home. */
  readonly path: string
  /** What was written; for a rename, the new path. */
  readonly data: Buffer
}

const MAGIC = 0x1d5117ec
const HEAD_BYTES = 48

/** Throws when the trace has a hole, or an operation that the shim cannot follow. */
export function readTrace(file: string): TraceRecord[] {
  const bytes = readFileSync(file)
  const records: TraceRecord[] = []
  let at = 0
  while (at + HEAD_BYTES <= bytes.length) {
    if (bytes.readUInt32LE(at) !== MAGIC) throw new Error(`the trace has a hole at ${at}`)
    const number = (offset: number) => Number(bytes.readBigUInt64LE(at + offset))
    const pathBytes = bytes.readUInt32LE(at + 40)
    const dataBytes = bytes.readUInt32LE(at + 44)
    const dataAt = at + HEAD_BYTES + pathBytes
    // The last record may be cut short: the process was killed while it was written.
    if (dataAt + dataBytes > bytes.length) break
    const record: TraceRecord = {
      kind: KINDS[bytes.readUInt32LE(at + 4)] ?? '',
      atNs: number(8),
      file: number(16),
      place: number(24),
      token: number(32),
      path: bytes.toString('utf8', at + HEAD_BYTES, dataAt),
      data: bytes.subarray(dataAt, dataAt + dataBytes),
    }
    if (record.kind === 'unsupported') throw new Error(`${record.path}: ${record.data}`)
    if (record.kind === '') throw new Error(`the trace has a record of no known kind at ${at}`)
    records.push(record)
    at = dataAt + dataBytes
  }
  return records
}
