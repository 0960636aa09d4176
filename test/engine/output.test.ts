import fc from 'fast-check'
import t from 'tap'
import { occurredAt } from '../../engine/clock.ts'
import { cutText, type Line, LineSplitter, readLine } from '../../engine/output.ts'
import { OutputBatch } from '../../engine/output-batch.ts'
import { OUTPUT_BYTES_MAX } from '../../machines/bounds.ts'

/** The lines of a text whose bytes arrive cut at the given places. */
function split(bytes: Buffer, cuts: readonly number[]): Line[] {
  const splitter = new LineSplitter()
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  const lines = []
  let from = 0
  for (const to of [...places, bytes.length]) {
    lines.push(...splitter.push(bytes.subarray(from, to)))
    from = to
  }
  return [...lines, ...splitter.end()]
}

t.test('lines are split the same wherever the bytes are cut, even within a character', async (t) => {
  const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''))
  const property = fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
    const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
    t.same(
      split(bytes, cuts),
      lines.map((text) => ({ text, whole: true, ended: true })),
    )
  })
  fc.assert(property, { numRuns: 200 })
})

/** The text that was printed. */
const joined = (lines: readonly Line[]): string => lines.map(({ text, ended }) => (ended ? `${text}\n` : text)).join('')

t.test('joined lines are the printed text, with carriage returns and without an added newline', async (t) => {
  for (const text of ['a\r\n\nb', 'a\r\n\r\r\nb\r', 'a\n', '\n', ''])
    t.equal(joined(split(Buffer.from(text), [])), text, JSON.stringify(text))
  const [event] = split(Buffer.from('{"event_type":"x"}\r\n'), [])
  t.match(readLine(event!.text), { kind: 'event' })
  const [last] = split(Buffer.from('{"event_type":"x"}'), [])
  t.match([last!.whole, readLine(last!.text)], [true, { kind: 'event' }], 'even without a newline')
})

t.test('a line over the limit comes in pieces, none of which is read as an event', async (t) => {
  const splitter = new LineSplitter()
  const chunk = Buffer.alloc(300 * 1024, 'x')
  const lines = [...splitter.push(chunk), ...splitter.push(chunk), ...splitter.push(Buffer.from('end\nnext\n'))]
  t.same(
    lines.map((line) => [line.text.length, line.whole, line.ended]),
    [
      [600 * 1024, false, false],
      [3, false, true],
      [4, true, true],
    ],
  )
})

t.test('delivering the beginning of a line early changes neither its text nor its kind', async (t) => {
  const line = fc.oneof(
    fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, '')),
    fc.constantFrom('{"event_type":"x"}', '  {"event_type":"x"}', 'dots {"event_type":"x"}', '', '{', 'a\rb'),
  )
  const property = fc.property(fc.array(line), fc.array(fc.nat()), (lines, cuts) => {
    const bytes = Buffer.from(lines.map((text) => `${text}\r\n`).join(''))
    const splitter = new LineSplitter()
    const told: Line[] = []
    const places = cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
    let from = 0
    for (const to of [...places, bytes.length]) {
      told.push(...splitter.push(bytes.subarray(from, to)), ...splitter.begun())
      from = to
    }
    told.push(...splitter.end())
    t.equal(joined(told), bytes.toString())
    const kinds = (texts: readonly string[]) =>
      texts.map((text) => readLine(text).kind).filter((kind) => kind !== 'text')
    t.same(kinds(told.filter(({ whole }) => whole).map(({ text }) => text)), kinds(lines))
  })
  fc.assert(property, { numRuns: 300 })
  const splitter = new LineSplitter()
  splitter.push(Buffer.from('Go on? '))
  t.same(splitter.begun(), [{ text: 'Go on? ', whole: false, ended: false }])
  t.same(splitter.begun(), [], 'once')
})

t.test('a line is an event, a result or text', async (t) => {
  const kinds: [string, string][] = [
    ['{"event_type":"x"}', 'event'],
    ['  {"event_type":"x","payload":{}} ', 'event'],
    ['{"schema_version":"intendant.run_result.v1"}', 'result'],
    ['{"schema_version":"intendant.run_result.v1.2"}', 'result'],
    ['{"schema_version":"intendant.run_result.v10"}', 'text'],
    ['{"event_type":7}', 'text'],
    ['[{"event_type":"x"}]', 'text'],
    ['{"event_type":"x"', 'text'],
    ['"event_type"', 'text'],
    ['null', 'text'],
    ['', 'text'],
  ]
  for (const [line, kind] of kinds) t.equal(readLine(line).kind, kind, line)
})

t.test('text is cut into pieces of whole characters within the limit, without loss', async (t) => {
  const property = fc.property(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.integer({ min: 4, max: 40 }),
    (text, bytesMax) => {
      const pieces = cutText(text, bytesMax)
      t.equal(pieces.join(''), text)
      t.ok(pieces.every((piece) => piece !== '' && Buffer.byteLength(piece) <= bytesMax))
    },
  )
  fc.assert(property, { numRuns: 300 })
})

t.test('output is batched in order and within its limit across both streams', async (t) => {
  const given: [string, string][] = []
  const batch = new OutputBatch((stream, text) => given.push([stream, text]))
  batch.add('stdout', 'a', true)
  batch.add('stdout', 'b', true)
  batch.add('stderr', 'c', true)
  t.same(given, [['stdout', 'a\nb\n']])
  batch.add('stderr', 'x'.repeat(OUTPUT_BYTES_MAX), true)
  batch.flush()
  t.equal(given.map(([, text]) => text).join(''), `a\nb\nc\n${'x'.repeat(OUTPUT_BYTES_MAX)}\n`)
  t.ok(given.every(([, text]) => Buffer.byteLength(text) <= OUTPUT_BYTES_MAX))
})

t.test('the runner never gives two events the same time', async (t) => {
  const times = Array.from({ length: 5_000 }, occurredAt)
  t.equal(new Set(times).size, times.length)
  t.same([...times].sort(), times)
})
