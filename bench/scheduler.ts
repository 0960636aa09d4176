/** What a tick of the scheduler costs: with ten thousand waiting items, and with many settled items or none. */
import { Child } from './child.ts'
import type { Context, Finding, Question } from './question.ts'
import type { Ledger, Ticks } from './scheduler-child.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'

const WAITING = 10_000
const ROUNDS = 7

/** A ledger, filled by one process and opened by the next. */
class Bench {
  readonly child = new Child('./scheduler-child.js')
  startMs = 0

  static async open(context: Context, size: Omit<Ledger, 'home'>): Promise<Bench> {
    const ledger = { home: context.scratch.home(), ...size }
    const filler = new Child('./scheduler-child.js')
    await filler.ask('fill', ledger)
    await filler.stop()
    const bench = new Bench()
    bench.startMs = await bench.child.ask<number>('open', ledger)
    return bench
  }

  ticks(count: number): Promise<Ticks> {
    return this.child.ask<Ticks>('ticks', count)
  }
}

async function heldBack(context: Context, blockedBy: Ledger['blockedBy'], count: number): Promise<Finding> {
  const bench = await Bench.open(context, { settled: 0, waiting: WAITING, blockedBy })
  try {
    const { p50Ms, p99Ms } = await bench.ticks(count)
    return {
      measure: `tick with ${WAITING} waiting, held back by the ${blockedBy} (p99)`,
      value: p99Ms,
      unit: 'ms',
      better: 'lower',
      bar: { row: 14, floor: 10, goal: 5 },
      note: `p50 ${p50Ms.toFixed(2)} ms; loaded at start in ${Math.round(bench.startMs)} ms`,
    }
  } finally {
    await bench.child.stop()
  }
}

async function withPast(context: Context, settled: number, count: number): Promise<Finding> {
  const ledger = { waiting: WAITING, blockedBy: 'repository' } as const
  const none = await Bench.open(context, { ...ledger, settled: 0 })
  const past = await Bench.open(context, { ...ledger, settled })
  try {
    const rounds = await interleave<Ticks, 'none' | 'past'>(ROUNDS, {
      none: () => none.ticks(count),
      past: () => past.ticks(count),
    })
    const p50 = (ticks: readonly Ticks[]) => ticks.map(({ p50Ms }) => p50Ms)
    return {
      measure: `tick with ${WAITING} waiting and ${settled} settled (p50)`,
      value: median(p50(rounds.past)),
      unit: 'ms',
      limit: { what: 'the same with none settled', value: median(p50(rounds.none)) },
      ratio: medianOfRatios(p50(rounds.past), p50(rounds.none)),
      better: 'lower',
      bar: { row: 14, floor: 1.5, goal: 1.15 },
      note: `loaded at start in ${Math.round(past.startMs)} ms, with none settled in ${Math.round(none.startMs)} ms`,
    }
  } finally {
    await Promise.all([none.child.stop(), past.child.stop()])
  }
}

async function run(context: Context): Promise<readonly Finding[]> {
  const count = context.quick ? 200 : 500
  const findings: Finding[] = []
  for (const blockedBy of ['repository', 'lane', 'cap'] as const)
    findings.push(await heldBack(context, blockedBy, count))
  return [...findings, await withPast(context, context.quick ? 10_000 : 100_000, count / 5)]
}

export const scheduler: Question = {
  name: 'scheduler',
  asks: 'What does a tick of the scheduler cost, and does the past of the ledger matter to it?',
  run,
}
