/** How prose and other records name an intent record: `<project>.intent.<slug>`. Neither a project’s key nor a slug has a dot. */
import { SLUG_PATTERN } from './documents/intent-record.ts'
import { isId, recordIdOfSlug } from './ids.ts'

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

/**
 * The id of the record that is named by its id, or by its key in a project that `projectIdOf` knows; undefined: it is neither.
 * Whether there is such a record is not asked.
 */
export function recordIdOf(named: string, projectIdOf: (project: string) => string | undefined): string | undefined {
  if (isId('ir', named)) return named
  const parts = partsOfRecordKey(named)
  const projectId = parts === undefined ? undefined : projectIdOf(parts.project)
  return projectId === undefined ? undefined : recordIdOfSlug(projectId, parts!.slug)
}

/** It was meant to be a key, even if a part of it is longer than one may be, or the project is named by its id. */
export function looksLikeRecordKey(text: string): boolean {
  return SHAPE.test(text)
}
