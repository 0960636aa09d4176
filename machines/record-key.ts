/** How prose and other records name an intent record: `<project>.intent.<slug>`. Neither part contains a dot. */
import { SLUG_PATTERN } from './documents/fields.ts'
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

/** The parts of a key, or undefined if the text is not one. Does not check that the project or record exists. */
export function partsOfRecordKey(key: string): { readonly project: string; readonly slug: string } | undefined {
  const at = key.indexOf(BETWEEN)
  if (at <= 0) return undefined
  const slug = key.slice(at + BETWEEN.length)
  return isSlug(slug) ? { project: key.slice(0, at), slug } : undefined
}

/**
 * The id of a record given by its id, or by its key in a project that `projectIdOf` knows; undefined if it is neither.
 * Does not check that the record exists.
 */
export function recordIdOf(named: string, projectIdOf: (project: string) => string | undefined): string | undefined {
  if (isId('ir', named)) return named
  const parts = partsOfRecordKey(named)
  const projectId = parts === undefined ? undefined : projectIdOf(parts.project)
  return projectId === undefined ? undefined : recordIdOfSlug(projectId, parts!.slug)
}

/** Whether the text was meant as a key, even if a part is longer than allowed or the project is given by its id. */
export function looksLikeRecordKey(text: string): boolean {
  return SHAPE.test(text)
}
