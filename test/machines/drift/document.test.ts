/** The status of a record's drift, rule by rule, and what a person says of it. */
import t from 'tap'
import { type Drift, driftChangeDocument, driftDocument } from '../../../machines/documents/drift.ts'
import { attentionSince, driftHistoryOf, driftOf } from '../../../machines/drift/document.ts'
import { HISTORY_KEPT_MAX } from '../../../machines/drift/state.ts'
import { intentRecordModule as module } from '../../../machines/intent-record.ts'
import type { Message, SnapshotOf } from '../../../machines/machine.ts'
import { compile } from '../../../machines/schema.ts'
import { BRIEF, CREATE, DAY, E1, E2, MESSAGES as M, OTHER, seen } from '../intent-record-samples.ts'
import { BY } from '../run-request-samples.ts'
import { after, at, reopened, step } from '../step.ts'

const accepted = after(module, [M.create, M.accept])
const checkDrift = compile(driftDocument)
const checkChange = compile(driftChangeDocument)

/**
 * The drift after these messages, this many seconds after the beginning; every document on the way satisfies its
 * schema.
 */
function drift(snapshot: SnapshotOf<any>, seconds: number): Drift {
  const now = new Date(Date.parse(at(seconds, { type: 'x' }).at)).toISOString()
  const document = driftOf(reopened(module, snapshot), now)
  t.strictSame(checkDrift(JSON.parse(JSON.stringify(document))), [])
  for (const change of driftHistoryOf(snapshot, now)) t.strictSame(checkChange(JSON.parse(JSON.stringify(change))), [])
  return document
}

function on(snapshot: SnapshotOf<any>, ...messages: Message<any>[]): SnapshotOf<any> {
  return messages.reduce((reached, message) => {
    const stepped = step(module, reached, message)
    if (stepped.refused !== undefined) throw new Error(`${message.type}: ${stepped.refused}`)
    return stepped.snapshot
  }, snapshot)
}

/** Status and codes a minute after these messages to an accepted record. */
function said(...messages: Message<any>[]): [string, string[]] {
  const last = Math.max(0, ...messages.map(({ atMs }) => atMs)) - at(0, { type: 'x' }).atMs
  const { status, because } = drift(on(accepted, ...messages), last / 1000 + 60)
  return [status, because.map(({ code }) => code)]
}

const classify = (seconds: number, classification: string, more: object = {}) =>
  at(seconds, { type: 'classify', by: BY, classification, ...more })
const exception = (seconds: number, review_at: string) =>
  classify(seconds, 'allowed_exception', { reason: 'for now', review_at })

t.test('the status is the first in order whose condition holds', (t) => {
  t.strictSame(said(), ['unobserved', ['never_observed']])
  t.strictSame(said(seen(10, { evidence_id: E1 })), ['holding', ['evidence_passed']])
  t.strictSame(said(seen(10)), ['unobserved', ['evidence_unobserved']], 'a pass without an evidence id')
  t.strictSame(
    said(seen(10, { evidence_id: E2 })),
    ['unobserved', ['evidence_unobserved']],
    'a pass of optional evidence',
  )
  t.strictSame(said(seen(10, { evidence_id: E1, result: 'unknown' })), ['unobserved', ['evidence_unobserved']])
  t.strictSame(said(seen(10, { evidence_id: E1 }), seen(11, { evidence_id: E2, result: 'fail' })), [
    'threatened',
    ['evidence_failed'],
  ])
  t.strictSame(said(seen(10, { result: 'fail' })), ['threatened', ['evidence_failed']], 'without an evidence id')
  t.strictSame(said(seen(10, { about: 'threat', result: 'fail' })), ['threatened', ['threat_observed']])
  const failed = seen(11, { evidence_id: E1, result: 'fail' })
  t.strictSame(said(seen(10, { about: 'threat', result: 'fail' }), failed), ['drifted', ['evidence_failed']])
  t.strictSame(said(failed, seen(12, { about: 'contradiction', result: 'fail' })), [
    'contradicted',
    ['contradiction_observed'],
  ])
  t.strictSame(said(classify(10, 'real')), ['drifted', ['classified_real']])
  t.end()
})

t.test('a record without evidence of its own holds once any observation passes', (t) => {
  const { evidence: _, ...content } = CREATE.content
  const bare = after(module, [at(0, { ...CREATE, content }), M.accept])
  t.equal(drift(bare, 60).status, 'unobserved')
  t.equal(drift(on(bare, seen(10, { result: 'unknown' })), 60).status, 'unobserved')
  t.equal(drift(on(bare, seen(10)), 60).status, 'holding')
  t.equal(drift(on(bare, seen(10), seen(11, { result: 'fail' })), 60).status, 'threatened')
  t.equal(drift(on(bare, seen(10, { result: 'fail' }), seen(11)), 60).status, 'holding')
  t.end()
})

t.test(
  'observations of evidence that the record no longer names are counted, and do not affect its present status',
  (t) => {
    const failing = on(accepted, seen(10, { evidence_id: E1, result: 'fail' }))
    const without = on(
      failing,
      at(20, { type: 'update', patch: { evidence: [{ id: E2, description: 'b' }] }, may_rewrite: true }),
    )
    const late = (more: object) => drift(on(without, seen(30, { evidence_id: E1, ...more })), 60)
    for (const result of ['fail', 'pass', 'unknown'] as const)
      t.match(
        late({ result }),
        { status: 'stale', because: [{ code: 'version_not_observed' }], observations: 2 },
        result,
      )
    const holding = on(without, seen(40, { evidence_id: E2 }))
    t.match(drift(on(holding, seen(50, { evidence_id: E1, result: 'fail' })), 60), {
      status: 'holding',
      observations: 3,
      last_observed_at: drift(holding, 60).last_observed_at,
    })
    const threatened = on(without, seen(40, { evidence_id: E2 }), seen(41, { about: 'threat', result: 'fail' }))
    t.equal(
      drift(on(threatened, seen(50, { evidence_id: E1 })), 60).status,
      'threatened',
      'its pass does not end a threat',
    )
    t.equal(late({ about: 'threat', result: 'fail' }).status, 'threatened', 'a threat concerns the record as a whole')
    const { drift: kept } = holding.context
    const stray = { ...kept.latest[E2], result: 'fail', evidence_id: `${E1}9` }
    const older = {
      ...holding,
      context: { ...holding.context, drift: { ...kept, latest: { ...kept.latest, '': stray } } },
    }
    t.equal(drift(older as never, 60).status, 'threatened', 'as an earlier version kept it')
    t.equal(drift(on(older as never, seen(50, { evidence_id: E2 })), 60).status, 'holding')
    t.end()
  },
)

t.test('a failure of optional evidence is a threat until the same evidence passes', (t) => {
  const failed = [seen(10, { evidence_id: E1 }), seen(11, { evidence_id: E2, result: 'fail' })]
  t.equal(said(...failed, seen(12, { evidence_id: E1 }))[0], 'threatened', 'a pass of other evidence does not end it')
  t.equal(said(...failed, seen(12, { evidence_id: E2 }))[0], 'holding')
  t.end()
})

t.test('observations are ordered by when they were made, but never later than when they came', (t) => {
  const { at: early } = at(5, { type: 'x' })
  const late = seen(20, { evidence_id: E1, result: 'fail', observed_at: early })
  t.equal(said(seen(10, { evidence_id: E1 }), late)[0], 'holding', 'an old failure that comes late')
  const future = seen(10, { evidence_id: E1, observed_at: '2099-01-01T00:00:00Z' })
  t.equal(said(future, seen(11, { evidence_id: E1, result: 'fail' }))[0], 'drifted', 'a clock that is ahead')
  const offset = seen(20, { evidence_id: E1, result: 'fail', observed_at: '2026-01-01T05:00:09+05:00' })
  t.equal(said(seen(10, { evidence_id: E1 }), offset)[0], 'holding', 'instants are compared, not their texts')
  const leap = seen(20, { evidence_id: E1, result: 'fail', observed_at: '2016-12-31T23:59:60Z' })
  t.equal(said(seen(10, { evidence_id: E1 }), leap)[0], 'drifted', 'a leap second counts as the time it came')
  t.end()
})

t.test('a threat stands until a later pass, a contradiction until an observation says that there is none', (t) => {
  const threat = seen(10, { about: 'threat', result: 'fail' })
  t.equal(said(threat, seen(11, { evidence_id: E1 }))[0], 'holding')
  t.equal(said(seen(11, { evidence_id: E1 }), threat)[0], 'holding', 'in whatever order they come')
  t.equal(said(threat, seen(11, { about: 'threat' }), seen(12, { evidence_id: E1 }))[0], 'holding')
  t.equal(said(threat, seen(11, { about: 'threat', result: 'unknown' }))[0], 'threatened')
  const contradiction = seen(10, { about: 'contradiction', result: 'fail' })
  t.equal(said(contradiction, seen(11, { evidence_id: E1 }))[0], 'contradicted', 'passing evidence does not end it')
  t.equal(said(seen(9, { evidence_id: E1 }), contradiction, seen(11, { about: 'contradiction' }))[0], 'holding')
  t.equal(said(seen(9, { evidence_id: E1 }), seen(11, { about: 'contradiction' }), contradiction)[0], 'holding')
  t.end()
})

t.test(
  'a record is stale after 30 days without observation, without one of its version, or after its waiver ends',
  (t) => {
    const passed = on(accepted, seen(10, { evidence_id: E1 }))
    t.match(drift(passed, 30 * DAY), { status: 'holding', stale_at: '2026-01-31T00:00:10.000Z' })
    t.match(drift(passed, 30 * DAY + 10), {
      status: 'stale',
      since: '2026-01-31T00:00:10.000Z',
      severity: 'low',
      action: 'inspect',
      because: [{ code: 'not_observed_since' }],
    })
    t.equal(drift(accepted, 300 * DAY).status, 'unobserved', 'a record never observed is not stale')
    t.equal(drift(on(accepted, seen(10)), 31 * DAY).status, 'stale', 'one observed in part is')
    t.equal(drift(on(accepted, seen(10, { evidence_id: E1, result: 'fail' })), 31 * DAY).status, 'drifted')
    const changed = on(passed, at(20, { type: 'update', patch: { title: 'Other' }, may_rewrite: true }))
    t.match(drift(changed, 60), { status: 'stale', because: [{ code: 'version_not_observed' }] })
    t.equal(drift(on(changed, seen(30, { evidence_id: E1 })), 60).status, 'holding')
    const waiver = { waived_by: 'ann', reason: 'known', review_at: '2026-01-02T00:00:00Z' }
    const waived = on(accepted, seen(10, { evidence_id: E1, result: 'waived', waiver }))
    t.match(drift(waived, DAY - 1), {
      status: 'holding',
      because: [{ code: 'evidence_waived', observation: { waiver } }],
    })
    t.match(drift(waived, DAY), { status: 'stale', because: [{ code: 'waiver_ended', evidence_id: E1 }] })
    const forever = { ...waiver, review_at: '9999-12-31T23:59:59-05:00' }
    const kept = on(accepted, seen(10, { evidence_id: E1, result: 'waived', waiver: forever }))
    t.equal(drift(kept, DAY).status, 'holding', 'year 9999 west of UTC: never')
    const ahead = on(accepted, seen(10, { evidence_id: E1, observed_at: '9999-12-31T23:59:59-05:00' }))
    t.equal(drift(ahead, DAY).status, 'holding', 'counted as made when it came, at the latest')
    t.end()
  },
)

t.test('a waiver of any kind excuses until its review, and no longer matters once a pass makes it needless', (t) => {
  const waiver = { waived_by: 'ann', reason: 'known', review_at: '2026-01-02T00:00:00Z' }
  const waived = { result: 'waived', waiver } as const
  const bare = after(module, [at(0, { ...CREATE, content: { title: 'T' } }), M.accept])
  const general = on(bare, seen(10, waived))
  t.match(drift(general, DAY - 1), { status: 'holding' })
  t.match(drift(general, DAY), { status: 'stale', because: [{ code: 'waiver_ended', observation: { waiver } }] })
  t.equal(drift(on(general, seen(20)), DAY).status, 'holding')
  const passing = on(accepted, seen(5, { evidence_id: E1 }))
  for (const about of ['threat', 'contradiction'] as const) {
    const excused = on(passing, seen(10, { about, result: 'fail' }), seen(20, { about, ...waived }))
    t.match(drift(excused, DAY - 1), { status: 'holding', stale_at: '2026-01-02T00:00:00.000Z' }, about)
    t.match(drift(excused, DAY), { status: 'stale', because: [{ code: 'waiver_ended', observation: { waiver } }] })
    t.equal(drift(on(excused, seen(30, { about })), DAY).status, 'holding', 'later observed not to be')
    t.equal(
      drift(
        on(passing, seen(30, { about }), seen(40, { about, ...waived, observed_at: at(20, { type: 'x' }).at })),
        DAY,
      ).status,
      'holding',
      'a waiver that came late',
    )
  }
  t.end()
})

t.test('severity is high when required evidence failed, and undefined while the record holds', (t) => {
  const of = (...messages: Message<any>[]) => drift(on(accepted, ...messages), 60).severity
  t.equal(of(seen(10, { evidence_id: E1, result: 'fail' })), 'high')
  t.equal(
    of(seen(10, { evidence_id: E1, result: 'fail' }), seen(11, { about: 'contradiction', result: 'fail' })),
    'high',
  )
  t.equal(of(seen(11, { about: 'contradiction', result: 'fail' })), 'medium')
  t.equal(of(classify(10, 'real')), 'medium')
  t.equal(of(seen(10, { evidence_id: E2, result: 'fail' })), 'medium')
  t.equal(of(), 'low')
  t.equal(of(seen(10, { evidence_id: E1 })), undefined)
  t.end()
})

t.test('a problem’s since is its first sign, a rest’s the last change, and it stays while the status stays', (t) => {
  const time = (seconds: number) => new Date(at(seconds, { type: 'x' }).atMs).toISOString()
  const failing = on(
    accepted,
    seen(10, { evidence_id: E1, result: 'fail' }),
    seen(20, { evidence_id: E1, result: 'fail' }),
  )
  t.equal(drift(failing, 60).since, time(10))
  t.equal(drift(on(failing, seen(30, { evidence_id: E1 })), 60).since, time(30))
  t.equal(drift(on(failing, seen(30, { evidence_id: E1 }), seen(40, { evidence_id: E1 })), 60).since, time(30))
  t.equal(drift(accepted, 60).since, time(2), 'since it was accepted')
  t.end()
})

t.test('since of a record that holds again is the end of the earlier problem, in document, history and event', (t) => {
  const time = (seconds: number) => new Date(at(seconds, { type: 'x' }).atMs).toISOString()
  const holding = on(accepted, seen(10, { evidence_id: E1 }))
  const conflict = (seconds: number, said: 'declared' | 'withdrawn') =>
    at(seconds, { type: 'peer_conflict', with: OTHER, key: 'acme.intent.other', guiding: true, said })
  const ends: readonly (readonly [word: string, until: number, ...Message<any>[]])[] = [
    ['threatened', 30, seen(20, { about: 'threat', result: 'fail' }), seen(30)],
    ['threatened', 25, seen(20, { about: 'threat', result: 'fail' }), seen(30, { observed_at: time(25) })],
    ['threatened', 30, seen(20, { evidence_id: E2, result: 'fail' }), seen(30, { evidence_id: E2 })],
    ['contradicted', 30, seen(20, { about: 'contradiction', result: 'fail' }), seen(30, { about: 'contradiction' })],
    ['contradicted', 30, conflict(20, 'declared'), conflict(30, 'withdrawn')],
    ['drifted', 30, classify(20, 'real'), classify(30, 'none')],
    ['stale', 31 * DAY + 20, seen(31 * DAY + 20)],
  ]
  for (const [word, until, ...messages] of ends) {
    const last = messages.at(-1)!
    const before = on(holding, ...messages.slice(0, -1))
    const lastSeconds = (last.atMs - at(0, { type: 'x' }).atMs) / 1_000
    t.equal(drift(before, lastSeconds).status, word)
    const { snapshot, facts } = step(module, before, last)
    t.match(drift(snapshot, lastSeconds + 1), { status: 'holding', since: time(until) }, word)
    t.match(driftHistoryOf(snapshot, last.at)[0], { status: 'holding', since: time(until) })
    const payload = { drift_status: 'holding', since: time(until) }
    t.match(facts.at(-1), { type: 'intent_record_drift_changed', payload })
  }
  t.end()
})

t.test('a classification decides the action, and ends when what it waited for comes', (t) => {
  const failed = on(accepted, seen(10, { evidence_id: E1, result: 'fail' }))
  t.equal(drift(failed, 60).action, 'repair')
  t.ok(attentionSince(failed), 'it calls a person')

  const real = on(failed, classify(20, 'real', { reason: 'I looked' }))
  t.match(drift(real, 60), { status: 'drifted', action: 'repair', classification: { classification: 'real', by: BY } })
  t.equal(attentionSince(real), undefined)
  t.equal(step(module, real, classify(30, 'real', { reason: 'I looked' })).repeat, 'unchanged')
  const early = seen(30, { evidence_id: E1, observed_at: at(15, { type: 'x' }).at })
  t.match(drift(on(real, early), 60), { status: 'drifted', because: [{ code: 'classified_real' }] }, 'an earlier pass')
  const repaired = on(real, seen(30, { evidence_id: E1 }))
  t.match(drift(repaired, 60), { status: 'holding', action: 'none', classification: undefined })
  t.equal(
    drift(on(repaired, seen(40, { evidence_id: E1, result: 'fail' })), 60).classification,
    undefined,
    'it drifted again',
  )

  const excused = on(failed, exception(20, '2026-01-02T00:00:00Z'))
  t.match(drift(excused, 60), { status: 'drifted', severity: 'high', action: 'none' })
  t.equal(drift(excused, DAY).action, 'ask', 'its review is due')
  t.equal(attentionSince(excused), '2026-01-02T00:00:00.000Z')
  t.equal(drift(on(excused, seen(30, { evidence_id: E1 })), 60).classification, undefined)

  const obsolete = on(failed, classify(20, 'obsolete_intent'))
  t.equal(drift(obsolete, 60).action, 'update_record')
  const passing = on(obsolete, seen(25, { evidence_id: E1 }))
  t.match(
    drift(passing, 60),
    { status: 'holding', action: 'update_record' },
    'an outdated record stays outdated until it is changed',
  )
  const updated = on(obsolete, at(30, { type: 'update', patch: { capability: 'Other' }, may_rewrite: true }))
  t.match(
    drift(updated, 60),
    { status: 'stale', classification: undefined },
    'earlier observations concern the earlier version',
  )
  t.equal(
    drift(on(failed, at(30, { type: 'update', patch: { title: 'Other' }, may_rewrite: true })), 60).status,
    'drifted',
  )
  t.end()
})

t.test('a drift classified as real ends when its own cause does, whatever else was not observed since', (t) => {
  const two = after(module, [
    at(0, {
      ...CREATE,
      content: { title: 'T', evidence: ['first', 'second'].map((description) => ({ description, required: true })) },
    }),
    M.accept,
    seen(5, { evidence_id: E1 }),
    seen(6, { evidence_id: E2 }),
  ])
  const failed = on(two, seen(10, { evidence_id: E1, result: 'fail' }), classify(20, 'real'))
  t.equal(drift(on(failed, seen(30, { evidence_id: E2 })), 60).status, 'drifted', 'other evidence')
  t.match(drift(on(failed, seen(30, { evidence_id: E1 })), 60), { status: 'holding', classification: undefined })
  const threatened = on(two, seen(10, { about: 'threat', result: 'fail' }), classify(20, 'real'))
  t.match(drift(on(threatened, seen(30, { about: 'threat' })), 60), { status: 'holding', classification: undefined })
  t.match(
    drift(on(threatened, seen(30, { evidence_id: E2 })), 60),
    { status: 'holding', classification: undefined },
    'the end of a threat ends its classification',
  )
  const odd = on(two, seen(10, { about: 'contradiction', result: 'fail' }), classify(20, 'real'))
  t.match(drift(on(odd, seen(30, { about: 'contradiction' })), 60), { status: 'holding', classification: undefined })
  t.equal(drift(on(odd, seen(30, { evidence_id: E2 })), 60).status, 'contradicted', 'no pass ends a contradiction')
  const older = {
    ...failed,
    context: {
      ...failed.context,
      drift: {
        ...failed.context.drift,
        classification: { ...failed.context.drift.classification!, failing: undefined },
      },
    },
  }
  t.equal(
    drift(on(older as never, seen(30, { evidence_id: E1 })), 60).status,
    'drifted',
    'as an earlier version stored it: all evidence counts',
  )
  t.end()
})

t.test('what is seen in the millisecond of a classification counts as seen after it', (t) => {
  const ended = { status: 'holding', classification: undefined }
  /** As the service's clock stamps it, later within the same millisecond. */
  const later = <M extends { readonly at: string }>(message: M): M => ({
    ...message,
    at: message.at.replace('000Z', '400Z'),
  })
  const failed = on(accepted, seen(10, { evidence_id: E1, result: 'fail' }))
  const real = on(failed, later(classify(20, 'real')))
  t.match(drift(on(real, seen(20, { evidence_id: E1 })), 60), ended)
  const observed_at = new Date(at(20, { type: 'x' }).atMs - 1).toISOString()
  t.match(
    drift(on(real, seen(20, { evidence_id: E1, observed_at })), 60),
    { status: 'drifted', classification: { classification: 'real' } },
    'a millisecond before it',
  )
  const passing = on(accepted, seen(5, { evidence_id: E1 }))
  const threatened = on(passing, seen(10, { about: 'threat', result: 'fail' }), later(classify(20, 'real')))
  t.match(drift(on(threatened, seen(20, { about: 'threat' })), 60), ended)
  const odd = on(passing, seen(10, { about: 'contradiction', result: 'fail' }), later(classify(20, 'real')))
  t.match(drift(on(odd, seen(20, { about: 'contradiction' })), 60), ended)
  t.end()
})

t.test('a repair brief belongs to one drift, and a later drift has none yet', (t) => {
  const failed = on(accepted, seen(10, { evidence_id: E1, result: 'fail' }))
  const drafted = at(20, { type: 'repair_drafted', formation_brief_id: BRIEF, by: BY })
  const repairing = on(failed, drafted)
  t.equal(drift(repairing, 60).repair_brief_id, BRIEF)
  t.equal(drift(on(repairing, seen(30, { evidence_id: E1, result: 'fail' })), 60).repair_brief_id, BRIEF)
  const mended = on(repairing, seen(30, { evidence_id: E1 }))
  t.equal(drift(mended, 60).repair_brief_id, undefined)
  t.equal(drift(on(mended, seen(40, { evidence_id: E1, result: 'fail' })), 60).repair_brief_id, undefined)
  const late = on(failed, seen(15, { evidence_id: E1 }), drafted, seen(40, { evidence_id: E1, result: 'fail' }))
  t.equal(drift(late, 60).repair_brief_id, undefined, 'the record heard of it after that drift was over')
  t.end()
})

t.test('a drift that only a person has seen is ended only by a person', (t) => {
  const real = on(accepted, seen(10, { evidence_id: E1 }), classify(20, 'real'))
  t.equal(drift(on(real, seen(30, { evidence_id: E1 })), 60).status, 'drifted')
  const taken = on(real, classify(40, 'none', { reason: 'mended' }))
  t.match(drift(taken, 60), { status: 'holding', classification: undefined })
  t.equal(step(module, taken, classify(50, 'none')).refused, 'illegal_move')
  t.equal(step(module, taken, exception(50, '2026-02-01T00:00:00Z')).refused, 'illegal_move', 'nothing to allow')
  t.end()
})

t.test('an exception excuses what was known when it was given, and asks again when something new comes', (t) => {
  const threatened = on(accepted, seen(9, { evidence_id: E1 }), seen(10, { evidence_id: E2, result: 'fail' }))
  const excused = on(threatened, exception(20, '2026-01-02T00:00:00Z'))
  const again = on(excused, seen(25, { evidence_id: E2, result: 'fail' }))
  t.match(drift(again, 60), { status: 'threatened', action: 'none' }, 'the same, observed again')
  t.equal(attentionSince(again), '2026-01-02T00:00:00.000Z')

  const worse = on(again, seen(30, { evidence_id: E1, result: 'fail' }))
  t.match(drift(worse, 60), { status: 'drifted', severity: 'high', action: 'ask' })
  t.match(drift(worse, 60).classification, { classification: 'allowed_exception' }, 'what it excuses is still excused')
  t.equal(attentionSince(worse), '2026-01-01T00:00:30.000Z')
  t.match(drift(on(worse, seen(40, { evidence_id: E1 })), 60), { status: 'threatened', action: 'none' })
  t.equal(drift(on(worse, exception(40, '2026-01-02T00:00:00Z')), 60).action, 'none', 'given again, knowing both')

  const other = { type: 'peer_conflict', with: OTHER, key: 'acme.intent.other', guiding: true, said: 'declared' }
  t.match(drift(on(excused, at(30, other)), 60), { status: 'contradicted', action: 'ask' })
  t.end()
})

t.test('two records in conflict are contradicted for as long as both guide runs', (t) => {
  const peer = (guiding: boolean, seconds: number, more: object = {}) =>
    at(seconds, { type: 'peer_conflict', with: OTHER, key: 'acme.intent.other', guiding, ...more })
  const stated = step(module, accepted, M['relate (conflict)'])
  t.match(stated.sends, [{ to: { id: OTHER }, message: { type: 'peer_conflict', guiding: true, said: 'declared' } }])
  t.equal(drift(stated.snapshot, 60).status, 'unobserved', 'until the other one answers')
  const both = on(stated.snapshot, peer(true, 10))
  t.match(drift(both, 60), {
    status: 'contradicted',
    action: 'ask',
    because: [{ code: 'conflicting_record', intent_record_id: OTHER }],
  })
  t.equal(drift(on(both, peer(false, 20)), 60).status, 'unobserved')
  t.match(step(module, both, M.deprecate).sends, [{ to: { id: OTHER }, message: { guiding: false } }])
  const withdrawn = step(module, both, M.unrelate)
  t.match(withdrawn.sends, [{ to: { id: OTHER }, message: { said: 'withdrawn' } }])
  t.equal(drift(withdrawn.snapshot, 60).status, 'unobserved')

  const heard = step(module, accepted, peer(true, 10, { said: 'declared' }))
  t.equal(drift(heard.snapshot, 60).status, 'contradicted', 'the other side of it')
  t.match(heard.sends, [{ to: { id: OTHER }, message: { type: 'peer_conflict', guiding: true } }])
  t.notOk('said' in heard.sends[0]!.message)
  t.equal(drift(on(heard.snapshot, peer(true, 20, { said: 'withdrawn' })), 60).status, 'unobserved')
  const mutual = on(heard.snapshot, M['relate (conflict)'], peer(true, 20, { said: 'withdrawn' }))
  t.equal(drift(mutual, 60).status, 'contradicted', 'this one still states it')
  const proposed = step(module, after(module, [M.create]), peer(true, 10, { said: 'declared' }))
  t.match(proposed.sends, [{ message: { guiding: false } }])
  t.match(step(module, proposed.snapshot, M.accept).sends, [{ to: { id: OTHER }, message: { guiding: true } }])
  t.end()
})

t.test('the history has every change, including those made by time alone, and forgets the oldest', (t) => {
  const snapshot = on(
    accepted,
    seen(10, { evidence_id: E1 }),
    seen(40 * DAY, { evidence_id: E1, result: 'fail' }),
    classify(40 * DAY + 10, 'real'),
    at(40 * DAY + 20, { type: 'repair_drafted', by: BY, formation_brief_id: BRIEF }),
    seen(40 * DAY + 30, { evidence_id: E1 }),
  )
  const now = new Date(at(80 * DAY, { type: 'x' }).atMs).toISOString()
  const told = driftHistoryOf(snapshot, now).map(({ kind, status, previous_status, cause }) =>
    [kind, status, previous_status, cause].filter((word) => word !== undefined).join(' '),
  )
  t.strictSame(told, [
    'status stale holding time',
    'status holding drifted observation',
    'classification_ended drifted',
    'repair_drafted drifted',
    'classified drifted',
    'status drifted stale observation',
    'status stale holding time',
    'status holding unobserved observation',
    'status unobserved state',
  ])
  t.equal(drift(snapshot, 41 * DAY).repair_brief_id, undefined, 'the brief belonged to the drift that is over')
  let long = accepted
  for (let n = 0; n < HISTORY_KEPT_MAX + 5; n++) {
    long = on(long, seen(100 + n, { evidence_id: E1, result: n % 2 === 0 ? 'pass' : 'fail' }))
  }
  t.equal(driftHistoryOf(long, now).length, HISTORY_KEPT_MAX, 'with what time has changed since')
  t.end()
})

t.test('what a record remembers does not grow with its observations', (t) => {
  let snapshot = accepted
  const size = () => JSON.stringify(snapshot).length
  const observe = (n: number) => {
    const about = (['evidence', 'threat', 'contradiction'] as const)[n % 3]!
    const result = (['pass', 'fail', 'unknown'] as const)[Math.floor(n / 3) % 3]!
    const evidence_id = [E1, E2, `${E1}9`][n % 5]
    snapshot = step(
      module,
      snapshot,
      seen(100 + n, { about, result, ...(evidence_id === undefined ? {} : { evidence_id }) }),
    ).snapshot
  }
  for (let n = 0; n < 500; n++) observe(n)
  const before = size()
  for (let n = 500; n < 1_500; n++) observe(n)
  t.ok(size() < before * 1.05, `${before} bytes, then ${size()}`)
  t.equal(snapshot.context.drift.count, 1_500)
  t.end()
})
