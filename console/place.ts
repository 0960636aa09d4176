/** The address of a page of the console: what stands behind `#` in the address bar. */

export interface Place {
  /** The address as it was given. */
  readonly href: string
  /** `#/items/wi_1` is `['items', 'wi_1']`. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const parts = path.split('/').filter((part) => part !== '')
  return { href: hash, path: parts.map(decoded), query: new URLSearchParams(query) }
}

/** An address that somebody typed may not be well-formed. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The address with the project that is chosen, which stays chosen behind it. */
export function hrefIn(project: string | undefined, href: string): string {
  const { path, query } = placeOf(href)
  return hrefOf(path, { ...Object.fromEntries(query), project })
}

export function hrefOf(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`
}
