/** Sentinels are told to reckon anew after a start, and when the clock was set back. */
import t, { type Test } from 'tap'
import { projectIdOf } from '../../../machines/ids.ts'
import { SentinelTimes } from '../../../runtime/entities/sentinel-times.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { World } from '../scheduler/world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A world whose clock a test sets, with a sentinel that falls due at each full hour. */
function hourly(t: Test, world = new World()) {
  let aheadMs = 0
  const { platform } = world
  const wallMs = platform.wallMs.bind(platform)
  platform.wallMs = () => wallMs() + aheadMs
  const set = (byMs: number): void => {
    aheadMs += byMs
  }
  const about = { name: 'hourly', project: 'shop', project_id: projectIdOf('shop'), item: { objective: 'Tidy up' } }
  const add = (more: object = {}) =>
    world.ask('sentinel', 'hourly', { type: 'create', ...about, cron: '0 * * * *', time_zone: 'UTC', ...more })
  const read = () => world.runtime.read({ kind: 'sentinel', id: 'hourly' })!.context
  const inMs = (): number => Date.parse(read().next_at) - platform.wallMs()
  const watch = (): SentinelTimes => {
    const times = new SentinelTimes(world.runtime, silentLogger)
    t.teardown(() => times.close())
    return times
  }
  /** Lets the looks happen that are due in this time: they take turns. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 30_000) {
      platform.advance(Math.min(left, 30_000))
      for (let n = 0; n < 20; n++) {
        await Promise.resolve()
        platform.run()
      }
    }
  }
  world.project('shop')
  return { world, set, add, read, inMs, watch, pass }
}

t.test(
  'a sentinel that fell due by a clock days ahead falls due within its hour once the clock is set right',
  async (t) => {
    const { set, add, read, inMs, watch, pass } = hourly(t)
    add()
    watch()
    await pass(180_000)
    set(3 * DAY_MS)
    await pass(2 * HOUR_MS)
    t.ok(read().internal.due_at > new Date(read().created_at).toISOString())
    set(-3 * DAY_MS)
    t.ok(inMs() > 2 * DAY_MS, 'silent')
    await pass(61_000)
    t.ok(inMs() > 0 && inMs() <= HOUR_MS, `in ${inMs()} ms`)
    const { fired } = read()
    await pass(HOUR_MS)
    t.equal(read().fired + Number(read().last.skipped !== undefined), fired + 1)
  },
)

t.test('a clock set back by hours has no time come twice', async (t) => {
  const { set, add, read, watch, pass } = hourly(t)
  add()
  watch()
  await pass(2 * HOUR_MS)
  const { next_at } = read()
  set(-5 * HOUR_MS)
  await pass(180_000)
  t.equal(read().next_at, next_at)
})

t.test('one that was added by a clock ahead of the one at the start is told a minute after that', async (t) => {
  const first = hourly(t)
  first.set(400 * DAY_MS)
  first.add()
  first.set(-400 * DAY_MS)
  first.watch()
  t.ok(first.inMs() > 300 * DAY_MS)
  await first.pass(59_000)
  t.ok(first.inMs() > 300 * DAY_MS, 'the machine may still have to learn the time')
  await first.pass(2_000)
  t.ok(first.inMs() <= HOUR_MS)
})

t.test('a zone that Node.js does not know at one start and knows at the next', async (t) => {
  const { add, read, inMs, watch, pass } = hourly(t)
  const zone = 'Asia/Qostanay'
  const { DateTimeFormat } = Intl
  const older = t.intercept(Intl, 'DateTimeFormat', {
    value: (locale: string, options: Intl.DateTimeFormatOptions) => {
      if (options.timeZone === zone) throw new RangeError(`Invalid time zone specified: ${zone}`)
      return new DateTimeFormat(locale, options)
    },
    configurable: true,
  })
  add({ time_zone: zone })
  const times = watch()
  await pass(120_000)
  t.equal(read().next_at, undefined)
  times.close()
  older.restore()
  watch()
  await pass(61_000)
  t.ok(inMs() <= HOUR_MS)
})

t.test('what cannot be written now is told again a minute later', async (t) => {
  const { world, set, add, inMs, watch, pass } = hourly(t)
  set(400 * DAY_MS)
  add()
  set(-400 * DAY_MS)
  watch()
  const { askAsync } = world.runtime
  const refused = { ok: false, isPassing: true, refusal: { code: 'disk_reserve', detail: 'full' } } as const
  world.runtime.askAsync = async () => refused
  await pass(61_000)
  t.ok(inMs() > 300 * DAY_MS)
  world.runtime.askAsync = askAsync
  await pass(60_000)
  t.ok(inMs() <= HOUR_MS)
})

t.test('nothing more is told once it is closed', async (t) => {
  const { set, add, inMs, watch, pass } = hourly(t)
  set(400 * DAY_MS)
  add()
  set(-400 * DAY_MS)
  watch().close()
  await pass(180_000)
  t.ok(inMs() > 300 * DAY_MS)
})
