/** Random walks of a formation brief against a model that knows only what is promised of it. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import type { Artifact } from '../../machines/formation-brief/compiler.ts'
import type { FormationBriefContext } from '../../machines/formation-brief/context.ts'
import { formationBriefModule as module } from '../../machines/formation-brief.ts'
import type { Message, SendParams, SnapshotOf } from '../../machines/machine.ts'
import { CREATE, GONE, MOVED, OTHER, RECORD_ID, SECTIONS, SOURCES } from './formation-brief-samples.ts'
import { BY } from './run-request-samples.ts'
import { after, at, reopened, step } from './step.ts'

const WALKS = Number(process.env.WALKS ?? 400)
/** The same walks in every run, because what they must come through is counted; SEED=2 takes others. */
const SEED = Number(process.env.SEED ?? 1)
const STEPS_MAX = 60
const RUNS = [1, 2, 3].map((n) => `runreq_${String(n).repeat(24)}`)

type Move = { readonly type: string; readonly [member: string]: unknown }

const sources = fc.constantFrom(SOURCES, SOURCES, SOURCES, MOVED, GONE)
const revision = fc.constantFrom({}, {}, {}, { revision: 'r2' })
const run = fc.constantFrom(...RUNS).map((run_request_id) => ({ run_request_id }))
const runMove = (type: string, more: object = {}) => run.map((of) => ({ type, ...of, ...more }))

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom('a', 'b').map((title) => ({ type: 'update', by: BY, sections: { title } })) },
  { weight: 3, arbitrary: fc.constant({ type: 'submit', by: BY }) },
  {
    weight: 6,
    arbitrary: fc
      .record({
        throttle: fc.constantFrom('dry_run', 'full'),
        by: fc.constantFrom(BY, OTHER),
        sources,
        pinned: revision,
      })
      .map(({ pinned, ...said }) => ({ type: 'approve', ...said, ...pinned })),
  },
  {
    weight: 6,
    arbitrary: fc.record({ sources, pinned: revision }).map((said) => ({
      type: 'compile',
      by: BY,
      sources: said.sources,
      ...said.pinned,
    })),
  },
  { weight: 1, arbitrary: fc.constantFrom('x', 'y').map((prompt_text) => ({ type: 'edit_prompt', prompt_text })) },
  { weight: 1, arbitrary: fc.constantFrom({ type: 'archive', by: BY }, { type: 'none' }, { type: 'none' }) },
  {
    weight: 8,
    arbitrary: fc
      .record({ of: run, approved: fc.boolean(), retries: fc.boolean() })
      .map(({ of, ...said }) => ({ type: 'run_queued', ...of, ...said })),
  },
  { weight: 4, arbitrary: runMove('run_accepted') },
  { weight: 5, arbitrary: runMove('run_started') },
  { weight: 8, arbitrary: runMove('run_completed') },
  { weight: 3, arbitrary: runMove('run_stopped', { outcome: 'failed', reason: 'no' }) },
  { weight: 9, arbitrary: runMove('run_observed', { intent_record_ids: [RECORD_ID] }) },
)

/** What a person who approves has to have read. */
const VERSIONED = new Set(['update', 'edit_prompt'])

/** What is promised of a brief, and nothing else. */
class Oracle {
  /** Every digest that a person has approved, and every artifact that was made. */
  readonly approved = new Set<string>()
  readonly artifacts = new Map<string, Artifact>()
  digest: string | undefined
  followed: string | undefined

  took(message: Message<any>, before: SnapshotOf<FormationBriefContext>, now: SnapshotOf<FormationBriefContext>): void {
    assert.notEqual(before.value, 'archived', 'what is archived stays so')
    const { compiled, sections, version, run } = now.context
    if (message.type === 'update') assert.ok(['draft', 'reviewable'].includes(before.value), 'only a draft is written')
    else assert.equal(sections, before.context.sections, `${message.type} leaves the sections`)
    assert.equal(version, before.context.version + (VERSIONED.has(message.type) ? 1 : 0))
    if (message.type === 'approve') this.approved.add(now.context.approvals.at(-1)!.digest)
    if (message.type === 'compile') assert.ok(this.approved.has(compiled!.digest), 'what is frozen was approved')
    if (message.type !== 'compile' && message.type !== 'edit_prompt') assert.equal(compiled?.digest, this.digest)
    if (message.type === 'edit_prompt') assert.ok(!this.artifacts.has(compiled!.digest), 'an edit is another artifact')
    this.digest = compiled?.digest
    if (message.type === 'run_queued') this.followed = message.run_request_id
    assert.equal(run?.run_request_id, this.followed, 'it follows the latest run')
    if (message.type.startsWith('run_')) assert.equal(message.run_request_id, this.followed, 'and hears of no other')
    assert.equal(
      compiled === undefined,
      ['draft', 'reviewable', 'approved'].includes(now.value) || this.digest === undefined,
    )
  }

  sent({ to, message }: SendParams, context: FormationBriefContext, said: Message<any>): void {
    if (to.kind === 'compiled_brief') {
      const { digest, snapshot, prompt_pack } = message as unknown as Artifact
      assert.equal(digest, context.compiled!.digest)
      this.artifacts.set(digest, { digest, snapshot, prompt_pack })
      return
    }
    assert.equal(to.id, context.run!.run_request_id, 'only the latest run is approved')
    assert.equal(said.throttle, 'full')
    assert.equal(context.approvals.at(-1)!.digest, context.run!.digest, 'for exactly what it runs')
  }
}

t.test('no walk breaks a promise of the brief', (t) => {
  const visits = new Map<string, number>()
  let approvals = 0
  fc.assert(
    fc.property(fc.array(move, { maxLength: STEPS_MAX, size: 'max' }), (moves) => {
      const oracle = new Oracle()
      let snapshot = after(module, [at(0, { ...CREATE, sections: SECTIONS })])
      moves.forEach((move, index) => {
        const message = at(index + 1, addressed(move, snapshot.context, oracle))
        const stepped = step(module, snapshot, message)
        if (stepped.repeat !== undefined || stepped.refused !== undefined) return
        const now = stepped.snapshot
        visits.set(now.value, (visits.get(now.value) ?? 0) + 1)
        oracle.took(message, snapshot, now)
        for (const sent of stepped.sends) {
          if (sent.to.kind === 'run_request') approvals += 1
          oracle.sent(sent, now.context, message)
        }
        const { state } = (stepped.facts.at(-1) as { payload?: { state?: string } } | undefined)?.payload ?? {}
        if (state !== undefined) assert.equal(state, now.value, 'the last fact says where it stands')
        if (snapshot.value !== now.value) assert.ok(stepped.facts.length > 0, 'every move is told of')
        snapshot = index % 7 === 0 ? reopened(module, now) : now
      })
    }),
    { numRuns: WALKS, seed: SEED },
  )
  const states = Object.keys(module.machine.states).filter((state) => state !== 'absent')
  for (const state of states) t.ok((visits.get(state) ?? 0) >= 10, `the walks come through ${state}`)
  t.ok(approvals > 0, 'and approve waiting runs')
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})

/** The move as it is said of this brief: with its digest, and its artifact as an editor would have read it. */
function addressed(move: Move, { compiled }: FormationBriefContext, { artifacts }: Oracle): Move {
  if (move.type === 'edit_prompt') {
    return { ...move, by: BY, phase: 'planning', artifact: artifacts.get(compiled?.digest ?? '') }
  }
  if (move.type !== 'run_queued') return move
  const requested_at = `2026-01-01T00:00:0${RUNS.indexOf(move.run_request_id as string)}.000000Z`
  return {
    ...move,
    requested_at,
    digest: compiled?.digest,
    throttle: 'full',
    entry_event: 'execution_requested',
    revision: 'r1',
  }
}
