/**
 * Whether the duration of a 401 reveals how near a guess was: `node dist/test/hostile/timing.js --samples 20000`.
 * Guesses of four kinds are sent in random order over one connection, and their times compared by rank (Mann and
 * Whitney). Not part of the test suite, because its result is random on a busy machine.
 */
import { randomBytes } from 'node:crypto'
import { killAll } from '../../bench/child.ts'
import { Scratch } from '../../bench/scratch.ts'
import { Service } from '../../bench/service.ts'
import { commandLine, whole } from '../command-line.ts'
import { Random } from '../random.ts'
import { quantile } from './beside.ts'
import { Connection } from './connection.ts'

const USAGE = 'node dist/test/hostile/timing.js [--samples N (20000)] [--seed N (1)]'
const values = commandLine(USAGE, {
  samples: { type: 'string', default: '20000' },
  seed: { type: 'string', default: '1' },
})
const samples = whole(USAGE, '--samples', values.samples, 1)
const random = new Random(whole(USAGE, '--seed', values.seed))
const WARM_UP = 2_000
/** Two kinds are distinguishable if their ranks differ by this many standard deviations. */
const Z_MAX = 4

process.on('exit', killAll)

type Kind = 'random' | 'last character wrong' | 'first character wrong' | 'revoked'
const KINDS: readonly Kind[] = ['random', 'last character wrong', 'first character wrong', 'revoked']

const scratch = new Scratch()
const service = await Service.start(scratch.home())
try {
  const times = await measured()
  let isTold = false
  for (const [i, a] of KINDS.entries()) {
    for (const b of KINDS.slice(i + 1)) {
      const z = rankDifference(times.get(a)!, times.get(b)!)
      const apartUs = (quantile(times.get(a)!, 0.5) - quantile(times.get(b)!, 0.5)) * 1_000
      isTold ||= Math.abs(z) > Z_MAX
      console.log(`${a} against ${b}: medians ${apartUs.toFixed(2)} us apart, z = ${z.toFixed(2)}`)
    }
  }
  console.log(isTold ? 'some kinds are told apart' : `no kind is told from another by ${samples} samples of each`)
  process.exitCode = isTold ? 1 : 0
} finally {
  await service.stop()
  scratch.removeAll()
}

async function measured(): Promise<Map<Kind, number[]>> {
  const revoked = await call('POST', '/api/tokens', { name: 'revoked', roles: ['viewer'] })
  await call('DELETE', `/api/tokens/${revoked.id}`)
  const { token } = service
  const guesses: Record<Kind, () => string> = {
    random: () => `itd_${randomBytes(32).toString('base64url')}`,
    'last character wrong': () => token.slice(0, -1) + other(token.at(-1)!),
    'first character wrong': () => `itd_${other(token[4]!)}${token.slice(5)}`,
    revoked: () => revoked.token,
  }
  const times = new Map<Kind, number[]>(KINDS.map((kind) => [kind, []]))
  const connection = await Connection.open(service.target.port)
  // Made in advance, so that the client's time to make them is not measured.
  const asked = Array.from({ length: WARM_UP + samples * KINDS.length }, () => {
    const kind = random.pick(KINDS)
    const request = `GET /api/version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${guesses[kind]()}\r\n\r\n`
    return { kind, bytes: Buffer.from(request) }
  })
  for (const [n, { kind, bytes }] of asked.entries()) {
    const outcome = await connection.ask([bytes], { isHead: false, timeoutMs: 10_000 })
    if (outcome.kind !== 'answer' || outcome.status !== 401) throw new Error(`${kind}: ${outcome.kind}`)
    if (n >= WARM_UP) times.get(kind)!.push(outcome.ms)
  }
  connection.close()
  return times
}

/** Another letter of the alphabet of tokens. */
function other(character: string): string {
  return character === 'A' ? 'B' : 'A'
}

async function call(method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${service.target.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return response.status === 204 ? undefined : response.json()
}

/** By how many standard deviations the rank sum of the first sample differs from its expectation. */
function rankDifference(a: readonly number[], b: readonly number[]): number {
  const all = [...a.map((ms) => ({ ms, isA: true })), ...b.map((ms) => ({ ms, isA: false }))].sort(
    (x, y) => x.ms - y.ms,
  )
  let ranks = 0
  for (const [i, { isA }] of all.entries()) if (isA) ranks += i + 1
  const [m, n] = [a.length, b.length]
  const expected = (m * (m + n + 1)) / 2
  return (ranks - expected) / Math.sqrt((m * n * (m + n + 1)) / 12)
}
