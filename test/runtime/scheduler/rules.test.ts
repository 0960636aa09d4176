import fc from 'fast-check'
import t from 'tap'
import {
  firstRule,
  isLineStopped,
  isLineWithoutRunner,
  lastingReason,
  type Rule,
  type SchedulingView,
  takesBackFrom,
  unlandable,
  type WaitingItem,
  whyNotBegun,
  whyTakenBack,
  wordsOf,
} from '../../../runtime/scheduler/rules.ts'

const ITEM: WaitingItem = {
  id: 'wi_1',
  project: 'shop',
  lane: 'campaign',
  dependsOn: ['wi_a', 'wi_b'],
  notBeforeMs: 1_000,
  takenBack: undefined,
  readOnlyOwner: undefined,
  cycleOf: 'pay',
}

const FREE: SchedulingView = {
  stateOf: () => 'landed',
  isArchived: () => false,
  isCampaignPaused: () => false,
  repositoryOf: () => 'git@x:shop',
  holdersOf: () => [],
  fullLabel: () => undefined,
  takenLabel: () => undefined,
  isInLine: () => false,
  isLabelStopped: () => false,
  otherReadOnlyRun: () => undefined,
  hasPlace: () => true,
  running: () => 1,
  maxRunning: () => 2,
  nowMs: () => 1_000,
  isLanePaused: () => false,
  hasRunner: () => true,
  isExpected: () => true,
}

const told = (item: WaitingItem, now: SchedulingView) => wordsOf(firstRule(item, now), item, now)

t.test('each rule holds an item back on its own, with its code and text', (t) => {
  const held = (more: Partial<SchedulingView>) => told(ITEM, { ...FREE, ...more })
  t.same(told(ITEM, FREE), { code: 'next', detail: 'next to start' })
  for (const state of ['preserved', 'needs_decision', 'failed', 'cancelled'])
    t.same(held({ stateOf: (id) => (id === 'wi_b' ? state : 'landed') }), {
      code: 'dependency_cannot_land',
      detail: `its dependency wi_b did not land: it is ${state}`,
    })
  t.equal(held({ stateOf: () => undefined }).detail, 'its dependency wi_a did not land: it is unknown')
  const limited = (maxRunning: number, underWay: number) =>
    held({ fullLabel: () => ({ label: 'gpu', maxRunning, underWay }) })
  t.same(limited(2, 3), { code: 'label_limit', detail: '3 of 2 with the label gpu are running' })
  t.same(limited(0, 1), { code: 'label_limit', detail: 'label gpu is limited to 0' })
  t.same(held({ isArchived: () => true }), { code: 'project_archived', detail: 'project shop is archived' })
  t.same(held({ isCampaignPaused: (name) => name === 'pay' }), {
    code: 'campaign_paused',
    detail: 'its campaign pay is paused',
  })
  t.same(told({ ...ITEM, cycleOf: undefined }, { ...FREE, isCampaignPaused: () => true }).code, 'next')
  t.same(told({ ...ITEM, takenBack: 'runreq_1' }, FREE), {
    code: 'stopping',
    detail: 'its previous run runreq_1 is being stopped',
  })
  t.same(told({ ...ITEM, readOnlyOwner: 'campaign pay' }, { ...FREE, otherReadOnlyRun: () => 'runreq_1' }), {
    code: 'stopping',
    detail: 'runreq_1, which forms or assesses for campaign pay, has not ended',
  })
  t.same(held({ holdersOf: () => ['wi_9'] }), {
    code: 'repository_busy',
    detail: 'repository git@x:shop is held by wi_9',
  })
  t.match(held({ holdersOf: () => ['wi_9', 'wi_8'] }).detail, / is held by wi_9 and wi_8$/)
  t.same(held({ hasPlace: () => false, running: () => 2 }), { code: 'running_cap', detail: '2 of 2 are running' })
  const none = { hasPlace: () => false, running: () => 0, maxRunning: () => 0 }
  t.same(held({ ...none, hasRunner: () => false }), {
    code: 'no_runner',
    detail: 'no runner that is online may take it',
  })
  t.same(held(none), { code: 'running_cap', detail: '0 of 0 are running' }, 'a configured cap')
  t.same(held({ nowMs: () => 999 }), { code: 'not_before', detail: 'not before 1970-01-01T00:00:01.000Z' })
  for (const state of ['submitted', 'queued', 'held', 'running'])
    t.same(held({ stateOf: (id) => (id === 'wi_b' ? state : 'landed') }), {
      code: 'dependency',
      detail: `waits for wi_b to land (${state})`,
    })
  t.same(held({ isLanePaused: (lane) => lane === 'campaign' }), {
    code: 'lane_paused',
    detail: 'lane campaign is paused',
  })
  t.same(held({ hasRunner: () => false }), { code: 'no_runner', detail: 'no runner that is online may take it' })
  t.end()
})

t.test('an item may start at the very moment of its not_before', (t) => {
  t.equal(told({ ...ITEM, notBeforeMs: 1_000 }, FREE).code, 'next')
  t.equal(told({ ...ITEM, notBeforeMs: 1_001 }, FREE).code, 'not_before')
  t.end()
})

t.test('an item that needs no repository waits for none', (t) => {
  t.equal(told(ITEM, { ...FREE, repositoryOf: () => undefined, holdersOf: () => ['wi_9'] }).code, 'next')
  t.end()
})

t.test('a full label takes a handed-out item back, unless it stands in line for it', (t) => {
  const full = { ...FREE, takenLabel: () => ({ label: 'gpu', maxRunning: 1, underWay: 1 }) }
  t.equal(whyTakenBack(ITEM, full)?.code, 'label_limit')
  const inLine = { ...full, isInLine: () => true }
  t.equal(whyTakenBack(ITEM, inLine), undefined)
  t.equal(whyNotBegun(ITEM, inLine)?.code, 'label_limit', 'it still does not begin')
  t.equal(whyTakenBack(ITEM, { ...inLine, hasRunner: () => false })?.code, 'no_runner')
  t.equal(whyTakenBack(ITEM, { ...inLine, isLanePaused: () => true })?.code, 'lane_paused')
  t.end()
})

t.test('a full label holds back the whole line, and a limit of 0 as a person does', (t) => {
  const full = { ...FREE, fullLabel: () => ({ label: 'gpu', maxRunning: 1, underWay: 1 }) }
  t.same([isLineStopped(ITEM, FREE), isLineStopped(ITEM, full)], [false, true])
  const without = { ...full, hasRunner: () => false }
  t.ok(isLineWithoutRunner(ITEM, without), 'a full label does not hide that there is no runner')
  t.notOk(isLineWithoutRunner(ITEM, { ...without, isLabelStopped: () => true }))
  t.end()
})

t.test('of several rules that hold an item back, the first in order is given', (t) => {
  const breaks: readonly [string, Partial<SchedulingView>][] = [
    ['project_archived', { isArchived: () => true }],
    ['campaign_paused', { isCampaignPaused: () => true }],
    ['stopping', { otherReadOnlyRun: () => 'runreq_1' }],
    ['repository_busy', { holdersOf: () => ['wi_9'] }],
    ['label_limit', { fullLabel: () => ({ label: 'gpu', maxRunning: 2, underWay: 2 }) }],
    ['running_cap', { hasPlace: () => false, running: () => 2 }],
    ['not_before', { nowMs: () => 0 }],
    ['dependency', { stateOf: () => 'running' }],
    ['lane_paused', { isLanePaused: () => true }],
    ['no_runner', { hasRunner: () => false }],
  ]
  const alone = { ...FREE, hasPlace: () => false, running: () => 0, maxRunning: () => 0, hasRunner: () => false }
  for (const [code, one] of breaks.filter(([rule]) => rule !== 'running_cap'))
    t.equal(told(ITEM, { ...alone, ...one }).code, code, 'without any runner, there is no cap')
  fc.assert(
    fc.property(fc.subarray([...breaks]), fc.boolean(), (broken, isDead) => {
      const now = Object.assign({}, FREE, ...broken.map(([, one]) => one))
      const code = told(ITEM, isDead ? { ...now, stateOf: () => 'failed' } : now).code
      t.equal(code, isDead ? 'dependency_cannot_land' : (broken[0]?.[0] ?? 'next'))
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test(
  'an item is taken back from a run that is queued, and by a pause of its campaign also from one not begun',
  (t) => {
    const states = [undefined, 'queued', 'offered', 'accepted', 'started', 'lost', 'cancelling']
    const from = (code: Rule['code']) => states.filter((state) => takesBackFrom({ code }, state))
    t.same(from('campaign_paused'), ['queued', 'offered', 'accepted'])
    for (const code of ['lane_paused', 'project_archived', 'no_runner'] as const) t.same(from(code), ['queued'])
    t.end()
  },
)

t.test('unlandable names just the dependencies that can never land', (t) => {
  const states: Record<string, string> = { a: 'landed', b: 'failed', c: 'running', d: 'preserved', e: 'held' }
  t.same(unlandable(['a', 'b', 'c', 'd', 'e', 'f'], { stateOf: (id) => states[id] }), ['b', 'd', 'f'])
  t.end()
})

t.test('a stored reason names no other work than dependencies, and no states', (t) => {
  const lasting = (now: Partial<SchedulingView>, item = ITEM) => {
    const whole = { ...FREE, ...now }
    return lastingReason(firstRule(item, whole), item, whole)
  }
  for (const state of ['failed', 'cancelled', 'preserved', undefined])
    t.equal(lasting({ stateOf: () => state }), 'its dependency wi_a did not land', String(state))
  for (const state of ['running', 'held']) t.equal(lasting({ stateOf: () => state }), 'waits for wi_a to land', state)
  t.equal(
    lasting({ otherReadOnlyRun: () => 'wi_9' }, { ...ITEM, readOnlyOwner: 'initiative one' }),
    'another formation or assessment for initiative one has not ended',
  )
  const rule = firstRule(ITEM, { ...FREE, holdersOf: () => ['wi_9'] })
  t.equal(lastingReason(rule, ITEM, FREE), 'repository git@x:shop is busy')
  const own = { ...FREE, repositoryOf: () => `proj_${'0'.repeat(24)}`, holdersOf: () => ['wi_9'] }
  t.equal(lastingReason(firstRule(ITEM, own), ITEM, own), 'its project’s repository is busy')
  t.end()
})
