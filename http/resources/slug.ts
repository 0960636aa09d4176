/** A short name made of a long one: what a project's key and a record's slug are made from. */

const SLUG_CHARS_MAX = 63

/** Lower-case letters, digits and single dashes; undefined when nothing is left that the pattern allows. */
export function slugOf(name: string, pattern: string): string | undefined {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^[-_]+/g, '')
    .slice(0, SLUG_CHARS_MAX)
    .replaceAll(/-+$/g, '')
  return new RegExp(pattern).test(slug) ? slug : undefined
}
