/** Random walks of a formation brief against a model that knows only what briefs promise. */
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
/** The same walks in every run, because the states that they visit are counted; SEED=2 takes others. */
const SEED = Number(process.env.SEED ?? 1)
const STEPS_MAX = 60
const RUNS = [1, 2, 3].map((n) => `runreq_${String(n).repeat(24)}`)

const REVISION = 'r1'

type Move = { readonly type: string; readonly [member: string]: unknown }

const sources = fc.constantFrom(SOURCES, SOURCES, SOURCES, MOVED, GONE)
const revision = fc.constantFrom({}, {}, {}, { revision: 'r2' })
const run = fc.constantFrom(...RUNS).map((run_request_id) => ({ run_request_id }))
/** What an approval of the brief does not cover. */
const beyond = fc.constantFrom<object>(
  { retries: false },
  { retries: false },
  { retries: true },
  { retries: false, again: true },
)
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
      .record({ of: run, approved: fc.constantFrom(false, false, true), beyond })
      .map(({ of, beyond, ...said }) => ({ type: 'run_queued', ...of, ...said, ...beyond })),
  },
  { weight: 4, arbitrary: runMove('run_accepted') },
  { weight: 5, arbitrary: runMove('run_started') },
  { weight: 8, arbitrary: runMove('run_completed') },
  { weight: 3, arbitrary: runMove('run_stopped', { outcome: 'failed', reason: 'no' }) },
  { weight: 1, arbitrary: runMove('run_stopped', { outcome: 'lost', reason: 'silent' }) },
  { weight: 9, arbitrary: runMove('run_observed', { intent_record_ids: [RECORD_ID] }) },
)

/** Moves to a brief that runs can name: some walks begin with them. */
const COMPILE: readonly Move[] = [
  { type: 'submit', by: BY },
  { type: 'approve', by: BY, throttle: 'dry_run', sources: SOURCES },
  { type: 'compile', by: BY, sources: SOURCES },
]
const walk = fc
  .record({ isCompiled: fc.boolean(), moves: fc.array(move, { maxLength: STEPS_MAX, size: 'max' }) })
  .map(({ isCompiled, moves }) => (isCompiled ? [...COMPILE, ...moves] : moves))

/** What an approver has to have read. */
const VERSIONED = new Set(['update', 'edit_prompt'])

/** The brief's state with a run in this state. */
const WHERE = { queued: 'queued', accepted: 'accepted', started: 'executing' } as const
type RunState = keyof typeof WHERE | 'lost'

/** A run that has not ended. */
interface Run {
  readonly state: RunState
  readonly digest: string
  /** An approval of the brief would do, and there is none yet. */
  readonly waits: boolean
}

/** What a brief promises, and nothing else. */
class Oracle {
  /** Every digest that a person has approved, and every artifact that was made. */
  readonly approved = new Set<string>()
  readonly artifacts = new Map<string, Artifact>()
  readonly runs = new Map<string, Run>()
  digest: string | undefined
  followed: string | undefined
  /** The approvals for full throttle that were given to each digest. */
  readonly full: { readonly digest: string; readonly revision?: string | undefined }[] = []

  took(message: Message<any>, before: SnapshotOf<FormationBriefContext>, now: SnapshotOf<FormationBriefContext>): void {
    if (before.value === 'archived') {
      assert.deepEqual([message.type, now.value], ['run_queued', 'archived'], 'what is archived stays so')
      return
    }
    if (message.type === 'archive')
      assert.equal(this.runs.size, 0, 'a brief with a run that has not ended is not archived')
    const { compiled, sections, version, run } = now.context
    if (message.type === 'update') assert.ok(['draft', 'reviewable'].includes(before.value), 'only a draft is edited')
    else assert.equal(sections, before.context.sections, `${message.type} leaves the sections as they are`)
    assert.equal(version, before.context.version + (VERSIONED.has(message.type) ? 1 : 0))
    if (message.type === 'approve') this.approved.add(now.context.approvals.at(-1)!.digest)
    if (message.type === 'compile') assert.ok(this.approved.has(compiled!.digest), 'the frozen digest was approved')
    if (message.type !== 'compile' && message.type !== 'edit_prompt') assert.equal(compiled?.digest, this.digest)
    if (message.type === 'edit_prompt')
      assert.ok(!this.artifacts.has(compiled!.digest), 'an edit makes another artifact')
    this.digest = compiled?.digest
    if (message.type.startsWith('run_')) this.heard(message, now)
    assert.equal(run?.run_request_id, this.followed, 'it follows the latest run under way')
    assert.equal(
      compiled === undefined,
      ['draft', 'reviewable', 'approved'].includes(now.value) || this.digest === undefined,
    )
  }

  private heard(message: Message<any>, { value, context }: SnapshotOf<FormationBriefContext>): void {
    const { type, run_request_id: id, digest } = message
    const was = this.runs.get(id)
    if (type === 'run_queued') {
      this.runs.set(id, { state: 'queued', digest, waits: !message.approved && !message.retries && !message.again })
    } else if (type === 'run_completed' || message.outcome === 'failed') this.runs.delete(id)
    else if (type !== 'run_observed') {
      const state = type === 'run_accepted' ? 'accepted' : type === 'run_started' ? 'started' : 'lost'
      assert.ok(was, 'a run that has ended is not heard')
      this.runs.set(id, { state, digest: was.digest, waits: false })
    }
    const latest = RUNS.findLast((one) => (this.runs.get(one)?.state ?? 'lost') !== 'lost')
    if (latest !== undefined) assert.equal(value, WHERE[this.runs.get(latest)!.state as keyof typeof WHERE])
    else if (type === 'run_stopped' && this.followed === id) assert.equal(value, 'compiled')
    else if (type === 'run_completed' && this.followed === id) {
      assert.equal(value, context.run!.observations > 0 ? 'analyzed' : 'completed')
    }
    this.followed = latest ?? this.followed
  }

  /** The runs that this message must approve. */
  private owed(said: Message<any>, { approvals }: FormationBriefContext): string[] {
    if (said.type === 'approve' && said.throttle === 'full') {
      const approval = approvals.at(-1)!
      this.full.push(approval)
      return RUNS.filter((id) => this.isCovered(id, approval))
    }
    if (said.type !== 'run_queued') return []
    return this.full.some((approval) => this.isCovered(said.run_request_id, approval)) ? [said.run_request_id] : []
  }

  private isCovered(id: string, approval: { digest: string; revision?: string | undefined }): boolean {
    const run = this.runs.get(id)
    return run?.waits === true && run.digest === approval.digest && (approval.revision ?? REVISION) === REVISION
  }

  sent(sends: readonly SendParams[], context: FormationBriefContext, said: Message<any>): void {
    const kept = sends.filter(({ to }) => to.kind === 'compiled_brief')
    for (const { message } of kept) {
      const { digest, snapshot, prompt_pack } = message as unknown as Artifact
      assert.equal(digest, context.compiled!.digest)
      this.artifacts.set(digest, { digest, snapshot, prompt_pack })
    }
    if (context.archived_at !== undefined && said.type === 'run_queued') {
      assert.equal(sends[0]?.message.type, 'cancel', 'an archived brief has no run under way')
      return
    }
    const released = sends.filter(({ to }) => to.kind === 'run_request').map(({ to }) => to.id)
    assert.deepEqual(
      released,
      this.owed(said, context),
      'an approval goes to each run that waits for it, and to no other',
    )
    for (const id of released) this.runs.set(id, { ...this.runs.get(id)!, waits: false })
  }
}

t.test('no walk breaks a promise of briefs', (t) => {
  const visits = new Map<string, number>()
  let approvals = 0
  let together = 0
  fc.assert(
    fc.property(walk, (moves) => {
      const oracle = new Oracle()
      let snapshot = after(module, [at(0, { ...CREATE, sections: SECTIONS })])
      moves.forEach((move, index) => {
        const message = at(index + 1, addressed(move, snapshot.context, oracle))
        const stepped = step(module, snapshot, message)
        if (stepped.repeat !== undefined || stepped.refused !== undefined) return
        const now = stepped.snapshot
        visits.set(now.value, (visits.get(now.value) ?? 0) + 1)
        oracle.took(message, snapshot, now)
        const released = stepped.sends.filter(({ message }) => message.type === 'approve').length
        approvals += released
        together += released > 1 ? 1 : 0
        oracle.sent(stepped.sends, now.context, message)
        const { state } = (stepped.facts.at(-1) as { payload?: { state?: string } } | undefined)?.payload ?? {}
        if (state !== undefined) assert.equal(state, now.value, 'the last fact gives its state')
        if (snapshot.value !== now.value) assert.ok(stepped.facts.length > 0, 'every move is stated')
        snapshot = index % 7 === 0 ? reopened(module, now) : now
      })
    }),
    { numRuns: WALKS, seed: SEED },
  )
  const states = Object.keys(module.machine.states).filter((state) => state !== 'absent')
  for (const state of states) t.ok((visits.get(state) ?? 0) >= 10, `the walks visit ${state}`)
  t.ok(approvals > 0, 'and approve waiting runs')
  t.ok(together > 0, 'several with one approval')
  t.comment(JSON.stringify(Object.fromEntries(visits)))
  t.end()
})

/** The move as it is sent to this brief: with its digest, and its artifact as an editor would have read it. */
function addressed(move: Move, { compiled }: FormationBriefContext, { artifacts }: Oracle): Move {
  if (move.type === 'edit_prompt') {
    return { ...move, by: BY, phase: 'planning', artifact: artifacts.get(compiled?.digest ?? '') }
  }
  if (move.type !== 'run_queued') return move
  const requested_at = `2025-12-31T23:59:0${RUNS.indexOf(move.run_request_id as string)}.000000Z`
  return {
    ...move,
    requested_at,
    digest: compiled?.digest,
    throttle: 'full',
    entry_event: 'execution_requested',
    revision: REVISION,
  }
}
