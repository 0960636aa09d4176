/** When free space is checked, and what follows from it. */
import t, { type Test } from 'tap'
import { DiskReserve, freeBytesIn } from '../../../storage/home/disk-reserve.ts'
import { AdvanceablePlatform } from '../../platforms/advanceable.ts'

const MIB = 1024 * 1024
const RESERVE = 100 * MIB

function reserveOn(t: Test, onNoAnswer?: (failure: Error) => void) {
  const platform = new AdvanceablePlatform()
  const disk = { free: RESERVE, looks: 0, answers: true }
  const look = async () => {
    disk.looks += 1
    if (!disk.answers) throw new Error('no answer')
    return disk.free
  }
  const reserve = new DiskReserve(look, RESERVE, platform, onNoAnswer)
  t.teardown(() => reserve.stop())
  return { platform, disk, reserve }
}

t.test('the disk counts as low from the first byte below the reserve, and no longer at the reserve', async (t) => {
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

t.test('free space is checked every two seconds and after every 8 MiB written', async (t) => {
  const { platform, disk, reserve } = reserveOn(t)
  // The real clock goes on meanwhile: half a second for a slow machine.
  platform.advance(1_500)
  t.equal(disk.looks, 0)
  platform.advance(500)
  t.equal(disk.looks, 1)
  await reserve.check()
  const before = disk.looks
  reserve.wrote(8 * MIB - 1)
  t.equal(disk.looks, before, 'not before that much')
  reserve.wrote(1)
  t.equal(disk.looks, before + 1)
  await reserve.check()
  reserve.wrote(8 * MIB - 1)
  t.equal(disk.looks, before + 1, 'counted from the last check')
})

t.test('under the reserve, retention has room only where 64 MiB are free', async (t) => {
  const { disk, reserve } = reserveOn(t)
  disk.free = 64 * MIB - 1
  t.equal(await reserve.hasRoomToForget(), true, 'not checked while the disk is not known to be low')
  await reserve.check()
  t.equal(await reserve.hasRoomToForget(), false)
  disk.free = 64 * MIB
  t.equal(await reserve.hasRoomToForget(), true)
  disk.answers = false
  t.equal(await reserve.hasRoomToForget(), false)
})

t.test('when the file system gives no answer the last one stands, and each outage is reported once', async (t) => {
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

t.test(
  'a file system on which no more files can be made has nothing free, unless it does not count them',
  async (t) => {
    const room = { bavail: 3, bsize: 4096 }
    t.equal(freeBytesIn({ ...room, files: 1000, ffree: 16 }), 12_288)
    t.equal(freeBytesIn({ ...room, files: 1000, ffree: 15 }), 0)
    t.equal(freeBytesIn({ ...room, files: 0, ffree: 0 }), 12_288, 'as btrfs answers')
  },
)
