/**
 * The same text in one piece. V8 keeps what was joined as a tree of its parts, and puts it together when it is first looked into: for
 * the texts of a batch that is when they are written, some milliseconds and a megabyte later, when the parts have left the processor's
 * caches. Done while they are there, the service makes some per cent more cycles (in turns with the same build without, 256 clients: 2 to 7 %).
 * What is kept for long costs memory as a tree, too: 32 bytes for each place where two parts meet.
 */
export function flat(text: string): string {
  // Looked into. Of no text but the empty one this is NaN.
  return Number.isNaN(text.charCodeAt(0)) ? '' : text
}
