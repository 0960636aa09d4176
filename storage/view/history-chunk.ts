/**
 * Histories of traces and work items, as rows of packed sequences. A row is written once and never extended, so the
 * applier adds to a history without reading it. The first sequence is in the key.
 */
import { type Key, LAST_PART, type Table } from '../environments.ts'

/** Keeps a row well under half a page, above which LMDB would move it to pages of its own. */
export const CHUNK_SEQUENCES_MAX = 256

/** The sequences after the first, each as its distance from the one before, in base 36. */
export function packChunk(sequences: readonly number[], from: number, to: number): string {
  let text = ''
  for (let i = from + 1; i < to; i += 1) {
    const distance = (sequences[i]! - sequences[i - 1]!).toString(36)
    text = text === '' ? distance : `${text} ${distance}`
  }
  return text
}

/** The sequences of a row, ascending, including the first. */
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

/**
 * Sequences after `afterSequence` in the rows under `prefix`, ascending, at most `limit`. Reads no more rows than hold
 * them.
 */
export function sequencesAfter(
  rows: Pick<Table<Key>, 'getKeys' | 'getRange'>,
  prefix: Key,
  afterSequence: number,
  limit: number,
): number[] {
  // The row that holds the next sequence may begin at or before `afterSequence`.
  let start: Key = prefix
  const before = { start: [...prefix, afterSequence], end: prefix, reverse: true, limit: 1 }
  for (const key of rows.getKeys(before)) start = key
  const sequences: number[] = []
  for (const { key, value } of rows.getRange({ start, end: [...prefix, LAST_PART] })) {
    for (const sequence of unpackChunk(key.at(-1) as number, value)) {
      if (sequence <= afterSequence) continue
      if (sequences.length >= limit) return sequences
      sequences.push(sequence)
    }
  }
  return sequences
}

/** Sequences before `beforeSequence`, descending. */
export function sequencesBefore(
  rows: Pick<Table<Key>, 'getKeys' | 'getRange'>,
  prefix: Key,
  beforeSequence: number,
  limit: number,
): number[] {
  const sequences: number[] = []
  const range = { start: [...prefix, beforeSequence - 1], end: prefix, reverse: true }
  for (const { key, value } of rows.getRange(range)) {
    for (const sequence of unpackChunk(key.at(-1) as number, value).reverse()) {
      if (sequence >= beforeSequence) continue
      if (sequences.length >= limit) return sequences
      sequences.push(sequence)
    }
  }
  return sequences
}
