/** How fast Watch streams a long log from its start, compared with a bare range read of as many texts. */
import { Child } from './child.ts'
import { filledHome } from './filled-home.ts'
import type { Context, Finding, Question } from './question.ts'
import { Service } from './service.ts'
import { interleave, median, medianOfRatios } from './statistics.ts'
import type { ReplayResult } from './watch-client.ts'

async function run(context: Context): Promise<readonly Finding[]> {
  const filled = await filledHome(context)
  const events = Math.min(context.quick ? 100_000 : 1_000_000, filled.events)
  const limits = new Child('./lmdb-limits.js')
  const client = new Child('./watch-client.js')
  const service = await Service.start(filled.home)
  try {
    context.say(`filling a bare log with ${events} texts`)
    await limits.ask('rangeFill', { home: context.scratch.home(), text: filled.sampleText, rows: events })
    const job = { target: service.target, token: service.token, path: '/api/watch?since=earliest', events }
    const results = await interleave<number | ReplayResult, 'bare' | 'service'>(context.quick ? 3 : 5, {
      bare: () => limits.ask<number>('rangeRead'),
      service: () => context.profiled('replay', service.child, () => client.ask<ReplayResult>('replay', job)),
    })
    const bare = results.bare as number[]
    const replays = results.service as ReplayResult[]
    const rates = replays.map((result) => result.eventsPerSecond)
    return [
      {
        measure: `Watch replay of ${events} events`,
        value: median(rates),
        unit: 'events/s',
        limit: { what: 'bare range read', value: median(bare) },
        ratio: medianOfRatios(rates, bare),
        better: 'higher',
        bar: { row: 9, floor: 0.12, goal: 0.25 },
        note:
          `${Math.round(replays[0]!.bytes / replays[0]!.events)} bytes an event on the wire; ` +
          `client CPU ${Math.round(median(replays.map((result) => result.clientCpu)) * 100)} %`,
      },
    ]
  } finally {
    await Promise.all([limits.stop(), client.stop(), service.stop()])
  }
}

export const replay: Question = {
  name: 'replay',
  asks: 'How fast does Watch replay a long log, beside a bare range read?',
  run,
}
