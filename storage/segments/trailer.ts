/** The end of a full file, which points to the frame that holds the places of its rows. */
import { Buffer } from 'node:buffer'
import { crc32 } from 'node:zlib'
import { readWhole } from '../files/read-whole.ts'
import { HEAD_BYTES, MAGIC } from './frame.ts'

/** Magic; checksum of the rest and of that frame's head; place of that frame. */
export const TRAILER_BYTES = 16
const TRAILER = { checksum: 4, frameAt: 8 } as const

export interface Trailer {
  readonly frameAt: number
  readonly checksum: number
}

export function trailerBytes(frame: Buffer, frameAt: number): Buffer {
  const bytes = Buffer.alloc(TRAILER_BYTES)
  MAGIC.copy(bytes)
  bytes.writeDoubleLE(frameAt, TRAILER.frameAt)
  bytes.writeUInt32LE(checksumOf(bytes, frame.subarray(0, HEAD_BYTES)), TRAILER.checksum)
  return bytes
}

/** The trailer of a file of this size; undefined if the file is not full. */
export function trailerIn(file: number, size: number): Trailer | undefined {
  const bytes = Buffer.alloc(TRAILER_BYTES)
  const at = size - TRAILER_BYTES
  if (at < 0 || !readWhole(file, bytes, at) || MAGIC.compare(bytes, 0, MAGIC.length) !== 0) return undefined
  const frameAt = bytes.readDoubleLE(TRAILER.frameAt)
  const head = Buffer.alloc(HEAD_BYTES)
  if (!Number.isSafeInteger(frameAt) || frameAt <= 0 || frameAt >= at || !readWhole(file, head, frameAt))
    return undefined
  const checksum = bytes.readUInt32LE(TRAILER.checksum)
  return checksum === checksumOf(bytes, head) ? { frameAt, checksum } : undefined
}

function checksumOf(trailer: Buffer, head: Buffer): number {
  return crc32(head, crc32(trailer.subarray(TRAILER.frameAt)))
}
