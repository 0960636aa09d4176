/** A byte stream is split into JSON texts, wherever its chunks end. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ArrayElements, type Elements, Lines } from '../../../http/bodies/elements.ts'

interface Taken {
  readonly elements: readonly [number, string | undefined][]
  readonly fault: string | undefined
}

/** Everything that the stream yields when its chunks end at the given places. */
function takeApart(elements: Elements, text: string, cuts: readonly number[] = []): Taken {
  const bytes = Buffer.from(text)
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b)
  const taken: [number, string | undefined][] = []
  const take = (element: ReturnType<Elements['next']>): void => {
    if (element === undefined) return
    taken.push([element.number, element.bytes === undefined ? undefined : Buffer.from(element.bytes).toString()])
  }
  for (let i = 1; i < places.length; i++) {
    elements.push(bytes.subarray(places[i - 1], places[i]))
    for (let element = elements.next(); element !== undefined; element = elements.next()) take(element)
  }
  take(elements.end())
  return { elements: taken, fault: elements.fault }
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })
const values = fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 8 })
const space = fc.constantFrom('', ' ', '\n', '\r\n\t')

t.test('an array yields its elements unchanged, wherever its chunks end', (t) => {
  fc.assert(
    fc.property(values, cuts, space, fc.boolean(), (all, at, gap, isWrapped) => {
      const array = `${gap}[${gap}${all.map((value) => JSON.stringify(value, null, gap.length)).join(`${gap},${gap}`)}${gap}]${gap}`
      const text = isWrapped ? `${gap}{${gap}"events"${gap}:${array}}${gap}` : array
      const { elements, fault } = takeApart(new ArrayElements(1_000_000), text, at)
      assert.equal(fault, undefined, text)
      assert.deepEqual(
        elements.map(([number, element]) => [number, JSON.parse(element!)]),
        JSON.parse(JSON.stringify(all)).map((value: unknown, i: number) => [i + 1, value]),
      )
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('lines are yielded with their numbers and without blank ones, wherever the chunks end', (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.jsonValue(), fc.constant(undefined)), { maxLength: 8 }), cuts, (all, at) => {
      const lines = all.map((value) => (value === undefined ? ' ' : JSON.stringify(value)))
      for (const text of [lines.join('\n'), `${lines.join('\r\n')}\r\n`]) {
        const { elements, fault } = takeApart(new Lines(1_000_000), text, at)
        assert.equal(fault, undefined)
        const wanted = lines.flatMap((line, i) => (line.trim() === '' ? [] : [[i + 1, line]]))
        assert.deepEqual(
          elements.map(([number, line]) => [number, line!.trim()]),
          wanted,
        )
      }
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('an element over the size limit is yielded without its bytes and keeps its number', (t) => {
  const long = JSON.stringify('x'.repeat(100))
  t.strictSame(takeApart(new Lines(50), `1\n${long}\n3`, [2, 10, 60, 90]).elements, [
    [1, '1'],
    [2, undefined],
    [3, '3'],
  ])
  t.strictSame(takeApart(new ArrayElements(50), `[1,${long},3]`, [2, 10, 60, 90]).elements, [
    [1, '1'],
    [2, undefined],
    [3, '3'],
  ])
  t.end()
})

t.test('a stream that is not an array of elements is refused with the reason', (t) => {
  const faults: Record<string, RegExp> = {
    '': /The body is empty/,
    '  ': /The body is empty/,
    '[1': /before its array does/,
    '["x]': /before its array does/,
    '[{"a":1}': /before its array does/,
    '[1,]': /expected after element 1\.$/,
    '[,1]': /expected after element 0\.$/,
    '[1,,2]': /expected after element 1\.$/,
    '[1] 2': /There is more after the array/,
    '[1]}': /There is more after the array/,
    '{"events":[1]': /before its object does/,
    '{"events":[1],"more":2}': /members other than `events`/,
    '{"events":[1]}}': /members other than `events`/,
    '{"other":[1]}': /must be an array/,
    '"text[1]': /must be an array/,
    '{"event_type":"x","payload":{},"occurred_at":"2026-01-01T00:00:00Z"}': /must be an array of events/,
  }
  for (const [text, why] of Object.entries(faults)) {
    for (const at of [[], Array.from(text, (_, i) => i)]) {
      t.match(takeApart(new ArrayElements(1_000), text, at).fault, why, JSON.stringify(text))
    }
  }
  t.match(takeApart(new ArrayElements(1_000), ' '.repeat(2_000)).fault, /must be an array/)
  t.end()
})
