/** Which members a change really alters: events name them. */

/** Members of `next` that differ from `before`, by name. */
export function changed<T extends object>(before: T, next: Partial<T>): string[] {
  return Object.keys(next).filter((member) => {
    const key = member as keyof T
    return JSON.stringify(before[key]) !== JSON.stringify(next[key])
  })
}
