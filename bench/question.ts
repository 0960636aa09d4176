/**
 * What a benchmark question receives and what it answers. A finding carries the limit measured in the same run and,
 * where the design sets them, the floor and the goal.
 */
import type { Child } from './child.ts'
import type { Scratch } from './scratch.ts'

/** Bounds set by the design: for the ratio to the limit, or absolute in the finding's unit. */
export interface Bar {
  /** Row of the table in BENCHMARKS.md, section "Floors and goals". */
  readonly row: number
  readonly floor: number
  readonly goal: number
}

export interface Finding {
  readonly measure: string
  readonly value: number
  readonly unit: string
  readonly limit?: { readonly what: string; readonly value: number }
  /** The value compared with the bar: the median of the rounds' ratios; if absent, `value` is compared. */
  readonly ratio?: number
  readonly bar?: Bar
  readonly better?: 'higher' | 'lower'
  readonly note?: string
}

export interface Context {
  /** Shorter and smaller: minutes for all questions instead of a quarter of an hour. */
  readonly quick: boolean
  readonly scratch: Scratch
  /** Writes one line about what is being done. */
  say(text: string): void
  /** Runs the measurement, taking the server's CPU profile if `--profile` is given. */
  profiled<R>(name: string, server: Child, measure: () => Promise<R>): Promise<R>
}

export interface Question {
  readonly name: string
  readonly asks: string
  run(context: Context): Promise<readonly Finding[]>
}

export type Verdict = 'goal' | 'floor' | 'BELOW' | ''

/** How a finding compares with its floor and goal; empty if none is set. */
export function verdict(finding: Finding): Verdict {
  if (finding.bar === undefined) return ''
  const held = finding.ratio ?? finding.value
  const reaches = (bound: number): boolean => (finding.better === 'lower' ? held <= bound : held >= bound)
  if (reaches(finding.bar.goal)) return 'goal'
  return reaches(finding.bar.floor) ? 'floor' : 'BELOW'
}
