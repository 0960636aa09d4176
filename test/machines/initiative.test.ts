import t from 'tap'
import {
  initiativeDocument,
  OWNER_WORDS_MAX,
  STEERING_DECISIONS,
  TRIGGERS_MAX,
} from '../../machines/documents/initiative.ts'
import type { Member } from '../../machines/documents/member.ts'
import type { InitiativeContext, View } from '../../machines/initiative/context.ts'
import { standingOf } from '../../machines/initiative/members.ts'
import { initiativeModule as module } from '../../machines/initiative.ts'
import type { Message, SendParams } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import {
  answer,
  CAMPAIGN,
  CREATE,
  deciding,
  FIRST_ITEM,
  IDLE_VIEW,
  ITEM,
  judge,
  MESSAGES as M,
  MOVED_VIEW,
  OWNER,
  PROJECT,
  run,
  STRANGER,
  settled,
  states,
  VIEW,
} from './initiative-samples.ts'
import { absent, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('initiative')

const factsOf = (stepped: { facts: readonly any[] }) =>
  stepped.facts.map((fact) => ({ type: fact.type, payload: fact.payload ?? fact.recorded.payload, ...fact }))
const payloadOf = (stepped: { facts: readonly any[] }, type: string): any =>
  factsOf(stepped).find((fact) => fact.type === type)?.payload
const settlementIn = ({ sends }: { sends: readonly SendParams[] }): any =>
  sends.find(({ message }) => message.type === 'settle')?.message

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...states() }, M), 'initiative')
  t.end()
})

t.test('every state’s document satisfies its schema, and every state reopens unchanged', (t) => {
  const check = compile(initiativeDocument)
  for (const [label, snapshot] of Object.entries(states())) {
    t.strictSame(check(JSON.parse(JSON.stringify(module.document(snapshot)))), [], label)
    t.strictSame(reopened(module, snapshot).context, JSON.parse(JSON.stringify(snapshot.context)), label)
  }
  t.end()
})

t.test('each outcome settles the assessment’s item as SPEC 3.4 says, and states what rule 7 says', (t) => {
  const ended = (decision: object, view?: View) => step(module, deciding(decision), judge(6, view))
  const skipped = step(module, run(M.create, M['advance (t1)']), M['assess (t1, nothing to do)'])
  const failed = step(module, run(M.create, M['advance (t1)'], M['assess (t1)']), M['item_reported (failed)'])
  const held: View = { ...VIEW, members: [{ ...VIEW.members[0]!, state: 'paused' }, ...VIEW.members.slice(1)] }
  const paused = step(module, deciding({ decision: 'hold', member: CAMPAIGN }, undefined, held), judge(6, held))
  const outcomes = {
    applied: [ended({ decision: 'done' }), 'landed', 'steering applied: done: it is time'],
    waited: [ended({ decision: 'wait' }), 'landed', 'steering waited: it is time'],
    no_op: [paused, 'landed', 'steering decision already in force: campaign:pay is paused'],
    skipped: [
      skipped,
      'landed',
      `steering skipped: no member can advance (campaign:pay: it is completed; work_item:${ITEM.ref}: it is landed; project:shop: it is archived)`,
    ],
    rejected: [ended({ decision: 'dispatch' }), 'cancelled', 'steering rejected: dispatch names no member'],
    stale: [
      ended({ decision: 'wait' }, MOVED_VIEW),
      'landed',
      'steering stale: the state it was decided on has changed since: it will be assessed again',
    ],
    failed: [failed, 'failed', 'steering failed: no model (execution)'],
  } as const
  for (const [outcome, [stepped, state, reason]] of Object.entries(outcomes)) {
    t.match(settlementIn(stepped), { state, reason }, outcome)
    const payload = payloadOf(stepped, 'initiative_steered')
    t.equal(payload.outcome, outcome)
    t.equal(payload.success, outcome !== 'failed')
    t.equal(payload.prompt === '', outcome === 'skipped')
    t.equal('error' in payload, ['rejected', 'stale', 'failed'].includes(outcome), `${outcome}: error`)
    t.equal('reason' in payload, ['waited', 'no_op', 'skipped'].includes(outcome), `${outcome}: reason`)
    t.equal('action' in payload, outcome === 'applied', `${outcome}: action`)
    t.equal(payloadOf(stepped, 'initiative_action_requested') !== undefined, outcome === 'applied')
    const others = stepped.sends.filter(({ message }) => message.type !== 'settle' && message.type !== 'create')
    t.strictSame(others, [], `${outcome} sends nothing else`)
  }
  t.end()
})

t.test('each of the nine decisions does what it says, and nothing else', (t) => {
  const decisions: Record<string, object> = {
    advance: { member: CAMPAIGN },
    dispatch: { member: PROJECT, objective: 'Print invoices' },
    hold: { member: CAMPAIGN },
    relay: { text: 'The limit is 10', refs: ['doc/limits.md'] },
    ask: { question: 'Which bank?', options: ['a', 'b'], member: CAMPAIGN },
    escalate: { member: CAMPAIGN },
    stage: { member: PROJECT, objective: 'Print invoices' },
    done: {},
    wait: {},
  }
  t.strictSame(Object.keys(decisions), [...STEERING_DECISIONS])
  const lines = Object.entries(decisions).map(([decision, more]) => {
    const { sends, facts, snapshot } = step(module, deciding({ decision, ...more }), judge(6))
    const sent = sends.map(({ to, message }) => `${to.kind}.${message.type}`)
    const { questions, close_proposals, findings, waiting, actions } = snapshot.context
    const kept = { questions: questions.length, proposals: close_proposals.length, findings: findings.length }
    t.equal(actions.length, decision === 'wait' ? 0 : 1)
    const next = waiting[0]?.follow_up_of?.step ?? 'nothing'
    return `${decision}: ${sent.join(', ')}; ${facts.map(({ type }) => type).join(', ')}; ${JSON.stringify(kept)}; then ${next}`
  })
  t.matchSnapshot(lines.join('\n'), 'decisions')
  for (const [decision, said] of [
    ['ask', { question: 'Which bank?', options: ['a', 'b'] }],
    ['escalate', { options: ['stop', 'go on'] }],
  ] as const) {
    const stepped = step(module, deciding({ decision, ...said }), judge(6))
    const [action] = stepped.snapshot.context.actions
    t.match(action, said, 'the question to an owner is part of the action')
    t.match(payloadOf(stepped, 'initiative_action_requested'), { decision, ...said })
  }
  const released = step(module, deciding({ decision: 'advance', member: ITEM }), judge(6))
  t.match(released.sends[0], { to: { kind: 'work_item', id: ITEM.ref }, message: { type: 'release' } })
  t.end()
})

t.test('a decision that breaks a guard is rejected with the reason', (t) => {
  const refused: readonly (readonly [object, RegExp, Message<any>?])[] = [
    [{ decision: 'advance' }, /names no member/],
    [{ decision: 'advance', member: STRANGER }, /is not a member of the initiative/],
    [{ decision: 'advance', member: PROJECT }, /is for a campaign or a work_item/],
    [{ decision: 'dispatch', member: CAMPAIGN, objective: 'x' }, /is for a project/],
    [{ decision: 'dispatch', member: PROJECT }, /names no objective/],
    [{ decision: 'relay', text: 'x', to: [STRANGER] }, /is not a member/],
    [{ decision: 'relay' }, /has no text/],
    [{ decision: 'ask' }, /has no question/],
    [{ decision: 'advance', member: CAMPAIGN }, /only about project:shop/, M['advance (t2, pinned)']],
  ]
  for (const [decision, words, trigger] of refused) {
    const asked = trigger ?? M['advance (t1)']
    const assess = at(3, { type: 'assess', trigger_id: (asked as any).trigger_id, view: VIEW })
    const before = run(M.create, asked, assess)
    const { item_id } = before.context.assessment!
    const snapshot = step(module, before, answer(4, decision, { item_id })).snapshot
    const { error, outcome } = payloadOf(step(module, snapshot, judge(6, VIEW, item_id)), 'initiative_steered')
    t.equal(outcome, 'rejected', JSON.stringify(decision))
    t.match(error, words)
  }
  const spent = { ...CREATE, budget: { max_assessments: 5, max_actions: 0 } }
  const poor = run(at(0, spent), M['advance (t1)'], M['assess (t1)'], answer(4, { decision: 'done' }))
  t.match(payloadOf(step(module, poor, judge(6)), 'initiative_steered').error, /budget of 0 actions is spent/)
  const held = run(M.create, M['record_owner_action (hold)'], M['advance (t1)'], M['assess (t1)'])
  const bold = step(module, held, answer(4, { decision: 'advance', member: CAMPAIGN })).snapshot
  t.match(payloadOf(step(module, bold, judge(6)), 'initiative_steered').error, /its owner holds it/)
  t.end()
})

t.test('a question or relay repeated for the same members is a no-op, and for others it is applied', (t) => {
  const again = (first: object, second: object, by: readonly Message<any>[] = []) => {
    const asked = step(module, deciding(first), judge(6)).snapshot
    const before = by.reduce((one, message) => step(module, one, message).snapshot, asked)
    const { trigger_id } = before.context.waiting[0] ?? {}
    const assessed = step(module, before, at(7, { type: 'assess', trigger_id, view: VIEW })).snapshot
    const { item_id } = assessed.context.assessment
    return step(module, step(module, assessed, answer(8, second, { item_id })).snapshot, judge(9, VIEW, item_id))
  }
  const outcomeOf = (stepped: ReturnType<typeof again>) => payloadOf(stepped, 'initiative_steered').outcome
  const ask = (member?: Member) => ({ decision: 'ask', question: 'Which currency?', ...(member && { member }) })
  t.equal(outcomeOf(again(ask(CAMPAIGN), ask(CAMPAIGN))), 'no_op')
  const other = again(ask(CAMPAIGN), ask(ITEM))
  t.equal(outcomeOf(other), 'applied')
  t.match(other.snapshot.context.questions, [{ member: CAMPAIGN }, { member: ITEM }])
  t.equal(outcomeOf(again(ask(CAMPAIGN), ask())), 'applied', 'a question about no member is a different one')
  const relay = (...to: Member[]) => ({ decision: 'relay', text: 'The limit is 10', to })
  t.equal(outcomeOf(again(relay(PROJECT), relay(PROJECT))), 'no_op')
  const told = again(relay(PROJECT, ITEM), relay())
  t.equal(outcomeOf(told), 'applied')
  t.match(told.snapshot.context.findings.at(-1), { to: [CAMPAIGN] }, 'only to members not told yet')
  t.match(told.sends.filter(({ message }) => message.type === 'share_finding').length, 1)
  t.equal(outcomeOf(again(relay(), relay(ITEM))), 'no_op', 'all of them have been told')
  t.end()
})

t.test('an owner’s hold lasts until it is lifted, however much is recorded meanwhile', (t) => {
  const record = (n: number, word: object) =>
    at(n, { type: 'record_owner_action', by: OWNER, action_id: `act_${n}`, reason: 'x', ...word })
  const milestones = (from: number) =>
    Array.from({ length: OWNER_WORDS_MAX + 2 }, (_, i) => record(from + i, { action: 'milestone' }))
  const held = run(M.create, record(1, { action: 'hold' }), ...milestones(2))
  const { owner_actions } = held.context
  t.match([owner_actions.length, owner_actions[0]?.action], [OWNER_WORDS_MAX, 'hold'])
  const skipped = step(module, step(module, held, M['advance (t1)']).snapshot, M['assess (t1)'])
  t.match(payloadOf(skipped, 'initiative_steered').reason, /the owner holds the initiative/)
  const lifted = [record(900, { action: 'hold', lifted: true }), ...milestones(901)]
  const free = lifted.reduce((before, message) => step(module, before, message).snapshot, held)
  t.equal(free.context.owner_actions.length, OWNER_WORDS_MAX)
  t.equal(free.context.owner_actions[0]?.lifted, true, 'the lifted hold is forgotten before the lift')
  t.end()
})

t.test(
  'an exclude override keeps a member out, and an include overrules earlier holds and holds of all, but no question',
  (t) => {
    const { snapshot: asked } = step(module, deciding({ decision: 'ask', question: 'x', member: CAMPAIGN }), judge(6))
    const whyNot = (before: { context: InitiativeContext }, ...words: readonly object[]): string | undefined => {
      const said = words.map((word, n) =>
        at(7, { type: 'record_owner_action', by: OWNER, action_id: `act_${n}`, reason: 'x', ...word }),
      )
      const { context } = said.reduce((last: any, message) => step(module, last, message).snapshot, before)
      const standing = standingOf(context, VIEW.members[0]!, VIEW)
      return standing.is === 'able' ? undefined : standing.why
    }
    const override = (word: string) => ({ action: 'member_override', member: CAMPAIGN, override: word })
    const hold = { action: 'hold', member: CAMPAIGN }
    const [include, exclude, holdAll] = [override('include'), override('exclude'), { action: 'hold' }]
    const free = run(M.create)
    t.equal(whyNot(free, exclude, { ...hold, lifted: true }), 'its owner excludes it')
    t.equal(whyNot(free, exclude, include), undefined)
    t.equal(whyNot(free, hold, include), undefined)
    t.equal(whyNot(free, include, hold), 'its owner holds it')
    t.equal(whyNot(free, holdAll, include), undefined)
    t.equal(whyNot(free, include, holdAll), undefined)
    t.match(whyNot(asked, include), /waits for an owner’s decision/)
    t.end()
  },
)

t.test('an unnamed request joins a waiting one for the same member, and a named one stands alone', (t) => {
  const ask = (trigger_id: string, more: object = {}) =>
    at(5, { type: 'advance', by: OWNER, trigger_id, unnamed: true, ...more })
  const named = (trigger_id: string) => at(5, { type: 'advance', by: OWNER, trigger_id })
  const pinned = { member: PROJECT }
  const assessing = run(M.create, M['advance (t1)'], M['assess (t1)'])
  const said = (snapshot: ReturnType<typeof run>, message: any) => step(module, snapshot, message).repeat
  const waiting = step(module, assessing, ask('a')).snapshot
  t.equal(waiting.context.waiting.length, 1, 'the one being assessed was asked before')
  t.equal(said(waiting, ask('b')), 'already_requested')
  t.equal(said(waiting, ask('b', pinned)), undefined, 'about a member')
  t.equal(said(waiting, named('c')), undefined)
  const both = step(module, waiting, ask('b', pinned)).snapshot
  t.equal(said(both, ask('d', pinned)), 'already_requested')
  t.equal(said(both, ask('d', { member: CAMPAIGN })), undefined)
  t.equal(said(step(module, assessing, named('c')).snapshot, ask('d')), undefined, 'none joins a named one')
  t.equal(said(waiting, at(6, { type: 'complete', by: OWNER, reason: 'x' })), undefined)
  const over = step(module, waiting, M.complete).snapshot
  t.equal(step(module, over, ask('e')).refused, 'illegal_move')
  t.end()
})

t.test('an answer that is not a steering decision fails, and is not asked for again', (t) => {
  for (const result of [
    { decision: undefined },
    { decision: 'jump' },
    { decision: 'wait', reason: ' ' },
    { decision: 7 },
  ]) {
    const { snapshot, facts } = step(module, deciding(result), judge(6))
    const payload = payloadOf({ facts }, 'initiative_steered')
    t.match(payload, { outcome: 'failed', success: false })
    t.equal(payload.decision, undefined)
    t.strictSame(snapshot.context.waiting, [])
  }
  t.end()
})

t.test('learned 8: an assessment that never began is not charged, and one that began is, however it ended', (t) => {
  const assessing = run(M.create, M['advance (t1)'], M['assess (t1)'])
  const made = (message: Message<any>) => step(module, assessing, message).snapshot.context.assessments_made
  t.equal(made(M['item_reported (never begun)']), 0)
  t.equal(made(M['item_settled (cancelled)']), 0)
  t.equal(made(M['item_reported (failed)']), 1)
  t.equal(run(M.create, M['advance (t1)'], M['assess (t1, nothing to do)']).context.assessments_made, 0)
  const poor = { ...CREATE, budget: { max_assessments: 1, max_actions: 1 } }
  const spent = run(
    at(0, poor),
    M['advance (t1)'],
    M['assess (t1)'],
    M['item_reported (failed)'],
    M['advance (t2, pinned)'],
  )
  const stepped = step(module, spent, at(9, { type: 'assess', trigger_id: 't2', view: VIEW }))
  t.match(payloadOf(stepped, 'initiative_steered').reason, /budget of 1 assessments is spent/)
  t.end()
})

t.test(
  'a follow-up comes only after five of the decisions, while a member stays eligible, and never after a follow-up',
  (t) => {
    const followed: string[] = []
    for (const decision of STEERING_DECISIONS) {
      const more = {
        member: ['dispatch', 'stage'].includes(decision) ? PROJECT : CAMPAIGN,
        objective: 'x',
        question: 'x',
        text: 'x',
      }
      const { snapshot, facts } = step(module, deciding({ decision, ...more }), judge(6))
      const [next] = snapshot.context.waiting
      if (next === undefined) continue
      followed.push(decision)
      const { steer_id } = snapshot.context.assessments[0]
      t.strictSame(payloadOf({ facts }, 'initiative_advance_requested').follow_up_of, { steer_id, step: decision })
      const assessed = step(
        module,
        snapshot,
        at(7, { type: 'assess', trigger_id: next.trigger_id, view: VIEW }),
      ).snapshot
      const { item_id } = assessed.context.assessment
      const decided = step(module, assessed, answer(8, { decision: 'relay', text: 'y' }, { item_id })).snapshot
      const last = step(module, decided, judge(9, VIEW, item_id))
      t.equal(payloadOf(last, 'initiative_steered').outcome, 'applied')
      t.strictSame(last.snapshot.context.waiting, [], `${decision}: no follow-up of a follow-up`)
    }
    t.strictSame(followed, ['hold', 'relay', 'ask', 'escalate', 'stage'])
    const alone = ({ kind }: Member): View => ({
      members: VIEW.members.map((sight, n) => (sight.member.kind === kind ? sight : IDLE_VIEW.members[n]!)),
      items: [],
    })
    for (const decision of followed) {
      const member = decision === 'stage' ? PROJECT : CAMPAIGN
      const view = alone(member)
      const said = { decision, member, objective: 'x', question: 'x', text: 'x' }
      const last = step(module, deciding(said, undefined, view), judge(6, view))
      t.equal(payloadOf(last, 'initiative_steered').outcome, 'applied')
      const next = last.snapshot.context.waiting.map((one: any) => one.follow_up_of?.step)
      t.strictSame(
        next,
        decision === 'relay' ? ['relay'] : [],
        `${decision}: the member that it names stays eligible only after a relay`,
      )
    }
    t.end()
  },
)

t.test(
  'a follow-up of a pinned assessment is pinned to the same member, and comes only while that can advance',
  (t) => {
    const pinned = (decision: object) => {
      const before = run(M.create, M['advance (t2, pinned)'], at(3, { type: 'assess', trigger_id: 't2', view: VIEW }))
      const { item_id } = before.context.assessment!
      const decided = step(module, before, answer(4, decision, { item_id })).snapshot
      return step(module, decided, judge(6, VIEW, item_id))
    }
    for (const decision of ['relay', 'ask', 'escalate'] as const) {
      const { snapshot, facts } = pinned({ decision, text: 'x', question: 'x' })
      t.match(snapshot.context.waiting, [{ member: PROJECT, follow_up_of: { step: decision } }], decision)
      t.match(payloadOf({ facts }, 'initiative_advance_requested'), { member: PROJECT }, decision)
    }
    for (const decision of ['stage', 'ask', 'escalate'] as const) {
      const { snapshot, facts } = pinned({ decision, member: PROJECT, objective: 'x', question: 'x' })
      t.equal(payloadOf({ facts }, 'initiative_steered').outcome, 'applied')
      t.strictSame(snapshot.context.waiting, [], `${decision}: the other members do not matter`)
    }
    t.end()
  },
)

t.test('a stale follow-up’s new request is still a follow-up, and comes before waiting requests', (t) => {
  const relayed = step(module, deciding({ decision: 'relay', text: 'x' }), judge(6)).snapshot
  const [next] = relayed.context.waiting
  const assessed = step(module, relayed, at(7, { type: 'assess', trigger_id: next.trigger_id, view: VIEW })).snapshot
  const { item_id } = assessed.context.assessment
  const asked = step(module, assessed, M['advance (t2, pinned)']).snapshot
  const decided = step(module, asked, answer(8, { decision: 'wait' }, { item_id })).snapshot
  const { waiting } = step(module, decided, judge(9, MOVED_VIEW, item_id)).snapshot.context
  t.match(waiting, [{ follow_up_of: next.follow_up_of }, { trigger_id: 't2' }])
  t.end()
})

t.test(
  'requests that wait when an initiative ends, or come too late, end as skipped under their own event ids',
  (t) => {
    const emitted = M['advance (t4, emitted)']
    const assessing = run(M.create, M['advance (t1)'], M['assess (t1)'], M['advance (t2, pinned)'], emitted)
    const cancelled = step(module, assessing, M.cancel)
    const steered = (cancelled.facts as any[]).filter(({ type }) => type === 'initiative_steered')
    const detail = 'the initiative is cancelled'
    t.match(
      steered.map(({ recorded }) => recorded),
      assessing.context.waiting.map(({ event_id, member }) => ({
        causation_id: event_id,
        project: member === undefined ? 'system' : 'shop',
        payload: { outcome: 'skipped', success: true, reason: detail, prompt: '' },
      })),
    )
    t.equal(new Set(steered.map(({ recorded }) => recorded.trace_id)).size, 2, 'each on its own trace')
    const settled = cancelled.sends.filter(({ message }) => message.type === 'settle')
    t.match(settled, [
      { message: { state: 'landed', reason: `steering skipped: ${detail}` } },
      { message: { state: 'landed' } },
    ])
    const { context } = cancelled.snapshot
    t.equal(context.assessment?.item_id, FIRST_ITEM, 'the assessment under way ends on its own')
    t.equal(context.assessments_made, 0)
    t.equal(step(module, cancelled.snapshot, emitted).repeat, 'already_requested')
    for (const end of ['complete', 'cancel'] as const) {
      const late = step(module, run(M.create, M[end]), emitted)
      t.match(late.facts, [{ recorded: { causation_id: 'evt_4', payload: { outcome: 'skipped' } } }], end)
      t.strictSame(late.snapshot.context.waiting, [])
      t.equal(step(module, late.snapshot, emitted).repeat, 'already_requested')
      t.equal(step(module, late.snapshot, M['advance (t1)']).refused, 'illegal_move')
    }
    t.end()
  },
)

t.test(
  'an emitted request that reuses a trigger or finds too many waiting ends as skipped and changes nothing else',
  (t) => {
    const emitted = (n: number, trigger_id: string, more: object = {}) =>
      at(2, { type: 'advance', trigger_id, event_id: `evt_${n}`, fingerprint: 'none', by: OWNER, ...more }) as any
    const first = emitted(1, 'nightly')
    const other = emitted(2, 'nightly', { member: PROJECT, fingerprint: 'shop' })
    const skipped = (one: any, causation_id: string, reason: string) => {
      t.match(one.facts, [
        { type: 'initiative_steered', recorded: { causation_id, payload: { outcome: 'skipped', reason } } },
      ])
      t.equal(one.facts.length, 1)
      t.match(one.sends, [
        { to: { kind: 'work_item' }, message: { type: 'create', causation_id } },
        { message: { type: 'settle', state: 'landed', reason: `steering skipped: ${reason}` } },
      ])
    }
    for (const before of [
      run(M.create, first),
      run(M.create, first, at(3, { type: 'assess', trigger_id: 'nightly', view: VIEW }) as any),
    ]) {
      const { context } = before
      const refused = step(module, before, other)
      skipped(refused, 'evt_2', 'its trigger was already used for another member')
      const after = refused.snapshot
      t.equal(after.value, before.value)
      t.strictSame(
        [after.context.waiting, after.context.assessment, after.context.assessments_made, after.context.internal.over],
        [context.waiting, context.assessment, context.assessments_made, context.internal.over],
      )
      t.equal(step(module, after, first).repeat, 'already_requested', 'the first one is still known')
    }
    const { event_id: _, ...ownDoor } = other
    t.equal(
      step(module, run(M.create, first), ownDoor).refused,
      'idempotency_key_reused',
      'a sender of an API request is refused at once',
    )

    const many = Array.from({ length: TRIGGERS_MAX }, (_, n) => emitted(n, `t${n}`))
    const full = run(M.create, ...many)
    const late = step(module, full, emitted(99, 't99'))
    skipped(late, 'evt_99', `${TRIGGERS_MAX} requests are already waiting`)
    t.strictSame(late.snapshot.context.waiting, full.context.waiting)
    t.equal(step(module, late.snapshot, emitted(99, 't99')).repeat, 'already_requested')
    t.end()
  },
)

t.test('an ending initiative stops its assessment and its work, and a late answer is rejected', (t) => {
  const { snapshot, sends } = step(module, run(M.create, M['advance (t1)'], M['assess (t1)']), M.cancel)
  t.match(sends.at(-1), { to: { kind: 'work_item', id: FIRST_ITEM }, message: { type: 'cancel' } })
  const told = sends.map(({ to, message }) => `${to.kind}/${to.id} ${message.type}`)
  t.ok(
    told.includes('campaign/pay cancel') && told.includes('work_item/wi_1 cancel'),
    'its members and its work are stopped',
  )
  t.notOk(
    told.some((line) => line.startsWith('project')),
    'a project is not work',
  )
  const late = step(module, snapshot, answer(9, { decision: 'done' }))
  t.match(payloadOf(late, 'initiative_steered'), { outcome: 'rejected', error: 'the initiative is cancelled' })
  t.match(settlementIn(late), { state: 'cancelled', reason: 'steering rejected: the initiative is cancelled' })
  t.equal(late.snapshot.value, 'cancelled')

  for (const end of ['complete', 'cancel'] as const) {
    const ended = step(module, run(M.create, M['advance (t1)'], M['assess (t1)']), M[end]).snapshot
    for (const failed of [M['item_reported (failed)'], M['item_reported (no decision)']]) {
      const told = step(module, ended, failed).sends.map(({ to, message }) => `${to.id} ${message.type}`)
      t.strictSame(told, [`${FIRST_ITEM} settle`, `${FIRST_ITEM} close`], 'one that fails calls nobody')
    }
  }
  t.end()
})

t.test('a cancel also stops work started by an answer after its items were read', (t) => {
  const decision = { decision: 'dispatch', member: PROJECT, objective: 'x' }
  const dispatched = step(module, deciding(decision), judge(6)).snapshot
  const { item_id } = dispatched.context.actions[0]
  const stopsOf = (items: readonly string[]) => {
    const { sends } = step(module, dispatched, { ...M.cancel, items })
    return sends.filter(({ to }) => to.id === item_id).map(({ message }) => message.type)
  }
  t.strictSame(stopsOf([]), ['cancel_waiting'])
  t.strictSame(stopsOf([item_id]), ['cancel'])
  t.end()
})

t.test('a pinned assessment’s prompt covers only its member’s project, and quotes findings behind a fence', (t) => {
  const told = [M.create, M.record_finding, M.decide, M['record_owner_action (hold)']]
  const whole = run(...told, M['advance (t1)'], M['assess (t1)']).context.assessment!.prompt
  for (const text of [
    'campaign:pay in bank',
    'project:shop in shop',
    'Invoices first',
    '| find_1 (note): The limit is 10',
  ])
    t.match(whole, text)
  const assess = at(3, { type: 'assess', trigger_id: 't2', view: VIEW })
  const pinned = run(...told, M['advance (t2, pinned)'], assess).context.assessment!.prompt
  t.match(pinned, 'project:shop in shop')
  t.match(pinned, '| find_1 (note): The limit is 10')
  t.notMatch(pinned, /bank|campaign:pay|Invoices first/)
  t.end()
})

t.test('an owner’s decision answers the open questions about its members', (t) => {
  const asked = step(module, deciding({ decision: 'ask', question: 'Which?', member: CAMPAIGN }), judge(6)).snapshot
  t.equal(asked.context.questions.length, 1)
  t.strictSame(module.terms(asked).find(({ index }) => index === 'attention')?.value, 'asked')
  const elsewhere = at(7, { type: 'decide', by: OWNER, decision: 'x', applicable_members: [PROJECT] })
  t.equal(step(module, asked, elsewhere).snapshot.context.questions.length, 1)
  const { snapshot, facts } = step(module, asked, M.decide)
  t.strictSame(snapshot.context.questions, [])
  t.match(payloadOf({ facts }, 'initiative_decided'), { decision: 'Invoices first', applicable_members: [CAMPAIGN] })
  t.end()
})

t.test('the next assessment is told which question a decision answers, but not that of another project', (t) => {
  const promptAfter = (question: object, more: object = {}): string => {
    const { snapshot: asked } = step(module, deciding({ ...question, member: CAMPAIGN }), judge(6))
    const { snapshot } = step(module, asked, at(7, { type: 'decide', by: OWNER, decision: 'Monday', reason: 'rent' }))
    const waits = { ...snapshot, context: { ...snapshot.context, waiting: [] } }
    const requested = step(module, waits, at(8, { type: 'advance', by: OWNER, trigger_id: 't9', ...more })).snapshot
    const assess = at(9, { type: 'assess', trigger_id: 't9', view: VIEW })
    return step(module, requested, assess).snapshot.context.assessment!.prompt
  }
  const ask = { decision: 'ask', question: 'Which day?' }
  t.match(promptAfter(ask), '- Monday, in answer to "Which day?", since rent')
  t.match(promptAfter(ask, { member: PROJECT }), '- Monday, since rent')
  t.match(promptAfter({ decision: 'escalate', reason: 'Two\nways' }), '- Monday, in answer to "Two ways", since rent')
  t.end()
})

t.test('a reviewer’s gaps and diagnosis become findings that name the cycle and the result', (t) => {
  const dispatched = step(
    module,
    deciding({ decision: 'dispatch', member: PROJECT, objective: 'x' }),
    judge(6),
  ).snapshot
  const { item_id } = dispatched.context.actions[0]
  const terminal = { event_id: 'evt_7', payload: { verdict: 'defect', diagnosis: 'It rounds down' } }
  const defect = step(module, dispatched, settled(item_id, 'preserved', { terminal }))
  t.match(payloadOf(defect, 'finding_recorded'), {
    kind: 'defect',
    text: 'It rounds down',
    from: { kind: 'cycle', id: item_id, event_id: 'evt_7' },
    initiative: 'checkout',
    consumed_by: [],
  })
  t.equal(step(module, defect.snapshot, settled(item_id, 'preserved', { terminal })).facts.length, 0, 'once')
  const gaps = { event_id: 'evt_8', payload: { verdict: 'remainder', gaps: ['no VAT', 'no print'] } }
  const landed = step(module, dispatched, settled(item_id, 'landed', { terminal: gaps }))
  t.match(payloadOf(landed, 'finding_recorded'), { kind: 'gap', text: 'no VAT; no print' })
  t.equal(payloadOf(landed, 'finding_consumed'), undefined, 'its forming had seen none')
  t.end()
})

t.test('an ended initiative records no new findings, and earlier ones can still be consumed', (t) => {
  const before = [M.create, M.record_finding, M['advance (t1)'], M['assess (t1)']]
  const decided = run(...before, answer(4, { decision: 'dispatch', member: PROJECT, objective: 'x' }))
  const dispatched = step(module, decided, judge(6)).snapshot
  const { item_id } = dispatched.context.actions[0]
  const gaps = { terminal: { event_id: 'evt_8', payload: { verdict: 'remainder', gaps: ['no VAT'], landed: true } } }
  for (const end of [M.complete, M.cancel]) {
    const ended = step(module, dispatched, end).snapshot
    t.equal(step(module, ended, M['member_cycle_settled (defect)']).repeat, 'already_heard')
    for (const landing of [settled(item_id, 'landed', gaps), { ...M['member_cycle_settled (landed)'], ...gaps }]) {
      const late = step(module, ended, landing)
      t.strictSame(
        factsOf(late).map(({ type }) => type),
        ['finding_consumed'],
        landing.type,
      )
      t.strictSame(late.sends, [])
      t.equal(late.snapshot.context.findings.length, 1)
    }
  }
  t.end()
})

t.test('a finding is consumed only when a cycle lands whose forming saw it', (t) => {
  const before = [M.create, M.record_finding, M['advance (t1)'], M['assess (t1)']]
  const decided = run(...before, answer(4, { decision: 'dispatch', member: PROJECT, objective: 'x' }))
  const dispatched = step(module, decided, judge(6)).snapshot
  const { item_id } = dispatched.context.actions[0]
  const preserved = step(module, dispatched, settled(item_id, 'preserved'))
  t.strictSame(preserved.facts, [])
  const later = step(module, preserved.snapshot, M['record_finding (a stranger)'])
  t.equal(later.refused, 'illegal_move')
  const nothing = step(module, preserved.snapshot, settled(item_id, 'landed'))
  t.strictSame(nothing.facts, [], 'what resumed it had nothing to land')
  const landed = step(module, preserved.snapshot, settled(item_id, 'landed', { on_trunk: true }))
  t.match(payloadOf(landed, 'finding_consumed'), {
    finding_id: 'find_1',
    member: PROJECT,
    work_item_id: item_id,
    finding: { consumed_by: [{ member: PROJECT, work_item_id: item_id }] },
  })
  t.equal(step(module, landed.snapshot, settled(item_id, 'landed', { on_trunk: true })).repeat, 'already_heard')
  const cancelled = step(module, dispatched, settled(item_id, 'cancelled'))
  t.strictSame(cancelled.facts, [])
  const saying = (payload: object) => ({
    terminal: { event_id: 'evt_7', payload: { verdict: 'complete', ...payload } },
  })
  const idle = step(module, dispatched, settled(item_id, 'landed', saying({ landed: false })))
  t.strictSame(idle.facts, [], 'it is complete, and nothing had to land')
  t.strictSame(idle.snapshot.context.internal.cycles, {}, 'nor will it')
  t.match(
    payloadOf(step(module, dispatched, settled(item_id, 'landed', saying({ landed: true }))), 'finding_consumed'),
    {
      finding_id: 'find_1',
    },
  )
  const member = { ...M['member_cycle_settled (landed)'], on_trunk: undefined, ...saying({ landed: false }) }
  t.equal(step(module, run(M.create, M.record_finding), member).repeat, 'already_heard')
  t.end()
})
