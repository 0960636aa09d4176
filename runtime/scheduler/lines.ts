/**
 * The queued items, in lines: one per wish and lane. Rules that look at nothing else hold back all of a line or none of
 * it, so a tick asks them once per line and walks only open lines: ten thousand items behind one busy repository
 * cost it nothing. Items that wait for a time, or for other items, are checked one by one.
 */
import type { Lane } from '../../machines/run-request/lanes.ts'
import { IndexHeap } from '../collections/index-heap.ts'
import { SortedList } from '../collections/sorted-list.ts'
import type { RunnerRequirements } from '../dispatch/api.ts'

/** What decides which line an entry waits in. */
interface InLine {
  readonly project: string
  readonly lane: Lane
  readonly requirements: RunnerRequirements
}

export class Lines<T extends InLine> {
  private readonly compare: (a: T, b: T) => number
  private readonly lines = new Map<RunnerRequirements, Map<Lane, SortedList<T>>>()

  /** `compare` is the order in which entries start, and never returns 0 for two different ones. */
  constructor(compare: (a: T, b: T) => number) {
    this.compare = compare
  }

  add(entry: T): void {
    const { requirements, lane } = entry
    const lanes = this.lines.get(requirements) ?? new Map<Lane, SortedList<T>>()
    const line = lanes.get(lane) ?? new SortedList(this.compare)
    line.add(entry)
    lanes.set(lane, line)
    this.lines.set(requirements, lanes)
  }

  remove(entry: T): void {
    const { requirements, lane } = entry
    const lanes = this.lines.get(requirements)
    const line = lanes?.get(lane)
    if (lanes === undefined || line === undefined) return
    line.remove(entry)
    if (line.size === 0) lanes.delete(lane)
    if (lanes.size === 0) this.lines.delete(requirements)
  }

  /** The first entry of each line, and the line's length. */
  *heads(): Generator<readonly [first: T, count: number]> {
    for (const line of this.linesWhere(() => true)) yield [line[0]!, line.length]
  }

  /** Projects that have entries. */
  projects(): ReadonlySet<string> {
    const projects = new Set<string>()
    for (const [{ project }] of this.heads()) projects.add(project)
    return projects
  }

  /** Number of entries in the lines that `isIn` admits; it is asked with an entry of each. */
  count(isIn: (entry: T) => boolean): number {
    let count = 0
    for (const line of this.linesWhere(isIn)) count += line.length
    return count
  }

  /**
   * The entries of the open lines in starting order. `isOpen` is asked with each entry before it is yielded; once it
   * says no, the rest of that line is skipped. No entry may be added or removed during the walk.
   */
  *open(isOpen: (entry: T) => boolean): Generator<T> {
    yield* this.merged(this.linesWhere(isOpen), isOpen)
  }

  /**
   * The same, but within interactive work, and then within all other, the projects take turns: after each entry the next
   * is of the project that then comes first in the order which `orderOf` gives, by their numbers, for the projects that
   * have open lines. Only the turn of an entry's own project may change meanwhile.
   */
  *openInTurn(
    isOpen: (entry: T) => boolean,
    orderOf: (projects: readonly string[]) => (a: number, b: number) => number,
  ): Generator<T> {
    const lines = this.linesWhere(isOpen)
    if (lines.length === 0) return
    const numbers = new Map<string, number>()
    for (const [first] of lines) if (!numbers.has(first!.project)) numbers.set(first!.project, numbers.size)
    const compare = orderOf([...numbers.keys()])
    for (const isInteractive of [true, false]) {
      const own: (readonly T[])[][] = []
      for (const line of lines) {
        const { lane, project } = line[0]!
        const number = numbers.get(project)!
        if ((lane === 'interactive') !== isInteractive) continue
        if (own[number] === undefined) own[number] = [line]
        else own[number].push(line)
      }
      const order = heapOf(own, (a, b) => compare(a, b) < 0)
      // Most are not reached: what starts in a tick is few.
      const walks: Generator<T>[] = []
      while (order.size > 0) {
        const first = order.first
        walks[first] ??= this.merged(own[first]!, isOpen)
        const { value, done } = walks[first].next()
        if (done === true) order.remove(first)
        else {
          yield value
          order.moved(first)
        }
      }
    }
  }

  private *merged(lines: readonly (readonly T[])[], isOpen: (entry: T) => boolean): Generator<T> {
    const places = new Int32Array(lines.length)
    const heads = headsOf(lines, places, this.compare)
    while (heads.size > 0) {
      const line = heads.first
      const entry = lines[line]![places[line]!]!
      const isOver = !isOpen(entry)
      places[line]!++
      if (isOver || places[line] === lines[line]!.length) heads.remove(line)
      else heads.moved(line)
      if (!isOver) yield entry
    }
  }

  /** The first of these, at most `limit`. */
  first(limit: number, isOpen: (entry: T) => boolean): T[] {
    const first: T[] = []
    for (const entry of this.open(isOpen)) {
      if (first.length === limit) break
      first.push(entry)
    }
    return first
  }

  /**
   * The lines that `isIn` admits, each from its end, merged by `compare`, which must order each line in reverse. Yields
   * only the entries for which `isBehind` holds, the latter part of that order. No entry may be added or removed during
   * the walk.
   */
  *back(compare: (a: T, b: T) => number, isIn: (entry: T) => boolean, isBehind: (entry: T) => boolean): Generator<T> {
    const lines = this.linesWhere((entry) => isBehind(entry) && isIn(entry))
    const places = Int32Array.from(lines, (line) => countWhile(line, isBehind) - 1)
    const heads = headsOf(lines, places, compare)
    while (heads.size > 0) {
      const line = heads.first
      yield lines[line]![places[line]!]!
      if (--places[line]! < 0) heads.remove(line)
      else heads.moved(line)
    }
  }

  /** `isIn` is asked with the first entry of each line. */
  private linesWhere(isIn: (entry: T) => boolean): readonly (readonly T[])[] {
    const found: (readonly T[])[] = []
    for (const lanes of this.lines.values())
      for (const line of lanes.values()) if (isIn(line.all()[0]!)) found.push(line.all())
    return found
  }
}

/** A heap of the lines, ordered by the entry at each one's place. */
function headsOf<T>(lines: readonly (readonly T[])[], places: Int32Array, compare: (a: T, b: T) => number): IndexHeap {
  const head = (line: number): T => lines[line]![places[line]!]!
  return heapOf(lines, (a, b) => compare(head(a), head(b)) < 0)
}

/** A heap of the places in the list; an array that has holes has none there. */
function heapOf(list: readonly unknown[], before: (a: number, b: number) => boolean): IndexHeap {
  const heap = new IndexHeap({ of: new Int32Array(list.length).fill(-1) }, before)
  list.forEach((_, place) => {
    heap.push(place)
  })
  return heap
}

/** Number of entries at the line's start for which `holds` is true; it is false for all after them. */
function countWhile<T>(line: readonly T[], holds: (entry: T) => boolean): number {
  let low = 0
  let high = line.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(line[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}
