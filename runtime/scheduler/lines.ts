/**
 * What waits in the queue, in lines: one for each wish and lane. The rules that look at nothing else hold back all of a line
 * or none of it, so a tick asks them once a line, and walks only lines that are open: ten thousand items behind one busy
 * repository cost it nothing. Items that wait for a time, or for others, are asked one by one.
 */
import type { Lane } from '../../machines/documents/run-request.ts'
import type { Wanted } from '../dispatch/api.ts'
import { IndexHeap } from '../index-heap.ts'
import { SortedList } from '../sorted-list.ts'

/** What decides in which line something waits. */
export interface InLine {
  readonly lane: Lane
  readonly wanted: Wanted
}

export class Lines<T extends InLine> {
  private readonly compare: (a: T, b: T) => number
  private readonly lines = new Map<Wanted, Map<Lane, SortedList<T>>>()

  /** `compare` is the order in which they start, and never answers 0 for two different entries. */
  constructor(compare: (a: T, b: T) => number) {
    this.compare = compare
  }

  add(entry: T): void {
    const { wanted, lane } = entry
    const lanes = this.lines.get(wanted) ?? new Map<Lane, SortedList<T>>()
    const line = lanes.get(lane) ?? new SortedList(this.compare)
    line.add(entry)
    lanes.set(lane, line)
    this.lines.set(wanted, lanes)
  }

  remove(entry: T): void {
    const { wanted, lane } = entry
    const lanes = this.lines.get(wanted)
    const line = lanes?.get(lane)
    if (lanes === undefined || line === undefined) return
    line.remove(entry)
    if (line.size === 0) lanes.delete(lane)
    if (lanes.size === 0) this.lines.delete(wanted)
  }

  /** All that wait, in the order in which they start: each line is in order, which a sort makes use of. */
  all(): readonly T[] {
    const all: T[] = []
    for (const lanes of this.lines.values())
      for (const line of lanes.values()) for (const entry of line.all()) all.push(entry)
    return all.sort(this.compare)
  }

  /**
   * In the order in which they start, over the lines that are open. `isOpen` is asked with an entry of a line before one comes
   * out of it, and a line that is not open any more is left. What waits may not change during the walk.
   */
  *open(isOpen: (entry: T) => boolean): Generator<T> {
    const lines: (readonly T[])[] = []
    for (const lanes of this.lines.values())
      for (const line of lanes.values()) if (isOpen(line.all()[0]!)) lines.push(line.all())
    const places = new Int32Array(lines.length)
    const head = (line: number): T => lines[line]![places[line]!]!
    const positions = { of: new Int32Array(lines.length).fill(-1) }
    const heads = new IndexHeap(positions, (a, b) => this.compare(head(a), head(b)) < 0)
    for (let line = 0; line < lines.length; line++) heads.push(line)
    while (heads.size > 0) {
      const line = heads.first
      const entry = head(line)
      const isOver = !isOpen(entry)
      places[line]!++
      if (isOver || places[line] === lines[line]!.length) heads.remove(line)
      else heads.moved(line)
      if (!isOver) yield entry
    }
  }
}
