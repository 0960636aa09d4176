import t from 'tap'
import { intentCheckDocument } from '../../machines/documents/intent-check.ts'
import { recordIdOfSlug } from '../../machines/ids.ts'
import { IntentCheck } from '../../machines/intent-check.ts'
import type { SnapshotOf } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'

const PROJECT_ID = `proj_${'b'.repeat(24)}`
const idOf = (slug: string) => recordIdOfSlug(PROJECT_ID, slug)

/** A sound record, with these members replaced. */
function record(slug: string, state = 'proposed', more: object = {}): SnapshotOf<any> {
  const context = {
    id: idOf(slug),
    project: 'acme',
    project_id: PROJECT_ID,
    slug,
    content: { title: slug, confidence: 1, evidence: [{ id: 'e1', description: 'x', required: true }] },
    relationships: [],
    supersedes: [],
    drift: { conflicts: {} },
    drift_history: [],
    ...more,
  }
  return { status: 'active', value: state, context }
}

function check(...records: SnapshotOf<any>[]) {
  const known = new Map(records.map((one) => [one.context.id, one]))
  return new IntentCheck('acme', (id) => known.get(id))
}

function codes(...records: SnapshotOf<any>[]): string[] {
  const found = check(...records)
  for (const one of records) found.record(one)
  const result = found.result()
  t.strictSame(compile(intentCheckDocument)(JSON.parse(JSON.stringify(result))), [])
  return result.findings.map(({ level, code, key }) => `${level} ${code} ${key?.slice('acme.intent.'.length)}`)
}

t.test('a sound project has no findings', (t) => {
  const a = record('a', 'superseded', { superseded_by: idOf('b') })
  const b = record('b', 'active', { supersedes: [idOf('a')], relationships: [{ type: 'supports', to: idOf('c') }] })
  t.strictSame(codes(a, b, record('c')), [])
  t.end()
})

t.test('each inconsistency is an error of its own', (t) => {
  t.strictSame(codes(record('No Slug')), ['error malformed_slug No Slug'])
  t.strictSame(codes(record('a'), record('a', 'proposed', { id: idOf('b') })), ['error duplicate_slug a'])
  t.strictSame(codes(record('a', 'superseded', { superseded_by: idOf('gone') })), ['error dangling_supersession a'])
  t.strictSame(codes(record('a', 'superseded', { superseded_by: idOf('b') }), record('b')), [
    'error dangling_supersession a',
  ])
  t.strictSame(codes(record('a'), record('b', 'proposed', { supersedes: [idOf('a')] })), [
    'error dangling_supersession b',
  ])
  const relationships = [{ type: 'depends_on', to: idOf('gone') }]
  t.strictSame(codes(record('a', 'proposed', { relationships })), ['error dangling_relationship a'])
  const by = (slug: string, of: string) => ({ superseded_by: idOf(slug), supersedes: [idOf(of)] })
  t.strictSame(
    codes(
      record('a', 'superseded', by('b', 'c')),
      record('b', 'superseded', by('c', 'a')),
      record('c', 'superseded', by('a', 'b')),
    ),
    ['error supersession_cycle a', 'error supersession_cycle b', 'error supersession_cycle c'],
  )
  t.end()
})

t.test('a long chain is followed once from either end, and records that lead into a cycle are not in it', (t) => {
  const length = 5_000
  const chain = Array.from({ length }, (_, i) => {
    const heir = i + 1 < length ? { superseded_by: idOf(`s${i + 1}`) } : {}
    return record(`s${i}`, heir.superseded_by === undefined ? 'active' : 'superseded', {
      ...heir,
      supersedes: i === 0 ? [] : [idOf(`s${i - 1}`)],
    })
  })
  const known = new Map(chain.map((one) => [one.context.id, one]))
  for (const order of [chain, chain.toReversed()]) {
    let reads = 0
    let readsOfOne = 0
    const found = new IntentCheck('acme', (id) => {
      reads += 1
      return known.get(id)
    })
    for (const one of order) {
      const before = reads
      found.record(one)
      readsOfOne = Math.max(readsOfOne, reads - before)
    }
    t.strictSame(found.result().findings, [])
    t.ok(reads < 6 * length, `${reads} reads`)
    t.ok(readsOfOne < 2_100, `${readsOfOne} reads for one`)
  }
  const into = record('x', 'superseded', { superseded_by: idOf('a') })
  const a = record('a', 'superseded', { superseded_by: idOf('b'), supersedes: [idOf('b'), idOf('x')] })
  const b = record('b', 'superseded', { superseded_by: idOf('a'), supersedes: [idOf('a')] })
  const cycle = ['error supersession_cycle a', 'error supersession_cycle b']
  t.strictSame(
    codes(into, a, b).filter((code) => code.includes('cycle')),
    cycle,
  )
  t.strictSame(
    codes(a, b, into).filter((code) => code.includes('cycle')),
    cycle,
  )
  t.end()
})

t.test('unfinished links are warnings', (t) => {
  const heir = record('b', 'proposed', { supersedes: [idOf('a')] })
  t.strictSame(codes(record('a', 'superseded', { superseded_by: idOf('b') }), heir), [
    'warning replacement_not_accepted a',
  ])
  t.strictSame(codes(record('a', 'hypothesized')), ['warning left_hypothesized a'])
  const content = { title: 'a', confidence: 1, evidence: [{ id: 'e1', description: 'x', required: false }] }
  t.strictSame(codes(record('a', 'accepted', { content })), ['warning no_required_evidence a'])
  t.strictSame(codes(record('a', 'proposed', { content })), [], 'a record that guides nothing need not be shown')
  const drift = { conflicts: { [idOf('b')]: { guiding: true }, [idOf('c')]: { guiding: false } } }
  t.strictSame(codes(record('a', 'active', { drift })), ['warning records_in_conflict a'])
  const uncharted = check()
  uncharted.charter(undefined)
  t.match(uncharted.result(), { warnings: 1, findings: [{ code: 'no_charter' }] })
  const charted = check()
  charted.charter({ mission: 'sell anvils' })
  t.equal(charted.result().warnings, 0)
  t.end()
})

t.test('a replacement that nobody has accepted is reported, whatever became of it', (t) => {
  const said = (state: string, more: object = {}) => {
    const a = record('a', 'superseded', { superseded_by: idOf('b') })
    const found = check(a, record('b', state, { supersedes: [idOf('a')], ...more }))
    found.record(a)
    return found.result().findings.map(({ code, detail }) => `${code} ${detail}`)
  }
  const told = (how: string) => [
    `replacement_not_accepted Nothing guides runs in its place: its replacement acme.intent.b ${how}.`,
  ]
  t.strictSame(said('hypothesized'), told('is only hypothesized'))
  t.strictSame(said('proposed'), told('is only proposed'))
  t.strictSame(said('contradicted'), told('was contradicted before anybody accepted it'))
  t.strictSame(said('superseded'), told('was itself superseded by no other record, before anybody accepted it'))
  t.strictSame(said('superseded', { superseded_by: idOf('c') }), [], 'reported for that record')
  const wasAccepted = { drift_history: [{ kind: 'status', status: 'unobserved' }] }
  for (const state of ['accepted', 'active', 'deprecated', 'contradicted', 'superseded'])
    t.strictSame(said(state, wasAccepted), [], state)
  t.end()
})

t.test('an accepted hypothesis has its record', (t) => {
  const hypothesis = (value: string) =>
    ({ status: 'active', value, context: { id: 'hyp_1', intent_record_id: idOf('a') } }) as SnapshotOf<any>
  const look = (value: string, ...records: SnapshotOf<any>[]) => {
    const found = check(...records)
    found.hypothesis(hypothesis(value))
    return found.result().findings.map(({ code }) => code)
  }
  t.strictSame(look('open'), [])
  t.strictSame(look('accepted'), ['hypothesis_without_record'])
  t.strictSame(look('accepted', record('a', 'accepted')), ['hypothesis_without_record'], 'another record')
  t.strictSame(look('accepted', record('a', 'accepted', { hypothesis_id: 'hyp_1' })), [])
  t.end()
})

t.test('all findings are counted, and a bounded number is listed, errors first', (t) => {
  const found = check()
  for (let n = 0; n < 700; n++) found.record(record(`r${n}`, 'hypothesized'))
  found.record(record('No Slug'))
  const { errors, warnings, findings, more } = found.result()
  t.strictSame([errors, warnings, findings.length, more], [1, 700, 501, true])
  t.equal(findings[0]!.code, 'malformed_slug')
  t.end()
})
