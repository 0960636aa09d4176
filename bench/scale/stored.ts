/**
 * What calls cost against what is stored: entities, events, and queued requests. Each size is measured together with a
 * nearly empty service, call by call.
 */
import { Child } from '../child.ts'
import type { Context } from '../question.ts'
import { costPoint, type OperationName, operations as scripts, warmUp } from './costs.ts'
import type { Curve, Fact, Point } from './curve.ts'
import { GrowingHome, type Growth } from './growing-home.ts'

/** Entities in the home that does not grow. */
const CONTROL_ENTITIES = 100

interface Question {
  readonly name: string
  readonly title: string
  readonly xLabel: string
  readonly growth: Growth
  readonly sizes: readonly number[]
  /** How many entities make up a size. */
  readonly entities: (size: number) => number
  readonly events: (size: number) => number
  readonly operations: readonly OperationName[]
  readonly notes: readonly string[]
}

async function curveOf(context: Context, question: Question): Promise<Curve> {
  const { growth, operations, entities } = question
  const control = await GrowingHome.make(context, { ...growth, of: 'completed' })
  await control.growTo(CONTROL_ENTITIES)
  const home = await GrowingHome.make(context, growth)
  const beside = await control.setup()
  const load = new Child('./load-client.js')
  const notes = [...question.notes]
  let facts: readonly Fact[] = []
  const points = new Map<OperationName, Point[]>(operations.map((name) => [name, []]))
  try {
    await warmUp(load, beside, operations)
    // The two largest sizes would take most of a quick run's time.
    for (const size of context.quick ? question.sizes.slice(0, -2) : question.sizes) {
      if (!home.hasRoomFor(entities(size))) {
        notes.push(`The disk had no room for ${size}.`)
        break
      }
      await home.growTo(entities(size))
      const setup = await home.setup()
      await warmUp(load, setup, operations)
      for (const name of operations) {
        context.say(`${size}: ${name}`)
        points.get(name)!.push(await costPoint(context, load, name, size, setup, beside, scripts[name]))
      }
      const { startMs } = setup.service
      await setup.service.stop()
      const events = question.events(size)
      const what = `disk for each event of ${events}, with its indexes and its entity`
      facts = [
        { what, value: home.diskBytes() / events, unit: 'bytes' },
        { what: `a start at ${size}, until it listens`, value: startMs / 1_000, unit: 's' },
      ]
    }
  } finally {
    await Promise.all([load.stop(), beside.service.stop()])
    home.remove()
    control.remove()
  }
  const { name, title, xLabel } = question
  const series = [...points].map(([name, points]) => ({ name, points }))
  return { name, title, xLabel, unit: 'server CPU, us a call', series, notes, facts }
}

export const entities = (context: Context): Promise<Curve> =>
  curveOf(context, {
    name: 'entities',
    title: 'Cost of a call against the entities in the store',
    xLabel: 'settled run requests (each with its engine run and its events)',
    growth: { of: 'completed', eventsEach: 4 },
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    entities: (size) => size,
    events: (size) => size * 4,
    operations: ['a call of the six-call cycle', 'empty poll', 'read one run request', 'list 50 of a state'],
    notes: [],
  })

const EVENTS_EACH = 100

export const events = (context: Context): Promise<Curve> =>
  curveOf(context, {
    name: 'events',
    title: 'Cost of a call against the events in the log',
    xLabel: 'events in the log',
    growth: { of: 'completed', eventsEach: EVENTS_EACH },
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    entities: (size) => size / EVENTS_EACH,
    events: (size) => size,
    operations: ['a call of the six-call cycle', 'newest 50 events', 'first 50 events of a trace', 'read one event'],
    notes: [`${EVENTS_EACH} events a run request.`],
  })

export const queued = (context: Context): Promise<Curve> =>
  curveOf(context, {
    name: 'queued',
    title: 'Cost of a call against the requests that wait',
    xLabel: 'queued run requests of one project',
    growth: { of: 'queued', eventsEach: 1 },
    sizes: [1_000, 10_000, 100_000, 1_000_000],
    entities: (size) => size,
    events: (size) => size,
    operations: ['a call of the six-call cycle', 'list 50 of a state'],
    notes: ['The cycles take from the front of the queue what they add at its end.'],
  })
