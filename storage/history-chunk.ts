/**
 * Histories of traces and work items: rows of packed sequences. A row is written once and never read to be
 * extended, so that the applier adds to a history without reading it. The first sequence is in the key.
 */

/** A row stays well under half a page, where LMDB would move it to pages of its own. */
export const CHUNK_SEQUENCES_MAX = 256

/** Sequences behind the first, each as its distance from the one before, base 36. */
export function packChunk(sequences: readonly number[], from: number, to: number): string {
  let text = ''
  for (let i = from + 1; i < to; i += 1) {
    const distance = (sequences[i]! - sequences[i - 1]!).toString(36)
    text = text === '' ? distance : `${text} ${distance}`
  }
  return text
}

/** The sequences of a row, ascending, the first included. */
export function unpackChunk(first: number, packed: string): number[] {
  const sequences = [first]
  if (packed === '') return sequences
  let sequence = first
  for (const distance of packed.split(' ')) {
    sequence += Number.parseInt(distance, 36)
    sequences.push(sequence)
  }
  return sequences
}
