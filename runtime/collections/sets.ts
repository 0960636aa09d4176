/** Non-empty sets by key: what holds a repository, what is pinned to a runner, what is open in a run. */

export function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([value]))
  else set.add(value)
}

export function removeFrom<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key)
  if (set?.delete(value) && set.size === 0) sets.delete(key)
}
