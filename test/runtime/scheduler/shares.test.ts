/** Once a project has a weight, projects take turns in the ledger; until then their items go by age. */
import t from 'tap'
import { World } from './world.ts'

/** A world in which each project may have many items under way, and so many places. */
function world(places: number): World {
  const w = new World({ maxRunning: places })
  for (const key of ['shop', 'till', 'bank']) w.project(key, undefined, 64)
  return w
}

/** Submits items of the project, which then wait. */
const submits = (w: World, project: string, count: number, more = {}): string[] =>
  Array.from({ length: count }, (_, n) => w.submit(project, { objective: `${project} ${n}`, ...more }))

/** Ends what is under way, again and again, and returns the projects in the order in which their items started. */
function started(w: World, ids: readonly string[], count: number): string {
  const had = new Set<string>()
  let text = ''
  while (text.length < count) {
    const next = ids.filter((id) => w.isHandedOut(id) && !had.has(id))
    for (const id of next) {
      had.add(id)
      text += w.item(id).context.project[0]
      w.end(id)
    }
    if (next.length === 0) throw new Error(`nothing started after ${text}`)
  }
  return text
}

const count = (text: string, key: string): number => text.split(key).length - 1

t.test('without weights, items start by age', (t) => {
  const w = world(1)
  const ids = [...submits(w, 'shop', 5), ...submits(w, 'till', 5)]
  t.equal(started(w, ids, 10), 'ssssstttttt'.slice(0, 10))
  t.end()
})

t.test('a project of weight 3 starts three items while another starts one, and no place stays free', (t) => {
  for (const places of [1, 3]) {
    const w = world(places)
    const ids = [...submits(w, 'till', 30), ...submits(w, 'shop', 30)]
    w.weigh('shop', 3)
    const text = started(w, ids, 24)
    t.ok(Math.abs(count(text.slice(4), 's') - 15) <= 2, `${places}: ${text}`)
    t.notMatch(text.slice(4), /tt.*tt/)
  }
  t.end()
})

t.test('those without a weight take turns, each by age within itself', (t) => {
  const w = world(1)
  w.weigh('bank', 2)
  const ids = [...submits(w, 'shop', 5), ...submits(w, 'till', 5)]
  t.match(started(w, ids, 9).slice(1), /^(st){4}$|^(ts){4}$/)
  t.ok(w.isHandedOut(ids[4]!) !== w.isHandedOut(ids[9]!), 'the youngest come last')
  t.end()
})

t.test('interactive items of any project go first', (t) => {
  const w = world(1)
  w.weigh('shop', 100)
  const ids = [...submits(w, 'shop', 4, { lane: 'campaign', kind: 'task' }), ...submits(w, 'till', 4)]
  t.equal(started(w, ids, 8).slice(0, 5), 'stttt')
  t.end()
})

t.test('a project of which nothing may start holds up no other', (t) => {
  const w = new World({ maxRunning: 2 })
  w.project('shop')
  w.project('till', undefined, 64)
  w.weigh('shop', 3)
  const [one, other] = submits(w, 'shop', 2) as [string, string]
  const tills = submits(w, 'till', 3)
  t.ok(w.isHandedOut(one))
  t.notOk(w.isHandedOut(other), 'its repository is busy')
  t.ok(w.isHandedOut(tills[0]!))
  w.end(tills[0]!)
  t.ok(w.isHandedOut(tills[1]!))
  t.end()
})

t.test('weights hold after a restart, and are told to the dispatcher; without the last one, age counts again', (t) => {
  const before = world(1)
  before.weigh('shop', 3)
  const ids = [...submits(before, 'till', 20), ...submits(before, 'shop', 20)]
  const w = before.restarted()
  t.same([...w.weights], [['shop', 3]])
  t.ok(count(started(w, ids, 12), 's') >= 7)
  w.weigh('shop', 1)
  t.same([...w.weights], [])
  const waiting = ids.filter((id) => !w.isHandedOut(id) && w.item(id).value === 'queued')
  t.equal(started(w, ids, 6), 'tttttt')
  t.ok(waiting.length > 0)
  t.end()
})

t.test(
  'a project that waits for a label keeps its turn while others, which wait for it too, start other items',
  (t) => {
    const w = world(2)
    w.limit('gpu', 1)
    w.weigh('bank', 2)
    const GPU = { labels: ['gpu'] }
    const tills = submits(w, 'till', 12, GPU)
    const shops = submits(w, 'shop', 12, GPU)
    const plain = submits(w, 'till', 40, { kind: 'task' })
    for (let n = 0; n < 12; n++) {
      const running = [...tills, ...shops].find((id) => w.isHandedOut(id))!
      for (const id of plain.filter((one) => w.isHandedOut(one))) w.end(id)
      w.end(running)
    }
    const left = (ids: readonly string[]) => ids.filter((id) => w.item(id).value === 'queued').length
    t.ok(12 - left(shops) >= 5, `of 12 places, shop had ${12 - left(shops)}`)
    t.end()
  },
)
