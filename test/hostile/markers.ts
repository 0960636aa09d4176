/**
 * Markers: whatever the people of a project write contains its key, so that it can be recognized in any answer. The
 * fuzzer corrupts bytes of requests, also within markers, and a marker that names another project by corruption is no
 * leak: therefore a marker ends with a checksum, and one with a wrong checksum does not count.
 */
import { crc32 } from 'node:zlib'

const MARKER = /MARK(\w+?)x([0-9a-f]{8})([0-9a-f]{8})/g

/** A marker of the project with that key; `digits` are eight hexadecimal ones that distinguish it from others. */
export function markerOf(key: string, digits: string): string {
  return `MARK${key}x${digits}${checkOf(key, digits)}`
}

/** The markers in a text that have a correct checksum. */
export function* markersIn(text: string): Generator<{ readonly marker: string; readonly key: string }> {
  for (const [marker, key, digits, check] of text.matchAll(MARKER))
    if (check === checkOf(key!, digits!)) yield { marker, key: key! }
}

function checkOf(key: string, digits: string): string {
  return crc32(key + digits)
    .toString(16)
    .padStart(8, '0')
}
