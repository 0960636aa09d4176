/** What is told of the list of what needs a person, from one reading to the next. */
import t from 'tap'
import { Calls } from '../../cli/attention-calls.ts'
import type { Document } from '../../cli/document.ts'

const MONDAY = '2030-01-07T08:00:00Z'
const TUESDAY = '2030-01-08T08:00:00Z'

const failed = (id: string, since = MONDAY): Document => ({
  ...{ kind: 'work_item', reason: 'failed', project: 'shop', since },
  work_item: { id, objective: 'Pay', reason: 'it broke' },
})

const asking = (...questions: string[]): Document => ({
  ...{ kind: 'initiative', reason: 'asked', project: 'shop', since: MONDAY },
  initiative: {
    name: 'checkout',
    questions: questions.map((id) => ({ id, at: MONDAY, text: `${id}?` })),
    close_proposals: [],
  },
})

/** Tells everything that is due, and returns it. */
function toldBy(calls: Calls, nowMs = 0): string[] {
  const told: string[] = []
  for (let news = calls.next(nowMs); news !== undefined; news = calls.next(nowMs)) {
    told.push(`${news.change} ${news.call.id} ${news.call.what}`)
    calls.done(news)
  }
  return told
}

/** The same for each reading, one after the other. */
function toldOf(calls: Calls, ...readings: (readonly Document[])[]): string[][] {
  return readings.map((items) => {
    calls.read(items)
    return toldBy(calls)
  })
}

const A = 'began a Pay: it broke'
const B = 'began b Pay: it broke'

t.test('what begins is told once, in the order of the list, and again when it has begun anew', (t) => {
  const [a, b] = [failed('a'), failed('b')]
  t.same(toldOf(new Calls([], false), [b, a], [b, a], [a], [a, b]), [[B, A], [], [], [B]])
  t.same(toldOf(new Calls([], false), [a], [failed('a', TUESDAY)]), [[A], [A]], 'also if its end was not seen')
  t.end()
})

t.test('an end is told if that is asked for, once', (t) => {
  const end = 'ended a Pay: it broke'
  t.same(toldOf(new Calls([], true), [failed('a')], [], [], [failed('a')], []), [[A], [end], [], [A], [end]])
  t.same(toldOf(new Calls([], true), [failed('a')], [failed('a', TUESDAY)]), [[A], [A, end]])
  t.end()
})

t.test('what ends before anybody was told of it is not told', (t) => {
  const calls = new Calls([], true)
  calls.read([failed('a'), failed('b')])
  calls.read([failed('b')])
  t.same(toldBy(calls), [B])
  calls.read([])
  calls.read([failed('b')])
  t.same(toldBy(calls), [B], 'it has begun again, which counts more than the end before')
  t.end()
})

t.test('one that cannot be told lets the others pass, and is due again at its time', (t) => {
  const calls = new Calls([], false)
  calls.read([failed('a'), failed('b')])
  calls.failed(calls.next(0)!, 500)
  t.same(toldBy(calls, 499), [B])
  t.equal(calls.dueMs, 500)
  calls.read([failed('a'), failed('b')])
  t.equal(calls.next(499), undefined, 'a reading does not make it due earlier')
  t.match(calls.next(500), { failures: 1, item: failed('a') })
  t.same(toldBy(calls, 500), [A])
  t.equal(calls.dueMs, Number.POSITIVE_INFINITY)
  t.end()
})

t.test('who continues with what was told before is told only of what has changed meanwhile', (t) => {
  const before = new Calls([], true)
  toldOf(before, [failed('a'), failed('b')])
  t.same(toldOf(new Calls(before.told, true), [failed('b'), failed('c')]), [
    ['began c Pay: it broke', 'ended a Pay: it broke'],
  ])
  const forgets = new Calls(before.told, false)
  t.equal(forgets.read([failed('b')]), true)
  t.same(
    forgets.told.map(({ id }) => id),
    ['b'],
  )
  t.equal(forgets.read([failed('b')]), false)
  t.end()
})

t.test('each question of an initiative is told on its own', (t) => {
  const readings = [[asking('q1')], [asking('q1', 'q2')], [asking('q2')], [], [asking('q1')]]
  t.same(toldOf(new Calls([], false), ...readings), [
    ['began checkout q1?'],
    ['began checkout q2?'],
    [],
    [],
    ['began checkout q1?'],
  ])
  t.end()
})

t.test('an escalated campaign that its owner pauses, and resumes, is told once; its next question is another', (t) => {
  const campaign = (reason: string, since: string, more: object = {}): Document => ({
    ...{ kind: 'campaign', reason: 'escalated', project: 'shop', since },
    campaign: { name: 'pay', reason, cycles_completed: 2, ...more },
  })
  const asks = campaign('Net or gross?', MONDAY)
  const paused = campaign('paused by ada', TUESDAY, { paused: { by: 'owner', escalated: 'Net or gross?' } })
  const resumed = campaign('Net or gross?', TUESDAY)
  const next = campaign('Net or gross?', TUESDAY, { cycles_completed: 3 })
  const news = 'began pay Net or gross?'
  t.same(toldOf(new Calls([], true), [asks], [paused], [resumed], [paused]), [[news], [], [], []])
  t.same(toldOf(new Calls([], false), [paused], [campaign('Which tax?', TUESDAY)], [next]), [
    [news],
    ['began pay Which tax?'],
    [news],
  ])
  t.end()
})

t.test('a stalled project is told once, even if the time of its last runner moves', (t) => {
  const stalled = (since: string): Document => ({
    ...{ kind: 'stalled_project', reason: 'no_runner_online', project: 'shop', since },
    stalled_project: { id: 'proj_1', name: 'Shop' },
  })
  const news = 'began proj_1 work of Shop waits for a runner'
  const readings = [[stalled(MONDAY)], [stalled(TUESDAY)], [], [stalled(TUESDAY)]]
  t.same(toldOf(new Calls([], false), ...readings), [[news], [], [], [news]])
  t.end()
})
