/** Memoizes `question`: answers are remembered for as long as the returned function is kept. */
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
