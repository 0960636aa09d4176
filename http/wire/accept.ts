/** Content negotiation by the `Accept` header (RFC 9110 section 12.5.1). */

/**
 * Whether `Accept` takes one of the types; of the ranges that a type is in, the most exact one decides (RFC 9110 section
 * 12.5.1). Who names problems and not these types is served too: for some paths, problems are the only answers with a
 * body.
 */
export function accepts(accept: string, produces: readonly string[]): boolean {
  // The usual header: one of the types, and nothing else.
  if (produces.includes(accept)) return true
  const ranges = new Map<string, boolean>()
  for (const part of accept.split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const isTaken = !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    ranges.set(range, isTaken || ranges.get(range) === true)
  }
  const given = (type: string): boolean | undefined =>
    ranges.get(type) ?? ranges.get(`${type.slice(0, type.indexOf('/'))}/*`) ?? ranges.get('*/*')
  return produces.some((type) => given(type) ?? ranges.get('application/problem+json') === true)
}
