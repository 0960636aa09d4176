/**
 * What a benchmark question is given and what it answers. A finding carries the limit it was measured against in
 * the same run and, where the design states one, the floor and the goal.
 */
import type { Child } from './child.ts'
import type { Scratch } from './scratch.ts'

/** A number that the design sets: a ratio to the limit, or an absolute bound in the finding's unit. */
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
  /** What is held against the bar: the median of the rounds' ratios, or the value itself where absent. */
  readonly ratio?: number
  readonly bar?: Bar
  readonly better?: 'higher' | 'lower'
  readonly note?: string
}

export interface Context {
  /** Short and small: minutes for all questions instead of a quarter of an hour. */
  readonly quick: boolean
  readonly scratch: Scratch
  /** Write one line about what is being done. */
  say(text: string): void
  /** Run the measure, with the server's CPU profile where `--profile` asks for it. */
  profiled<R>(name: string, server: Child, measure: () => Promise<R>): Promise<R>
}

export interface Question {
  readonly name: string
  readonly asks: string
  run(context: Context): Promise<readonly Finding[]>
}

export type Verdict = 'goal' | 'floor' | 'BELOW' | ''

/** Where a finding stands between its floor and its goal; empty where none is set. */
export function verdict(finding: Finding): Verdict {
  if (finding.bar === undefined) return ''
  const held = finding.ratio ?? finding.value
  const reaches = (bound: number): boolean => (finding.better === 'lower' ? held <= bound : held >= bound)
  if (reaches(finding.bar.goal)) return 'goal'
  return reaches(finding.bar.floor) ? 'floor' : 'BELOW'
}
