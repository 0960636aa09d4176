import t, { type Test } from 'tap'
import { BodyTurns, SMALL_BODY_BYTES } from '../../../http/bodies/body-turns.ts'
import { HoldablePlatform } from '../../platforms/holdable.ts'
import { raw, startTestService } from '../service-harness.ts'

/** Bodies that each take a given time to read, a log of which were read, and turns run by the test. */
function open() {
  let nowMs = 0
  const turns: (() => void)[] = []
  const told: string[] = []
  const bodies = new BodyTurns({ monotonicMs: () => nowMs, nextTurn: (run) => turns.push(run) })
  return {
    come: (name: string, takesMs: number): string[] => {
      bodies.stand({
        takeTurn: (waitedMs) => {
          told.push(`${name} after ${waitedMs}`)
          nowMs += takesMs
        },
      })
      return told.splice(0)
    },
    /** Other work takes that long at the beginning of the turn. */
    turn: (othersMs: number): string[] => {
      nowMs += othersMs
      for (const run of turns.splice(0)) run()
      return told.splice(0)
    },
    due: () => turns.length,
    /** Reads a small body that takes that long; false if the turn has no time for it. */
    small: (takesMs: number): boolean => {
      if (!bodies.hasTimeForSmall) return false
      bodies.read(() => {
        nowMs += takesMs
      })
      return true
    },
    /** A body that is read in that many parts, and queues again for each of them. */
    comeInParts: (name: string, takesMs: number, parts: number): string[] => {
      let left = parts
      const body = {
        takeTurn: () => {
          left -= 1
          told.push(`${name} ${left} to come`)
          nowMs += takesMs
          if (left > 0) bodies.stand(body)
        },
      }
      bodies.stand(body)
      return told.splice(0)
    },
  }
}

t.test('large bodies are read in order of arrival, for some milliseconds per turn', (t) => {
  const { come, turn, due } = open()
  t.same(come('a', 6), ['a after 0'], 'the turn has time')
  t.same(come('b', 6), ['b after 0'], 'a body that was begun is read to its end')
  for (const name of 'cdef') t.same(come(name, 6), [])
  t.equal(due(), 1)
  t.same(turn(3), ['c after 3', 'd after 9'])
  t.same(come('g', 1), [], 'waiting bodies come first')
  t.same(turn(0), ['e after 15', 'f after 21'])
  t.same(turn(0), ['g after 12'])
  t.same(come('h', 1), ['h after 0'])
  t.same(turn(0), [])
  t.equal(due(), 0)
  t.end()
})

t.test('a large body that exceeds a turn is read alone in it', (t) => {
  const { come, turn, due } = open()
  t.same(come('a', 100), ['a after 0'])
  t.same(come('b', 100), [])
  t.same(come('c', 1), [])
  t.same(turn(50), ['b after 50'])
  t.same(turn(0), ['c after 150'])
  t.same(turn(0), [])
  t.equal(due(), 0)
  t.same(come('d', 1), ['d after 0'], 'a new turn has its full time')
  t.end()
})

t.test('small bodies may use more of a turn than large ones, which get what is left of their own time', (t) => {
  const { come, small, turn } = open()
  t.ok(small(9))
  t.same(come('a', 1), ['a after 0'])
  t.same(come('b', 1), [], 'the ten milliseconds for large bodies are used up')
  t.ok(small(29), 'the forty for small ones are not')
  t.ok(small(5))
  t.notOk(small(1))
  t.same(turn(0), ['b after 34'])
  t.ok(small(1))
  t.end()
})

t.test('a body read in parts queues behind the others for each part', (t) => {
  const { come, comeInParts, turn } = open()
  t.same(comeInParts('a', 4, 3), ['a 2 to come'])
  t.same(come('b', 4), [])
  t.same(turn(0), ['a 1 to come', 'b after 4', 'a 0 to come'])
  t.end()
})

const POST = (admin: string, body: string, project = 'greeter'): string =>
  `POST /api/projects/${project}/run-requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const BODY = (name: string, chars: number): string =>
  JSON.stringify({ entry_event: 'greet_requested', payload: { name, note: 'x'.repeat(chars) } })

t.test('large bodies that arrive together are all answered and give back their bytes', async (t) => {
  const s = await startTestService(t)
  await s.project('greeter')
  const bodies = Array.from({ length: 4 }, (_, i) => BODY(`n${i}`, SMALL_BODY_BYTES * 10))
  const answers = await Promise.all(bodies.map((body) => s.call('POST', '/api/projects/greeter/run-requests', body)))
  for (const [i, { status, body }] of answers.entries()) {
    t.equal(status, 201)
    t.equal(body.payload.name, `n${i}`)
  }
  t.match((await s.call('GET', '/metrics')).body, /intendant_http_body_bytes_in_flight 0\n/)
})

/** A service in a turn without time left for large bodies: one was read and awaits the turn's commit. */
async function openBusy(t: Test) {
  const platform = new HoldablePlatform()
  const s = await startTestService(t, {}, { platform })
  await s.project('greeter')
  platform.hold()
  platform.lookMs = 20
  const first = s.call('POST', '/api/projects/greeter/run-requests', BODY('first', SMALL_BODY_BYTES))
  const bytesAre = async (expected: RegExp): Promise<void> => {
    while (!expected.test((await s.call('GET', '/metrics')).body));
  }
  const inFlight = /intendant_messages_in_flight 1\n/
  await bytesAre(inFlight)
  platform.lookMs = 0
  const names = async (): Promise<string[]> => {
    const { items } = (await s.expect(200, 'GET', '/api/projects/greeter/run-requests')).body
    return items.map(({ payload }: any) => payload.name)
  }
  return { s, platform, first, bytesAre, names }
}

const NONE_HELD = /intendant_http_body_bytes_in_flight 0\n/
const SOME_HELD = /intendant_http_body_bytes_in_flight [1-9]/

t.test('a large body that waits too long for its turn is answered 503, and changes nothing', async (t) => {
  const { s, platform, first, bytesAre, names } = await openBusy(t)
  const late = s.call('POST', '/api/projects/greeter/run-requests', BODY('late', SMALL_BODY_BYTES))
  await bytesAre(SOME_HELD)
  platform.advance(6_000)
  platform.letGo()
  t.equal((await first).status, 201)
  const { status, body, headers } = await late
  t.equal(status, 503)
  t.match(body, { code: 'overloaded', retryable: true, detail: /The request has waited for 6\d{3} ms/ })
  t.ok(headers.get('retry-after'))
  t.same(await names(), ['first'])
  await bytesAre(NONE_HELD)
})

t.test('a large body whose client disconnects before its turn changes nothing', async (t) => {
  const { s, platform, first, bytesAre, names } = await openBusy(t)
  const { port } = s.service
  const gone = raw(port, [POST(s.admin, BODY('gone', SMALL_BODY_BYTES))], 1_000)
  await bytesAre(SOME_HELD)
  t.equal(await gone, '')
  await bytesAre(NONE_HELD)
  platform.letGo()
  t.equal((await first).status, 201)
  t.same(await names(), ['first'])
})

t.test('an ingested trace waits for turns like any large body, and arrives complete', async (t) => {
  const { s, platform, first, bytesAre, names } = await openBusy(t)
  const events = Array.from({ length: 600 }, (_, n) => ({
    event_type: 'noted',
    project: 'greeter',
    throttle: 'dry_run',
    occurred_at: '2026-01-01T00:00:00Z',
    payload: { n },
  }))
  const path = `/engine/traces/${'a'.repeat(32)}/ingest`
  const trace = s.call('POST', path, events.map((event) => JSON.stringify(event)).join('\n'), {
    headers: { 'content-type': 'application/x-ndjson' },
  })
  await bytesAre(SOME_HELD)
  t.equal(s.service.runtime.load.messagesInFlight, 1, 'no event of it is read in a turn without time left')
  platform.letGo()
  t.equal((await first).status, 201)
  t.match((await trace).body, { accepted: 600, duplicates: 0, refused_count: 0 })
  t.same(await names(), ['first'])
  await bytesAre(NONE_HELD)
})
