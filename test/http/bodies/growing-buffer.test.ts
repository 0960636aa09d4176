/** Chunks are joined in memory proportional to their total length, however small each one is. */
import fc from 'fast-check'
import t from 'tap'
import { BodyReader } from '../../../http/bodies/body.ts'
import { type Elements, Lines } from '../../../http/bodies/elements.ts'
import { GrowingBuffer } from '../../../http/bodies/growing-buffer.ts'
import { Exchange } from '../../../http/wire/exchange.ts'
import type { RouteEntry } from '../../../http/wire/route-entry.ts'
import type { UwsResponse } from '../../../http/wire/uws.ts'
import { systemPlatform } from '../../../storage/platform.ts'
import { collect } from '../../collect.ts'

const PARTS = 500_000
/** Kept as separate chunks, they would take ten times as much. */
const HELD_BYTES_MAX = 6_000_000

/** Bytes of memory that `hold` adds while its result is alive. */
function heldBy(hold: () => unknown): number {
  const looked = (): number => {
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const used = (): number => Math.min(looked(), looked(), looked())
  const before = used()
  const held = hold()
  const bytes = used() - before
  t.ok(held)
  return bytes
}

t.test('take returns the added chunks joined in order, and empties the buffer', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9_000 }), { maxLength: 6 }), (parts) => {
      const gathered = new GrowingBuffer()
      for (let n = 0; n < 2; n++) {
        for (const part of parts) gathered.add(part)
        if (!gathered.take().equals(Buffer.concat(parts))) return false
      }
      return gathered.take().length === 0
    }),
  )
  t.end()
})

t.test('a body that arrives a byte at a time takes no more memory than its length', (t) => {
  const entry = {
    route: { method: 'POST', path: '/x', body: { schema: {} } },
    answered: new Map(),
    problems: new Map(),
  }
  let data: (chunk: ArrayBuffer, isLast: boolean) => void = () => {}
  const response = {
    onAborted: () => response,
    onData: (handler: typeof data) => {
      data = handler
      return response
    },
  }
  const bounds = { bodyBytesMax: 1e6, eventsBodyBytesMax: 1e6, bodiesInFlightBytesMax: 1e9, ingestBytesMax: 1e9 }
  const reader = new BodyReader(bounds, systemPlatform)
  let read: unknown
  const held = heldBy(() => {
    const exchange = new Exchange(entry as unknown as RouteEntry, response as unknown as UwsResponse)
    reader.read(exchange, 'application/json', '', ({ body }) => {
      read = body
    })
    for (const byte of Buffer.from('{"a":1}')) data(new Uint8Array([byte]).buffer, false)
    for (let n = 0; n < PARTS; n++) data(new Uint8Array([0x20]).buffer, false)
    return exchange
  })
  t.ok(held < HELD_BYTES_MAX, `${held} bytes`)
  t.equal(reader.bytesInFlight, PARTS + 7)
  data(new ArrayBuffer(0), true)
  t.strictSame(read, { a: 1 })
  t.equal(reader.bytesInFlight, 0)
  t.end()
})

t.test('a line that arrives a byte at a time takes no more memory than its length', (t) => {
  const lines: Elements = new Lines(PARTS)
  const held = heldBy(() => {
    for (let n = 0; n < PARTS; n++) {
      lines.push(new Uint8Array([0x78]))
      lines.next()
    }
    return lines
  })
  t.ok(held < HELD_BYTES_MAX, `${held} bytes`)
  t.equal(lines.end()?.bytes?.length, PARTS)
  t.end()
})
