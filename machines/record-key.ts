/** How prose and other records name an intent record: `<project>.intent.<slug>`. Neither a project’s key nor a slug has a dot. */
import { SLUG_PATTERN } from './documents/intent-record.ts'

const SLUG = new RegExp(SLUG_PATTERN)
const BETWEEN = '.intent.'
const SHAPE = /^[a-z0-9][a-z0-9_-]*\.intent\.[a-z0-9][a-z0-9_-]*$/

export function recordKey(project: string, slug: string): string {
  return `${project}${BETWEEN}${slug}`
}

export function isSlug(text: string): boolean {
  return SLUG.test(text)
}

/** The parts of a key; undefined: it is none. Whether there is such a project or record is not asked. */
export function partsOfRecordKey(key: string): { readonly project: string; readonly slug: string } | undefined {
  const at = key.indexOf(BETWEEN)
  if (at <= 0) return undefined
  const slug = key.slice(at + BETWEEN.length)
  return isSlug(slug) ? { project: key.slice(0, at), slug } : undefined
}

/** It was meant to be a key, even if a part of it is longer than one may be, or the project is named by its id. */
export function looksLikeRecordKey(text: string): boolean {
  return SHAPE.test(text)
}
