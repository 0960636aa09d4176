/** Canonical JSON as RFC 8785 defines it. */
import fc from 'fast-check'
import t from 'tap'
import { canonical, escaped, NotJson, quoted } from '../../machines/canonical.ts'

const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 })

t.test('parsing the canonical text gives the value back, and its canonical text is the same', async () => {
  fc.assert(
    fc.property(json, (value) => {
      const text = canonical(value)
      return (
        canonical(JSON.parse(text)) === text &&
        JSON.stringify(sorted(JSON.parse(text))) === JSON.stringify(sorted(value))
      )
    }),
    { numRuns: 500 },
  )
})

t.test('the order in which keys were written makes no difference', async () => {
  fc.assert(
    fc.property(json, (value) => canonical(reversed(value)) === canonical(value)),
    { numRuns: 500 },
  )
})

t.test('keys are sorted by UTF-16 code units (RFC 8785 section 3.2.3)', async (t) => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\u{1f600}': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  t.strictSame(
    [...canonical(value).matchAll(/:"([^"]+)"/g)].map(([, name]) => name),
    [
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ],
  )
  t.equal(canonical({ 9: 1, 10: 2, a: { b: 1, A: 2, '': 3 } }), '{"10":2,"9":1,"a":{"":3,"A":2,"b":1}}')
})

t.test('numbers are written as ECMAScript writes them (RFC 8785 appendix B)', async (t) => {
  const numbers: Array<[bits: string, text: string]> = [
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ]
  for (const [bits, text] of numbers) {
    const number = Buffer.from(bits, 'hex').readDoubleBE()
    t.equal(canonical(number), text, bits)
    t.equal(canonical({ b: 1, a: number }), `{"a":${text},"b":1}`, `${bits} among keys out of order`)
  }
})

t.test('strings are escaped as little as JSON allows (RFC 8785 section 3.2.2.2)', async (t) => {
  const text = '\u20ac$\u000f\nA\'\u0042\u0022\u005c\\"/\u007f\u2028\u{1f600}\u0000'
  const expected = '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/\u007f\u2028\u{1f600}\\u0000"'
  t.equal(canonical(text), expected)
  t.equal(quoted(text), expected)
  t.equal(canonical({ b: '', a: text }), `{"a":${expected},"b":""}`)
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (any) => quoted(any) === JSON.stringify(any)))
})

t.test('a value that JSON cannot carry is refused with a pointer to it', async (t) => {
  class Thing {}
  const foreign = [
    undefined,
    () => 1,
    Symbol('x'),
    1n,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    new Date(0),
    new Map(),
    new Thing(),
    Object(1),
    '\ud800',
    'x\udc00y',
    { toJSON: () => 1 },
  ]
  for (const value of foreign) {
    t.throws(() => canonical(value), NotJson)
    t.throws(() => canonical({ 'a/b~': [0, { b: 1, a: value }] }), { name: 'NotJson', pointer: '/a~1b~0/1/a' })
  }
  t.throws(() => canonical({ a: { '\ud800': 1 } }), { name: 'NotJson', pointer: '/a' })
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
  t.throws(() => canonical({ a: [1, , 2] }), { name: 'NotJson', pointer: '/a/1' })
  t.throws(() => quoted('\ud800'), NotJson)
  t.throws(() => canonical(JSON.parse('{"a":1e999}')), { name: 'NotJson', pointer: '/a', detail: /finite number/ })
})

t.test('objects without a prototype, and keys such as __proto__, are treated as data', async (t) => {
  t.equal(canonical(Object.assign(Object.create(null), { b: 1, a: 2 })), '{"a":2,"b":1}')
  const text = '{"__proto__":{"x":1},"constructor":1,"toJSON":2}'
  t.equal(canonical(JSON.parse(text)), text)
})

t.test('a hundred levels of nesting are written, and more are refused before the stack overflows', async (t) => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  t.equal(canonical(nested(100)), '['.repeat(100) + ']'.repeat(100))
  t.throws(() => canonical(nested(101)), { name: 'NotJson', detail: /deeper than 100 levels/ })
  t.throws(() => canonical({ b: nested(100_000), a: 1 }), NotJson)
  t.throws(() => canonical(loop()), NotJson)
})

t.test('a token of a pointer is escaped (RFC 6901 section 3)', async (t) => {
  t.equal(escaped('a/b~1'), 'a~1b~01')
  t.equal(escaped('plain'), 'plain')
})

function loop(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

/** Sorts keys into one order for the comparison, by rebuilding; independent of the code under test. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value
  const entries = Object.entries(value).map(([key, member]) => [key, sorted(member)] as const)
  return entries.sort(([a], [b]) => (a < b ? -1 : 1))
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  )
}
