/** The same question, which remembers its answers for as long as it is kept. */
export function answeredOnce<K, T>(question: (about: K) => T): (about: K) => T {
  const known = new Map<K, T>()
  return (about) => {
    const before = known.get(about)
    if (before !== undefined || known.has(about)) return before!
    const answer = question(about)
    known.set(about, answer)
    return answer
  }
}
