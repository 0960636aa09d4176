/** In which functions a server spent its time: the self time of a V8 CPU profile, summed by function. */

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface SelfTime {
  readonly what: string
  /** Share of the non-idle time, 0 to 1. */
  readonly share: number
}

/** `folder/file.js:line`, or the package's name for a dependency. */
function placeOf(url: string, line: number): string {
  if (url === '') return ''
  const path = url
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/dist\//, '')
    .replace(/^file:\/\/.*\/(?=[^/]+\/[^/]+$)/, '')
  return ` ${path}:${line + 1}`
}

function nameOf({ callFrame }: ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame
  return `${functionName === '' ? '(anonymous)' : functionName}${placeOf(url, lineNumber)}`
}

/** Native functions have no source place, so they are distinguished by their callers. */
function namesOf(nodes: readonly ProfileNode[]): Map<number, string> {
  const parents = new Map<number, ProfileNode>()
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node)
  const names = new Map<number, string>()
  for (const node of nodes) {
    let caller = node.callFrame.url === '' ? parents.get(node.id) : undefined
    while (caller !== undefined && caller.callFrame.url === '') caller = parents.get(caller.id)
    names.set(node.id, caller === undefined ? nameOf(node) : `${nameOf(node)} < ${nameOf(caller)}`)
  }
  return names
}

/** The `count` functions with the most self time. */
export function selfTimes(profile: CpuProfile, count: number): SelfTime[] {
  const names = namesOf(profile.nodes)
  const microseconds = new Map<string, number>()
  let total = 0
  profile.samples.forEach((id, index) => {
    const name = names.get(id)!
    // Starting and stopping the profiler is no work of the server.
    if (name === '(idle)' || name.includes('node:inspector')) return
    const delta = profile.timeDeltas[index]!
    total += delta
    microseconds.set(name, (microseconds.get(name) ?? 0) + delta)
  })
  return [...microseconds]
    .sort((a, b) => b[1] - a[1])
    .slice(0, count)
    .map(([what, us]) => ({ what, share: us / total }))
}
