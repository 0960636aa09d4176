/** How long a text is in UTF-8, without measuring more of it than must be. */

/** Most bytes that a UTF-16 unit takes. */
export const UTF8_BYTES_PER_UNIT_MAX = 3

/** Whether the text takes more bytes than these. Only a long one is measured: most could not reach the bound. */
export function takesMoreThan(text: string, bytesMax: number): boolean {
  return text.length * UTF8_BYTES_PER_UNIT_MAX > bytesMax && Buffer.byteLength(text) > bytesMax
}
