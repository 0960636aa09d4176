import fc from 'fast-check'
import t from 'tap'
import { isJsonType } from '../../http/bodies/body.ts'
import { jsonBreaksAt } from '../../http/bodies/json-position.ts'
import { crowdedNameAt, doubledMember, hashFactor, isMixing, membersOf, shapeOf } from '../../http/bodies/json-shape.ts'
import { decodeListCursor, encodeListCursor } from '../../http/lists.ts'
import { QueryParser } from '../../http/query.ts'
import { slugOf } from '../../http/resources/slug.ts'
import { parseTraceparent } from '../../http/traceparent.ts'
import { accepts } from '../../http/wire/accept.ts'
import { Exchange } from '../../http/wire/exchange.ts'
import type { RouteEntry } from '../../http/wire/route-entry.ts'
import { bytesOfLatin1, type UwsResponse } from '../../http/wire/uws.ts'
import { PROJECT_KEY_PATTERN } from '../../machines/documents/fields.ts'
import { deriveId, projectIdOf, runRequestIdOf } from '../../machines/ids.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import { ROLE_RIGHTS, rightsOf } from '../../runtime/access/rights.ts'
import { JournalFailure, ViewBehind } from '../../storage/journal.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('a string is sent as UTF-8, even if the library writes strings of one-byte characters as Latin-1', (t) => {
  /** As the binary for Node.js 24 does it. */
  const sent = (given: string | Uint8Array): Buffer => {
    if (typeof given !== 'string') return Buffer.from(given)
    return Buffer.from(given, [...given].some((one) => one > '\u00ff') ? 'utf8' : 'latin1')
  }
  const texts = fc.string({ unit: fc.integer({ min: 0, max: 0x17f }).map((code) => String.fromCodePoint(code)) })
  fc.assert(fc.property(texts, (text) => sent(bytesOfLatin1(text)).equals(Buffer.from(text))))
  t.equal(bytesOfLatin1('{"a":1}'), '{"a":1}', 'ASCII is not copied')
  t.end()
})

t.test('jsonBreaksAt finds a fault in exactly the texts that JSON.parse refuses', (t) => {
  const nearly = fc.tuple(
    fc.json(),
    fc.nat(),
    fc.constantFrom('', '"', ',', '}', ']', '\\', '\n', '0', '-', '.', 'e', '\u0001', 'tru'),
  )
  fc.assert(
    fc.property(nearly, ([json, at, noise]) => {
      const cut = at % (json.length + 1)
      const text = json.slice(0, cut) + noise + json.slice(cut + (noise === '' ? 1 : 0))
      const broken = jsonBreaksAt(text)
      if ((broken === undefined) !== parses(text)) throw new Error(`${JSON.stringify(text)}: ${broken}`)
      // The text before the fault may still become JSON, so the fault is not reported too late.
      return broken === undefined || broken <= text.length
    }),
    { numRuns: 2_000 },
  )
  t.equal(jsonBreaksAt('{"a": 1,}'), 8)
  t.equal(jsonBreaksAt('{"a": "x\ny"}'), 8)
  t.equal(jsonBreaksAt('[1, 2'), 5)
  t.end()
})

t.test('nesting depth ignores brackets in strings', (t) => {
  const depth = (text: string): number => shapeOf(Buffer.from(text)).depth
  t.equal(depth('{"a":[{"b":"[[[[{{"}]}'), 3)
  t.equal(depth('"\\"[[["'), 0)
  t.equal(depth('[[]],[[[]]]'), 3)
  t.end()
})

t.test('members and elements outside strings are counted, and the walk ends where there are too many', (t) => {
  const valuesOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null) return 0
    return Object.values(value).reduce((sum: number, one) => sum + 1 + valuesOf(one), 0)
  }
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
      const value = JSON.parse(text)
      const bytes = Buffer.from(JSON.stringify(value, null, space).replaceAll('[]', '[ ]'))
      const values = valuesOf(JSON.parse(bytes.toString()))
      const isCrowded = (valuesMax: number): boolean => shapeOf(bytes, valuesMax).crowdedAt !== undefined
      return shapeOf(bytes).values === values && !isCrowded(values) && (values === 0 || isCrowded(values - 1))
    }),
    { numRuns: 1_000 },
  )
  t.same(shapeOf(Buffer.from('[1,[],{"a,b":"x,y","c":2}]')), { depth: 2, members: 2, values: 5 })
  t.equal(shapeOf(Buffer.from('[1, 2,3]'), 2).crowdedAt, 5)
  t.equal(shapeOf(Buffer.from('{"a":[1]}'), 1).crowdedAt, 6)
  const names = Buffer.from('{"a":"b:c","b":{"a":1,"\\"c":[{"b":":"}]},"d":"}"}')
  t.equal(crowdedNameAt(names, 4), undefined)
  t.equal(crowdedNameAt(names, 3), names.lastIndexOf(':'))
  t.equal(crowdedNameAt(names, 1), names.indexOf(':{'))
  t.end()
})

t.test('names are told apart whatever the factor of the process, also if they differ in a digit alone', (t) => {
  const body = (name: (i: number) => string): Buffer =>
    Buffer.from(`{${Array.from({ length: 11_000 }, (_, i) => `"${name(i)}":0`).join()}}`)
  const bodies = [body((i) => `k${i}`), body((i) => `x${String(i).padStart(8, '0')}`)]
  const factors = Array.from({ length: 300 }, hashFactor)
  const isWeak = (factor: number): boolean => bodies.some((bytes) => crowdedNameAt(bytes, 10_800, factor) === undefined)
  t.strictSame(factors.filter(isWeak), [], 'with no factor many are taken for the same')
  // Of 0xdf0f7fff 2 in a hundred were; of one next to a multiple of 65,536, and of one with a long run of a bit, most.
  for (const weak of [0xdf0f7fff, 0x3bc00001, 0xfffff855]) {
    t.ok(isWeak(weak | 0), String(weak))
    t.notOk(isMixing(weak), String(weak))
  }
  t.end()
})

t.test('a duplicate member is detected and named by its pointer', (t) => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const isWhole = membersOf(JSON.parse(text)) === shapeOf(Buffer.from(text)).members
      return isWhole && doubledMember(text) === undefined
    }),
    { numRuns: 1_000 },
  )
  const doubled: [string, string][] = [
    ['{"a":1,"a":2}', '/a'],
    ['{"a":1,"\\u0061":2}', '/a'],
    ['[1,{"a":{"b/c":[{"x":":,\\"{"},{"x":1,"y":[],"x":2}]}}]', '/1/a/b~1c/1/x'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
    ['{"":1, "" :2}', '/'],
  ]
  for (const [text, pointer] of doubled) {
    t.ok(membersOf(JSON.parse(text)) < shapeOf(Buffer.from(text)).members, text)
    t.equal(doubledMember(text), pointer, text)
  }
  t.end()
})

t.test('only JSON types without a charset or with UTF-8 are taken as JSON', (t) => {
  for (const type of [
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/vnd.x+json',
  ]) {
    t.ok(isJsonType(type), type)
  }
  for (const type of [
    '',
    'text/json',
    'application/jsonx',
    'application/json; charset=latin1',
    'multipart/form-data',
  ]) {
    t.notOk(isJsonType(type), type)
  }
  t.end()
})

t.test('Accept is interpreted with wildcards and q=0, and the most specific range decides', (t) => {
  const json = ['application/json']
  for (const accept of [
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'APPLICATION/JSON',
    'application/problem+json',
    'application/problem+json, text/html',
    'application/*;q=0, application/json',
    'application/json, */*;q=0',
    'application/json;q=0.001, */*',
  ]) {
    t.ok(accepts(accept, json), accept)
  }
  for (const accept of [
    'text/html',
    'application/json;q=0',
    'application/xml, text/*',
    'application/json;q=0, */*',
    '*/*, application/json; q=0.000',
    'application/*;q=0, */*',
    '*/*;q=0',
    'application/problem+json;q=0',
    'application/json;q=0, application/problem+json',
  ])
    t.notOk(accepts(accept, json), accept)
  t.ok(accepts('application/json;q=0, */*', ['application/json', 'text/event-stream']), 'the other type is taken')
  t.end()
})

t.test('a query is converted by its schema; unknown, repeated and undecodable parameters are faults', (t) => {
  const parser = new QueryParser(
    closedObject({
      limit: Type.Optional(Type.Integer({ minimum: 1 })),
      name: Type.Optional(Type.String()),
      all: Type.Optional(Type.Boolean()),
      of: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true })),
    }),
  )
  t.same(parser.parse('limit=5&name=a%20b+c&all=true'), { ok: true, query: { limit: 5, name: 'a b c', all: true } })
  t.same(parser.parse('name=5'), { ok: true, query: { name: '5' } })
  t.same(parser.parse('of=a,b%2Cc'), { ok: true, query: { of: ['a', 'b', 'c'] } })
  const told = (of: QueryParser) => of.parse('limti=5') as { readonly errors?: unknown }
  t.same(told(parser).errors, [{ pointer: '/limti', detail: 'unknown; known parameters: limit, name, all, of' }])
  const none = [{ pointer: '/limti', detail: 'unknown; the path has no parameters' }]
  t.same(told(new QueryParser(closedObject({}))).errors, none)
  for (const text of [
    'limit=0',
    'limit=1.5',
    'limit=1e3',
    'all=yes',
    'nam=a',
    'name=a&name=b',
    'of=',
    'of=a,,b',
    'of=a&of=b',
    'name=%e9',
    '__proto__=1',
  ]) {
    t.equal(parser.parse(text).ok, false, text)
    t.equal(parser.parse(text).ok, false, `${text} again, from the cache`)
  }
  const many = parser.parse('a&'.repeat(8_000))
  t.equal(many.ok ? 0 : many.errors.length, 50, 'the number of faults is bounded')
  t.match(parser.parse('a%2Fb~=1'), { errors: [{ pointer: '/a~1b~0' }] })
  t.end()
})

t.test('a traceparent is parsed as W3C defines it, or ignored', (t) => {
  const [trace, span] = ['ab'.repeat(16), 'cd'.repeat(8)]
  t.same(parseTraceparent(`00-${trace}-${span}-01`), { traceId: trace, spanId: span })
  t.same(
    parseTraceparent(`01-${trace}-${span}-01-more`),
    { traceId: trace, spanId: span },
    'a later version may have more fields',
  )
  for (const header of [
    '',
    'x',
    `00-${trace}-${span}-01-more`,
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
  ]) {
    t.equal(parseTraceparent(header), undefined, header)
  }
  t.end()
})

t.test('a list cursor survives encoding, and one of another list or an invalid one decodes to undefined', (t) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (order, id) => {
      const cursor = encodeListCursor('one', { order, id })
      const row = decodeListCursor('one', cursor)
      const isKept = row?.order === Buffer.from(order).toString() && row.id === Buffer.from(id).toString()
      return isKept && decodeListCursor('other', cursor) === undefined
    }),
  )
  fc.assert(fc.property(fc.string(), (text) => decodeListCursor('one', text) === undefined || text !== ''))
  t.end()
})

t.test('a project key is derived from the name', (t) => {
  t.equal(slugOf('The Greeter, v2', PROJECT_KEY_PATTERN), 'the-greeter-v2')
  t.equal(slugOf('Müller & Söhne', PROJECT_KEY_PATTERN), 'muller-sohne')
  t.equal(slugOf('system', PROJECT_KEY_PATTERN), undefined, 'system is reserved')
  t.equal(slugOf('日本', PROJECT_KEY_PATTERN), undefined)
  fc.assert(
    fc.property(fc.string(), (name) => {
      const slug = slugOf(name, PROJECT_KEY_PATTERN)
      return slug === undefined || /^[a-z0-9][a-z0-9_-]{0,62}$/.test(slug)
    }),
  )
  t.end()
})

t.test('derived ids depend on each part separately', (t) => {
  t.match(projectIdOf('greeter'), /^proj_[0-9a-f]{24}$/)
  t.equal(projectIdOf('greeter'), deriveId('proj', 'project', 'greeter'))
  t.not(runRequestIdOf('p', 'k1', 2), runRequestIdOf('p', 'k12', 2))
  t.not(runRequestIdOf('p', 'k', 0), runRequestIdOf('p', 'k', 1))
  t.end()
})

t.test('roles are sets of rights, and only admin has token.manage', (t) => {
  t.same([...rightsOf(['viewer'], ['work.submit', 'nonsense'])].sort(), ['view', 'work.submit'])
  for (const [role, rights] of Object.entries(ROLE_RIGHTS)) {
    t.ok(rights.includes('view'), role)
    t.equal(rights.includes('token.manage'), role === 'admin', role)
  }
  t.same(rightsOf(['nobody'], []).size, 0)
  t.end()
})

t.test('errors thrown by storage are answered 503, and any other error as a fault', (t) => {
  const statusOf = (error: Error): string => {
    let written = ''
    const response = {
      writeStatus: (status: string) => {
        written = status
      },
      writeHeader: () => {},
      end: () => {},
    }
    const mistakes: unknown[] = []
    const route = { path: '/x', method: 'GET' }
    const entry = {
      route,
      answered: new Map(),
      problems: new Map(),
      unsent: { send: () => {} },
      onFault: (_: Exchange, is: unknown) => mistakes.push(is),
    }
    new Exchange(entry as unknown as RouteEntry, response as unknown as UwsResponse).fault(error)
    return `${written.slice(0, 3)} ${mistakes.length}`
  }
  t.equal(statusOf(new ViewBehind('behind')), '503 0')
  t.equal(statusOf(new JournalFailure('failed')), '503 0', 'the log failed while a list was waiting for the view')
  t.equal(statusOf(new TypeError('a mistake')), '500 1')
  t.end()
})
