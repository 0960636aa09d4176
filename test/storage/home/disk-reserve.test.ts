/** When the disk is looked at, and what follows from what it says. */
import t, { type Test } from 'tap'
import { DiskReserve } from '../../../storage/home/disk-reserve.ts'
import { HurriedNature } from '../../natures/hurried.ts'

const MIB = 1024 * 1024
const RESERVE = 100 * MIB

function reserveOn(t: Test, onNoAnswer?: (failure: Error) => void) {
  const nature = new HurriedNature()
  const disk = { free: RESERVE, looks: 0, answers: true }
  const look = async () => {
    disk.looks += 1
    if (!disk.answers) throw new Error('no answer')
    return disk.free
  }
  const reserve = new DiskReserve(look, RESERVE, nature, onNoAnswer)
  t.teardown(() => reserve.stop())
  return { nature, disk, reserve }
}

t.test('the reserve is reached with the first byte below it, and left again at it', async (t) => {
  const { disk, reserve } = reserveOn(t)
  const lowWith = async (free: number): Promise<boolean> => {
    disk.free = free
    await reserve.check()
    return reserve.low
  }
  t.equal(await lowWith(RESERVE), false)
  t.equal(await lowWith(RESERVE - 1), true)
  t.equal(await lowWith(RESERVE), false)
})

t.test('it is looked at every two seconds, and behind each 8 MiB that were written', async (t) => {
  const { nature, disk, reserve } = reserveOn(t)
  nature.hurry(1_999)
  t.equal(disk.looks, 0)
  nature.hurry(1)
  t.equal(disk.looks, 1)
  await reserve.check()
  const before = disk.looks
  reserve.wrote(8 * MIB - 1)
  t.equal(disk.looks, before, 'not before that much')
  reserve.wrote(1)
  t.equal(disk.looks, before + 1)
  await reserve.check()
  reserve.wrote(8 * MIB - 1)
  t.equal(disk.looks, before + 1, 'counted anew')
})

t.test('under the reserve retention begins only where 64 MiB are free', async (t) => {
  const { disk, reserve } = reserveOn(t)
  disk.free = 64 * MIB - 1
  t.equal(await reserve.hasRoomToForget(), true, 'nobody looks while it is not known to be low')
  await reserve.check()
  t.equal(await reserve.hasRoomToForget(), false)
  disk.free = 64 * MIB
  t.equal(await reserve.hasRoomToForget(), true)
  disk.answers = false
  t.equal(await reserve.hasRoomToForget(), false)
})

t.test('a file system that gives no answer leaves its last one standing, and is told of once each time', async (t) => {
  const told: string[] = []
  const { disk, reserve } = reserveOn(t, ({ message }) => told.push(message))
  disk.free = 0
  await reserve.check()
  disk.answers = false
  await reserve.check()
  await reserve.check()
  t.equal(reserve.low, true)
  t.same(told, ['no answer'])
  disk.answers = true
  await reserve.check()
  disk.answers = false
  await reserve.check()
  t.same(told, ['no answer', 'no answer'])
})
