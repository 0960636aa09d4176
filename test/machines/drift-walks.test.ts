/**
 * Random walks of a record's drift against a model that keeps everything and derives the status from scratch each time.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { DRIFT_STATUSES } from '../../machines/documents/drift.ts'
import type { Seen } from '../../machines/documents/observation.ts'
import { driftOf } from '../../machines/drift/document.ts'
import { driftState } from '../../machines/drift/state.ts'
import { withLapse } from '../../machines/drift/status.ts'
import { intentRecordModule as module } from '../../machines/intent-record.ts'
import { CREATE, DAY, E1, E2, MESSAGES, OTHER, seen } from './intent-record-samples.ts'
import { BY } from './run-request-samples.ts'
import { after, at, reopened, step } from './step.ts'

const WALKS = Number(process.env.WALKS ?? 200)
/** The same walks in every run, because the states that they visit are counted; SEED=2 takes others. */
const SEED = Number(process.env.SEED ?? 1)
const STEPS_MAX = 40
const THIRTY_DAYS_MS = 30 * DAY * 1_000
const PROBLEMS = ['contradicted', 'drifted', 'threatened']

interface Remembered {
  readonly about: string
  readonly evidence: string | undefined
  readonly result: string
  readonly seenMs: number
  readonly reviewMs: number
}

const shows = (one: Remembered | undefined): boolean => one?.result === 'pass' || one?.result === 'waived'

/** Of observations seen at the same time, the one that came last. */
function newestOf(all: readonly Remembered[]): Remembered | undefined {
  return all.reduce<Remembered | undefined>(
    (newest, one) => (newest && newest.seenMs > one.seenMs ? newest : one),
    undefined,
  )
}

/** Everything that ever happened, and the rules as they are written down. */
class Model {
  observations: Remembered[] = []
  evidence: { id: string; required: boolean }[] = [
    { id: E1, required: true },
    { id: E2, required: false },
  ]
  versionMs: number
  conflict = false
  classified: { word: string; atMs: number; shown: boolean; failing: string[] } | undefined

  constructor(versionMs: number) {
    this.versionMs = versionMs
  }

  latest(evidence: string | undefined): Remembered | undefined {
    return newestOf(this.observations.filter((one) => one.about === 'evidence' && one.evidence === evidence))
  }

  required(): (Remembered | undefined)[] {
    return this.evidence.filter(({ required }) => required).map(({ id }) => this.latest(id))
  }

  bare(nowMs: number): string {
    const last = (is: (one: Remembered) => boolean) =>
      Math.max(Number.NEGATIVE_INFINITY, ...this.observations.filter(is).map(({ seenMs }) => seenMs))
    const contradiction = last(({ about, result }) => about === 'contradiction' && result === 'fail')
    const cleared = last((one) => one.about === 'contradiction' && shows(one))
    if (contradiction > cleared || this.conflict) return 'contradicted'
    if (this.required().some((one) => one?.result === 'fail')) return 'drifted'
    const threat = last(({ about, result }) => about === 'threat' && result === 'fail')
    const held = last(
      ({ about, result }) =>
        (about !== 'contradiction' && result === 'pass') || (about === 'threat' && result === 'waived'),
    )
    const optional = [...this.evidence.filter(({ required }) => !required).map(({ id }) => id), undefined]
    if (threat > held || optional.some((id) => this.latest(id)?.result === 'fail')) return 'threatened'
    const newest = last(() => true)
    if (this.observations.length === 0) return 'unobserved'
    const waiverOver = this.waivers().some((one) => one?.result === 'waived' && one.reviewMs <= nowMs)
    if (newest < this.versionMs || newest + THIRTY_DAYS_MS <= nowMs || waiverOver) return 'stale'
    const needed = this.required()
    if (needed.length > 0) return needed.every(shows) ? 'holding' : 'unobserved'
    return optional.some((id) => shows(this.latest(id))) ? 'holding' : 'unobserved'
  }

  /** Whether it must not be a waiver whose review is due. */
  waivers(): (Remembered | undefined)[] {
    const newest = (is: (one: Remembered) => boolean) =>
      newestOf(this.observations.filter((one) => is(one) && shows(one)))
    const threat = newest(({ about, result }) => about === 'threat' || (about !== 'contradiction' && result === 'pass'))
    const contradiction = newest(({ about }) => about === 'contradiction')
    const needed = this.required()
    if (needed.length > 0) return [threat, contradiction, ...needed]
    const any = [...this.evidence.map(({ id }) => id), undefined].map((id) => this.latest(id)).filter(shows)
    const excused = any.some((one) => one!.result === 'pass') ? [] : any
    const last = excused.reduce(
      (longest, one) => (longest && longest.reviewMs >= one!.reviewMs ? longest : one),
      undefined,
    )
    return [threat, contradiction, last]
  }

  status(nowMs: number): string {
    const bare = this.bare(nowMs)
    return this.classified?.word === 'real' && bare !== 'contradicted' ? 'drifted' : bare
  }

  /** After each step: has what a person said come to its end? */
  settle(nowMs: number): void {
    if (this.classified === undefined || PROBLEMS.includes(this.bare(nowMs))) return
    const { word, atMs, shown, failing } = this.classified
    const passed = this.observations.some(
      ({ about, result, seenMs }) =>
        (result === 'pass' || (about !== 'evidence' && about !== 'forgotten' && result === 'waived')) && seenMs >= atMs,
    )
    const needed = this.evidence
      .filter(({ id, required }) => required && failing.includes(id))
      .map(({ id }) => this.latest(id))
    const anew = needed.every((one) => one !== undefined && one.seenMs >= atMs && shows(one))
    const repaired = needed.length > 0 ? anew : passed
    if (word === 'allowed_exception' || (word === 'real' && shown && repaired)) this.classified = undefined
  }

  /** An outdated record was updated: what spoke against its old words is forgotten. */
  putRight(): void {
    const failing = [...this.evidence.map(({ id }) => id), undefined].filter((id) => this.latest(id)?.result === 'fail')
    this.observations = this.observations.map((one) => {
      const isOver = one.about === 'evidence' ? failing.includes(one.evidence) : one.result === 'fail'
      const kept = one.about === 'evidence' ? one : { ...one, reviewMs: Number.POSITIVE_INFINITY }
      return isOver ? { ...one, about: 'forgotten', result: 'unknown' } : kept
    })
    this.classified = undefined
  }
}

type Move = { readonly type: string; readonly [member: string]: unknown }

const observation = fc.record({
  type: fc.constant('observe'),
  about: fc.constantFrom(...Array.from({ length: 8 }, () => 'evidence'), 'threat', 'threat', 'contradiction'),
  evidence: fc.constantFrom(E1, E1, E1, E2, undefined),
  result: fc.constantFrom('pass', 'pass', 'pass', 'fail', 'unknown', 'waived'),
  /** Seconds before it came. */
  ago: fc.constantFrom(0, 0, 0, 1, 60, 5 * DAY, -60),
  review: fc.constantFrom(DAY, 10 * DAY, 60 * DAY),
})
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: observation },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom('real', 'allowed_exception', 'obsolete_intent', 'none')
      .map((classification) => ({ type: 'classify', classification })),
  },
  { weight: 2, arbitrary: fc.constantFrom('title', 'optional', 'bare').map((change) => ({ type: 'update', change })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(true, false, false, false)
      .map((guiding) => ({ type: 'peer_conflict', with: OTHER, key: 'acme.intent.other', guiding, said: 'declared' })),
  },
)
const moves = fc.array(fc.tuple(move, fc.constantFrom(1, 60, DAY, 12 * DAY, 31 * DAY)), {
  maxLength: STEPS_MAX,
  size: 'max',
})

/** The message of a move, at its time. */
function messageOf(move: Move, seconds: number, model: Model, serial: number) {
  if (move.type === 'observe') {
    const { about, evidence, result, ago, review } = move as any
    const more: Partial<Seen> = {
      about,
      result,
      ...(evidence === undefined ? {} : { evidence_id: evidence }),
      observed_at: at(seconds - ago, { type: 'x' }).at,
      ...(result === 'waived'
        ? { waiver: { waived_by: 'ann', reason: 'known', review_at: at(seconds + review, { type: 'x' }).at } }
        : {}),
    }
    return seen(seconds, more)
  }
  if (move.type === 'classify') {
    const excused = move.classification === 'allowed_exception'
    const more = excused ? { reason: 'for now', review_at: '2030-01-01T00:00:00Z' } : { reason: `said at ${serial}` }
    return at(seconds, { ...move, ...more, by: BY })
  }
  if (move.type === 'update') {
    const entries = {
      optional: [{ id: E1, description: 'first', required: false }],
      bare: [],
    }
    const known = new Set(model.evidence.map(({ id }) => id))
    const evidence = (entries as any)[move.change as string]?.filter(({ id }: { id: string }) => known.has(id))
    const patch = evidence === undefined ? { title: `Title ${serial}` } : { title: `Title ${serial}`, evidence }
    return at(seconds, { type: 'update', patch, may_rewrite: true })
  }
  return at(seconds, move)
}

/** What the model does with a message that was taken. */
function tell(model: Model, message: any): void {
  const { atMs } = message
  switch (message.type) {
    case 'observe': {
      const { about = 'evidence', evidence_id, result, observed_at, waiver } = message.observation
      const isOfEvidence = about === 'evidence' && evidence_id !== undefined
      if (isOfEvidence && !model.evidence.some(({ id }) => id === evidence_id)) break
      model.observations.push({
        about,
        evidence: about === 'evidence' ? evidence_id : undefined,
        result,
        seenMs: Math.min(Date.parse(observed_at), atMs),
        reviewMs: waiver === undefined ? 0 : Date.parse(waiver.review_at),
      })
      break
    }
    case 'classify':
      model.classified =
        message.classification === 'none'
          ? undefined
          : {
              word: message.classification,
              atMs,
              shown: PROBLEMS.includes(model.bare(atMs)),
              failing: model.evidence.map(({ id }) => id).filter((id) => model.latest(id)?.result === 'fail'),
            }
      break
    case 'update': {
      const { evidence } = message.patch
      if (evidence !== undefined) {
        const kept = new Set(evidence.map(({ id }: { id: string }) => id))
        const gone = model.evidence.filter(({ id }) => !kept.has(id)).map(({ id }) => id)
        model.observations = model.observations.map((one) =>
          one.evidence !== undefined && gone.includes(one.evidence)
            ? { ...one, about: 'forgotten', result: one.result }
            : one,
        )
        model.evidence = evidence.map(({ id, required }: any) => ({ id, required }))
      }
      model.versionMs = atMs
      if (model.classified?.word === 'obsolete_intent') model.putRight()
      break
    }
    case 'peer_conflict':
      model.conflict = message.guiding
  }
  model.settle(atMs)
}

t.test('no walk leads to a status other than the rules give', (t) => {
  const visits = new Map<string, number>()
  fc.assert(
    fc.property(moves, (walk) => {
      let snapshot = after(module, [at(0, CREATE), MESSAGES.accept])
      const model = new Model(at(0, { type: 'x' }).atMs)
      let seconds = 100
      walk.forEach(([move, pause], index) => {
        seconds += pause
        const message = messageOf(move, seconds, model, index)
        const stepped = step(module, snapshot, message as never)
        if (stepped.refused !== undefined || stepped.repeat !== undefined) return
        snapshot = index % 7 === 0 ? reopened(module, stepped.snapshot) : stepped.snapshot
        tell(model, message)
        for (const later of [0, 40 * DAY]) {
          const nowMs = message.atMs + later * 1_000
          const now = new Date(nowMs).toISOString()
          const { status } = driftOf(snapshot, now)
          assert.equal(status, model.status(nowMs), `after ${message.type}, ${later} s later`)
          assert.equal(withLapse(driftState(snapshot.context), now).status, status, 'it is listed under its status')
        }
        const { status: word, classification } = driftOf(snapshot, new Date(message.atMs).toISOString())
        assert.equal(classification?.classification, model.classified?.word, `classified, after ${message.type}`)
        assert.equal(snapshot.context.drift_history.at(-1)?.status, word, 'the history ends with it')
        visits.set(word, (visits.get(word) ?? 0) + 1)
      })
    }),
    { numRuns: WALKS, seed: SEED },
  )
  for (const status of DRIFT_STATUSES) t.ok((visits.get(status) ?? 0) >= 10, `the walks visit ${status}`)
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})
