/** The length of a text in UTF-8, measured only if it has to be. */

/** The most bytes that a UTF-16 unit takes. */
export const UTF8_BYTES_PER_UNIT_MAX = 3

/** Whether the text takes more than `bytesMax` bytes. Only long texts are measured: most could not reach the bound. */
export function takesMoreThan(text: string, bytesMax: number): boolean {
  return text.length * UTF8_BYTES_PER_UNIT_MAX > bytesMax && Buffer.byteLength(text) > bytesMax
}
