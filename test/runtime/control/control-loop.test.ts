/** When the loop ticks, which actors it leaves alone meanwhile, and that a closed one does nothing more. */
import t from 'tap'
import type { Answer, Runtime } from '../../../runtime/api.ts'
import { ControlLoop } from '../../../runtime/control/control-loop.ts'
import { refusedPauseMs, tickRetryMsMax } from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { JournalFailure } from '../../../storage/journal.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

const REFUSED = { ok: false, refusal: { code: 'overloaded', detail: 'no room' } } as Answer

function open() {
  const platform = new ManualPlatform()
  const world = {
    ticks: 0,
    tickMs: 0,
    rings: 0,
    isRefusing: false,
    isWrong: false,
    answers: [] as ((answer: Answer) => void)[],
  }
  const runtime = {
    platform,
    journal: { refuses: () => (world.isRefusing ? 'full' : undefined) },
    ask: (_: unknown, message: { type: string }, reply: (answer: Answer) => void) => {
      if (message.type === 'wrong') throw new Error('it cannot be sent')
      world.answers.push(reply)
    },
  }
  const loop = new ControlLoop(runtime as unknown as Runtime, {
    name: 'scheduler',
    log: silentLogger,
    kind: 'work_item',
    tickShare: 0.5,
    tick: () => {
      world.ticks++
      platform.nowMs += world.tickMs
      if (world.isWrong) throw new Error('it cannot be')
    },
    reread: () => {},
    rang: () => void world.rings++,
  })
  return { platform, world, loop }
}

t.test('however often it is woken in a turn, one tick follows, and after a long one the next waits', async (t) => {
  const { platform, world, loop } = open()
  world.tickMs = 40
  for (let n = 0; n < 3; n++) loop.wake()
  t.equal(world.ticks, 0, 'in a turn of its own')
  platform.run()
  t.equal(world.ticks, 1)
  loop.wake()
  platform.run()
  t.equal(world.ticks, 1)
  platform.advance(39)
  t.equal(world.ticks, 1)
  platform.advance(1)
  t.equal(world.ticks, 2, 'as much later as the tick was long')
  t.equal(world.rings, 1, 'the alarm is told of before the tick')
})

t.test('a tick that fails as a whole is repeated after a pause, in which nothing wakes the loop', async (t) => {
  const { platform, world, loop } = open()
  world.isWrong = true
  loop.wake()
  platform.run()
  t.same([world.ticks, loop.health.ticksFailed], [1, 1])
  world.isWrong = false
  loop.wake()
  platform.run()
  t.equal(world.ticks, 1)
  platform.advance(tickRetryMsMax)
  t.equal(world.ticks, 2)
  t.equal(platform.timersSet, 0)
})

t.test('there is no tick while the service refuses writes, and one a moment after', async (t) => {
  const { platform, world, loop } = open()
  world.isRefusing = true
  loop.wake()
  platform.run()
  platform.advance(refusedPauseMs)
  t.equal(world.ticks, 0)
  world.isRefusing = false
  platform.advance(refusedPauseMs)
  t.equal(world.ticks, 1)
})

t.test('an actor is left alone until it has answered, and not if it could not be asked', async (t) => {
  const { platform, world, loop } = open()
  const answered: boolean[] = []
  loop.ask('a', { type: 'cancel' } as never, (isTaken) => answered.push(isTaken))
  t.same([loop.leaves('a'), loop.leaves('b')], [true, false])
  world.answers[0]!(REFUSED)
  t.same([loop.leaves('a'), answered], [false, [false]])
  platform.advance(refusedPauseMs)
  t.equal(world.ticks, 1, 'a refusal makes a tick follow')
  t.throws(() => loop.ask('a', { type: 'wrong' } as never, () => {}), /cannot be sent/)
  t.equal(loop.leaves('a'), false)
})

t.test('a failed journal passes through where only something is shown, and a bug there does not', async (t) => {
  const { loop } = open()
  const ref = { kind: 'work_item', id: 'a' } as const
  const throwing = (error: Error) => (): never => {
    throw error
  }
  t.throws(() => loop.shown(ref, throwing(new JournalFailure('it cannot be read'))), { message: 'it cannot be read' })
  t.equal(loop.shown(ref, throwing(new Error('it cannot be'))), undefined)
  t.equal(loop.leaves('a'), false, 'and its work is not put off')
})

t.test('once closed it takes no tick and leaves no timer, whatever is answered or asked for', async (t) => {
  const { platform, world, loop } = open()
  loop.ask('a', { type: 'cancel' } as never, () => {})
  loop.wake()
  loop.wakeAfter(5)
  loop.close()
  world.answers[0]!(REFUSED)
  loop.wakeAfter(5)
  loop.wake()
  t.equal(platform.timersSet, 0)
  t.equal(platform.runOnce(), 1, 'only the turn that was asked for before')
  t.equal(world.ticks, 0)
})
