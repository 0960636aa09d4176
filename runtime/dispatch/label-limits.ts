/**
 * How many runs that require a label may be under way at the same time, whatever their project, and which are: all that
 * runners hold, or may still hold, from the moment an offer is sent. Hot: while no label is limited, nothing is counted
 * or looked up; otherwise a question costs one look for each label of the request.
 */
import type { WaitingBecause } from '../../machines/documents/waiting-because.ts'
import type { Held } from './runner.ts'

/** A limited label, and how much of its limit is used. */
export interface LabelUse {
  readonly label: string
  readonly maxRunning: number
  /** More than `maxRunning` once the limit has been lowered below what was under way. */
  readonly underWay: number
}

interface LimitedLabel {
  readonly label: string
  readonly maxRunning: number
  readonly held: Set<Held>
}

const NONE: ReadonlySet<Held> = new Set()

export class LabelLimits {
  private readonly limited = new Map<string, LimitedLabel>()
  /** Those of which a run may start that could not before, until the dispatcher has seen to that. */
  readonly freed = new Set<string>()

  /** Replaces all limits. `all`: everything that is held. */
  set(limits: ReadonlyMap<string, number>, all: Iterable<Held>): void {
    this.limited.clear()
    for (const [label, maxRunning] of limits) this.limited.set(label, { label, maxRunning, held: new Set() })
    for (const held of all) this.add(held)
  }

  add(held: Held): void {
    if (this.limited.size === 0) return
    for (const label of held.labels) this.limited.get(label)?.held.add(held)
  }

  delete(held: Held): void {
    if (this.limited.size === 0) return
    for (const label of held.labels) {
      const limited = this.limited.get(label)
      if (limited?.held.delete(held) && limited.held.size === limited.maxRunning - 1) this.freed.add(label)
    }
  }

  /** The first of the labels of which no further run may start; undefined if none. `besides`: a run that is not counted. */
  fullOf(labels: readonly string[], besides?: string): LabelUse | undefined {
    if (this.limited.size === 0) return undefined
    for (const label of labels) {
      const limited = this.limited.get(label)
      if (limited === undefined || limited.held.size < limited.maxRunning) continue
      const { maxRunning, held } = limited
      const underWay = besides === undefined ? held.size : sizeBesides(held, besides)
      if (underWay >= maxRunning) return { label, maxRunning, underWay }
    }
    return undefined
  }

  /** Whether a person lets nothing with one of the labels start. */
  areStopped(labels: readonly string[]): boolean {
    return this.limited.size > 0 && labels.some((label) => this.limited.get(label)?.maxRunning === 0)
  }

  /** Whether more are under way than may be, for one of its labels, without those that are being taken back. */
  isOver({ labels }: Held): boolean {
    if (this.limited.size === 0) return false
    return labels.some((label) => {
      const limited = this.limited.get(label)
      if (limited === undefined || limited.held.size <= limited.maxRunning) return false
      let staying = 0
      for (const { isReturning } of limited.held) if (!isReturning) staying++
      return staying > limited.maxRunning
    })
  }

  /** The run requests that require the label and are under way, if it is limited. */
  holdersOf(label: string): ReadonlySet<Held> {
    return this.limited.get(label)?.held ?? NONE
  }

  /** As a sentence. */
  because(labels: readonly string[]): WaitingBecause | undefined {
    const full = this.fullOf(labels)
    if (full === undefined) return undefined
    const { label, maxRunning, underWay } = full
    const counted = `${underWay} of ${maxRunning} runs with the label ${label} are under way.`
    return { code: 'label_limit', detail: maxRunning === 0 ? `The label ${label} is limited to 0.` : counted }
  }
}

function sizeBesides(held: ReadonlySet<Held>, id: string): number {
  for (const one of held) if (one.id === id) return held.size - 1
  return held.size
}
