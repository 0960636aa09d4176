/** Mutations of a valid body: one member at a time becomes something that must be refused, or stored unharmed. */
import type { Random } from '../random.ts'

/** JSON text in the place of a value: numbers and strings that JSON.stringify never writes. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const EVIL_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'then',
  '__defineGetter__',
  'toJSON',
  'length',
  '0',
  '',
  ' ',
  '\u0000',
  '$ref',
  'id',
  'by',
  'type',
  'at',
  'runner_id',
  'internal',
  'reservation',
  'limits',
]

const EVIL_NUMBERS = [
  '9007199254740993',
  '-9007199254740993',
  '18446744073709551616',
  '-0',
  '-1',
  '0.1',
  '1e400',
  '-1e400',
  '1e-400',
  '1E5',
  '1.0',
  '4294967296',
  '2147483648',
  `1${'0'.repeat(400)}`,
  '1000000000000000000000000000000001',
]

/** Not JSON, but sent by careless programs. */
const NOT_JSON = [
  'NaN',
  'Infinity',
  '-Infinity',
  'undefined',
  "'x'",
  '01',
  '+1',
  '.5',
  '1.',
  '0x10',
  '// c\n1',
  '"\t"',
  '"\\x41"',
  '"\\u12"',
  ',',
  '[1,]',
  '{"a":1,}',
]

const EVIL_STRINGS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\u202e\u0645\u0631\u062d\u0628\u0627',
  '\u200f\u200f',
  'e\u0301'.repeat(50),
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  '\ufeff',
  '\ufffe\uffff',
  '\r\nX-Injected: yes\r\n\r\n',
  '../../../../etc/passwd',
  '..%2f..%2f',
  '\u0024{jndi:ldap://127.0.0.1/a}',
  "'; DROP TABLE events; --",
  '<script>alert(1)</script>',
  '%s%n%x',
  '{{7*7}}',
  'system',
  'proj_000000000000000000000000',
  'undefined',
  'null',
  '*',
  '|',
  '/',
  '2026-02-30T00:00:00Z',
  '2026-12-31T23:59:60Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999999999999999999999999Z',
  '2026-01-01T00:00:00.000000Z\u0000',
  '+275760-09-13T00:00:00Z',
]

const RAW_STRINGS = ['"\\ud800"', '"\\udc00\\ud800"', '"a\\ud800b"', '"\\u0000"', '"\\u202e"', '"\\/"']

interface Place {
  readonly holder: any
  readonly key: string | number
}

/** A copy of the body with one mutation. */
export function mutatedBody(body: unknown, random: Random): unknown {
  const copy = structuredClone(body)
  const places: Place[] = []
  collect(copy, places)
  if (places.length === 0 || random.chance(0.05))
    return random.pick<unknown>([null, [], 1, 'x', true, [copy], { body: copy }])
  const place = random.pick(places)
  change(place, random)
  return copy
}

function collect(value: any, places: Place[]): void {
  if (typeof value !== 'object' || value === null || value instanceof RawJson || places.length > 500) return
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    places.push({ holder: value, key })
    collect(value[key], places)
  }
}

function change({ holder, key }: Place, random: Random): void {
  const isMember = !Array.isArray(holder)
  const kind = random.between(0, 11)
  if (kind === 0 && isMember) delete holder[key]
  else if (kind === 1) put(holder, key, wrongType(holder[key], random))
  else if (kind === 2) put(holder, key, new RawJson(random.pick(EVIL_NUMBERS)))
  else if (kind === 3) put(holder, key, random.pick(EVIL_STRINGS))
  else if (kind === 4) put(holder, key, new RawJson(random.pick(RAW_STRINGS)))
  else if (kind === 5 && isMember)
    put(
      holder,
      random.pick(EVIL_NAMES),
      random.pick<unknown>([1, 'x', null, { polluted: true }, { toString: 1 }, ['x']]),
    )
  else if (kind === 6 && isMember) holder[`unknown_${random.between(0, 9)}`] = random.pick<unknown>([1, 'x', {}, []])
  else if (kind === 7) put(holder, key, new RawJson(nested(random)))
  else if (kind === 8) put(holder, key, large(holder[key], random))
  else if (kind === 9 && isMember) put(holder, key, doubled(holder[key], String(key)))
  else if (kind === 10) put(holder, key, new RawJson(random.pick(NOT_JSON)))
  else if (Array.isArray(holder[key])) put(holder, key, [...holder[key], ...holder[key]])
  else put(holder, key, edge(holder[key], random))
}

/** Defines an own member with that name, even `__proto__`. */
function put(holder: any, key: string | number, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true })
}

function wrongType(value: unknown, random: Random): unknown {
  const others: unknown[] = [
    null,
    true,
    0,
    'text',
    [],
    {},
    [value],
    { value },
    typeof value === 'object' ? 'object' : String(value),
  ]
  return random.pick(others)
}

/** A slightly longer, shorter or changed text; a number one off. */
function edge(value: unknown, random: Random): unknown {
  if (typeof value === 'number') return value + random.pick([-1, 1, 0.5, -value * 2])
  if (typeof value !== 'string') return value
  return random.pick([
    `${value}x`,
    value.slice(0, -1),
    value.toUpperCase(),
    ` ${value}`,
    `${value}\n`,
    value.repeat(20),
    `${value}\u0000`,
  ])
}

function nested(random: Random): string {
  const depth = random.pick([60, 70, 100, 500, 5_000, 50_000])
  return random.chance(0.5)
    ? `${'['.repeat(depth)}${']'.repeat(depth)}`
    : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
}

/** Keeps bodies below a few megabytes: longer ones are refused for their length alone. */
const LARGE_ITEM_CHARACTERS_MAX = 300

function large(value: unknown, random: Random): unknown {
  const size = random.pick([300, 1_001, 5_000])
  const kind = random.between(0, 4)
  if (kind === 0) return 'x'.repeat(size * random.pick([1, 1, 10, 300]))
  if (kind === 1) return '\u{1f600}'.repeat(size)
  const one = Array.isArray(value) ? value[0] : value
  const isSmall = written(one).length < LARGE_ITEM_CHARACTERS_MAX
  if (kind === 2) return Array.from({ length: size }, () => (isSmall ? (one ?? 0) : 0))
  if (kind === 3) return Object.fromEntries(Array.from({ length: size }, (_, n) => [`k${n}`, n]))
  return collidingKeys(size)
}

/**
 * Members whose names look like array indices far apart: V8 keeps them in a dictionary hashed by number, in which names
 * that differ by a power of two collide.
 */
function collidingKeys(size: number): object {
  return Object.fromEntries(Array.from({ length: size }, (_, n) => [String(n * 65_536), 1]))
}

/** The value, followed by the same member once more. */
function doubled(value: unknown, name: string): RawJson {
  return new RawJson(`${written(value)},${JSON.stringify(name)}:${written(value)}`)
}

/** The value as JSON text, in which raw parts are kept as they are. */
export function written(value: unknown): string {
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.keys(value)
      .map((key) => `${JSON.stringify(key)}:${written((value as any)[key])}`)
      .join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

/** The bytes of a body, broken as a whole. Undefined means no body. */
export function brokenBytes(text: string, random: Random): Buffer | undefined {
  const bytes = Buffer.from(text)
  const at = random.between(0, Math.max(0, bytes.length - 1))
  switch (random.between(0, 10)) {
    case 0:
      return Buffer.alloc(0)
    case 1:
      return bytes.subarray(0, at)
    case 2:
      return Buffer.concat([bytes, Buffer.from(random.pick([' x', '}', ']', text, '\u0000', '\n\n\t ']))])
    case 3:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
    case 4:
      return Buffer.from(`\ufeff${text}`, 'utf16le')
    case 5:
    case 6: {
      const evil = random.pick([
        [0xff],
        [0xc0, 0x80],
        [0xed, 0xa0, 0x80],
        [0xf4, 0x90, 0x80, 0x80],
        [0x80],
        [0xe2, 0x82],
        [0],
      ])
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(evil), bytes.subarray(at)])
    }
    case 7: {
      const copy = Buffer.from(bytes)
      if (copy.length > 0) copy[at] = random.between(0, 255)
      return copy
    }
    case 8:
      return Buffer.from(random.pick(['null', '[]', '""', '0', 'true', '{', '"', '[{}]', '{}', ' ', '\u0000']))
    case 9:
      return Buffer.from(`${' '.repeat(random.pick([10, 10_000]))}${text}`)
    default:
      return undefined
  }
}
