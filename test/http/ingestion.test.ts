import t from 'tap'
import type { Waiting } from '../../http/bodies/body-turns.ts'
import { ArrayElements, type Elements, Lines } from '../../http/bodies/elements.ts'
import type { TolerantRules } from '../../http/event-input/tolerant-admission.ts'
import { type IngestEnd, Ingestion, type IngestionOptions } from '../../http/event-input/trace-ingestion.ts'

const DOOR = {
  traceId: 'a'.repeat(32),
  project: undefined,
  throttle: 'dry_run',
  eventBytesMax: 1e6,
  whyNotProject: () => undefined,
} as unknown as TolerantRules

/** Reads the whole text, and counts the turns that it takes. */
function turnsOf(elements: Elements, text: string): { turns: number; refused: number } {
  const line: Waiting[] = []
  const ends: IngestEnd[] = []
  const nothing = (): void => {}
  const upload = {
    receive: nothing,
    pause: nothing,
    resume: nothing,
    finish: nothing,
    stand: (r: Waiting) => line.push(r),
  }
  const ingestion = new Ingestion({
    upload,
    elements,
    by: { id: 'x', name: 'x' },
    mayGoOn: () => true,
    onEnd: (end: IngestEnd) => ends.push(end),
  } as unknown as IngestionOptions)
  ingestion.begin(DOOR)
  ingestion.chunk(Buffer.from(text))
  ingestion.end()
  let turns = 0
  for (; line.length > 0; turns += 1) line.shift()!.takeTurn(0)
  t.equal(ends.length, 1)
  return { turns, refused: ends[0]!.report!.refused_count }
}

t.test('refused elements end a turn like accepted ones', (t) => {
  for (const [name, elements, text] of [
    ['no JSON', new Lines(1e6), 'x\n'.repeat(2_000)],
    ['no event', new Lines(1e6), '{}\n'.repeat(2_000)],
    ['too long', new Lines(3), '"abcdef"\n'.repeat(2_000)],
    ['an array', new ArrayElements(1e6), `[${'0,'.repeat(1_999)}0]`],
  ] as const) {
    const { turns, refused } = turnsOf(elements, text)
    t.equal(refused, 2_000, name)
    t.ok(turns >= 8, `${name}: ${turns} turns`)
  }
  const large = turnsOf(new Lines(1e6), `${JSON.stringify('x'.repeat(100_000))}\n`.repeat(20))
  t.ok(large.turns >= 6, `large lines: ${large.turns} turns`)
  t.end()
})
