/** Sentinels on the real runtime and ledger: each time that one falls due, one item is submitted. */
import t from 'tap'
import { projectIdOf } from '../../../machines/ids.ts'
import { World } from './world.ts'

/** A sentinel that falls due at every full hour. */
function hourly(world: World, more: object = {}): void {
  const about = { name: 'hourly', project: 'shop', project_id: projectIdOf('shop') }
  const item = { objective: 'Tidy up' }
  world.ask('sentinel', 'hourly', { type: 'create', ...about, cron: '0 * * * *', time_zone: 'UTC', item, ...more })
}

const sentinel = (world: World) => world.runtime.read({ kind: 'sentinel', id: 'hourly' })!.context
const items = (world: World): string[] =>
  [...world.runtime.scan('work_item', 'source', 'sentinel:hourly')].map(({ ref }) => ref.id)

/** On to the moment at which it falls due next. */
function on(world: World): void {
  world.platform.advance(Date.parse(sentinel(world).next_at) - world.platform.wallMs() + 1_000)
}

t.test('each hour it submits an item, unless the last one has not settled', (t) => {
  const world = new World()
  world.project('shop')
  hourly(world)
  t.same(items(world), [])
  on(world)
  const [first] = items(world)
  t.ok(world.isHandedOut(first!))
  t.match(sentinel(world), { fired: 1, last: { item_id: first } })
  on(world)
  t.match(sentinel(world), { fired: 1, last: { skipped: 'duplicate', item_id: first } })
  t.equal(items(world).length, 1)
  world.end(first!)
  on(world)
  t.equal(sentinel(world).fired, 2)
  t.equal(items(world).length, 2)
  t.end()
})

t.test('of sentinels that fall due together and ask for the same, one submits', (t) => {
  const world = new World()
  world.project('shop')
  hourly(world)
  const about = { name: 'other', project: 'shop', project_id: projectIdOf('shop'), item: { objective: ' Tidy  up' } }
  world.ask('sentinel', 'other', { type: 'create', ...about, cron: '0 * * * *', time_zone: 'UTC' })
  on(world)
  const other = world.runtime.read({ kind: 'sentinel', id: 'other' })!.context
  const fired = [sentinel(world), other].filter(({ last }) => last.skipped === undefined)
  t.equal(fired.length, 1)
  t.equal([...world.runtime.scan('work_item', 'project', 'shop')].length, 1)
  world.end(fired[0].last.item_id)
  on(world)
  t.equal([...world.runtime.scan('work_item', 'project', 'shop')].length, 2)
  t.end()
})

t.test('what is announced counts until it comes, is withdrawn, or has not come for two seconds', (t) => {
  const { scheduler, platform } = new World()
  const withdraw = scheduler.announce('a')!
  t.equal(scheduler.announce('a'), undefined)
  t.ok(scheduler.isAnnounced('a'))
  withdraw()
  t.notOk(scheduler.isAnnounced('a'))
  t.ok(scheduler.announce('a'))
  withdraw()
  t.ok(scheduler.isAnnounced('a'), 'a later one is not withdrawn with it')
  platform.advance(2_000)
  t.notOk(scheduler.isAnnounced('a'))
  t.end()
})

t.test('nothing is submitted to an archived project', (t) => {
  const world = new World()
  world.project('shop')
  hourly(world)
  world.ask('project', projectIdOf('shop'), { type: 'archive' })
  on(world)
  t.match(sentinel(world), { fired: 0, last: { skipped: 'project_archived' } })
  world.ask('project', projectIdOf('shop'), { type: 'unarchive' })
  on(world)
  t.equal(sentinel(world).fired, 1)
  t.end()
})
