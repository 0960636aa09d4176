/**
 * Markers: what the people of a project write carries its project's name, so that it is known wherever it comes out again.
 * The fuzzer spoils bytes of what it sends, also of a marker, and one that names another project by then is no leak: so a
 * marker ends with a checksum, and one that does not fit is no marker.
 */
import { crc32 } from 'node:zlib'

const MARKER = /MARK(\w+?)x([0-9a-f]{8})([0-9a-f]{8})/g

/** A marker of the project with that key; `digits`: eight hexadecimal ones, to tell it from others. */
export function markerOf(key: string, digits: string): string {
  return `MARK${key}x${digits}${checkOf(key, digits)}`
}

/** The whole markers in a text. */
export function* markersIn(text: string): Generator<{ readonly marker: string; readonly key: string }> {
  for (const [marker, key, digits, check] of text.matchAll(MARKER))
    if (check === checkOf(key!, digits!)) yield { marker, key: key! }
}

function checkOf(key: string, digits: string): string {
  return crc32(key + digits)
    .toString(16)
    .padStart(8, '0')
}
