/** Derives a short name from a long one: for a project's key and a record's slug. */

const SLUG_CHARS_MAX = 63

/** Lower-case letters, digits and single dashes; undefined if the result does not match the pattern. */
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
