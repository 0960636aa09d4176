/** What a start must survive, phase by phase, on the simulated disk: the cases that seeds have found. */
import t from 'tap'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import type { Commit } from '../../storage/journal.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { step } from '../storage/steps.ts'
import { type Deed, type DiskWorld, type Phase, SimulatedDisk } from './disk/disk.ts'
import { SimulatedPlatform } from './platform.ts'
import { Random } from './random.ts'
import { Timeline } from './timeline.ts'

class HandDriven implements DiskWorld {
  readonly timeline = new Timeline()
  readonly disk = new SimulatedDisk(this)
  /** What happens at the next of these phases. */
  deeds: Partial<Record<Phase, Deed>> = {}
  readonly clock = { offsetMs: 0 }
  readonly random = new Random(1)

  deedAt(phase: Phase): Deed {
    const deed = this.deeds[phase] ?? 'go on'
    delete this.deeds[phase]
    return deed
  }

  viewWriteMs = () => 1
  viewNewsMs = () => 1
  /** Whatever was written when the process ended is there for the next one. */
  chance = () => true
  onFlushed = () => {}

  /** The power fails under the current process. */
  losePower = (): void => {}

  /** Opens the journal as a process does; undefined when that process was struck down. */
  async open(): Promise<DiskJournal | undefined> {
    const { disk, timeline, random, clock } = this
    const opener = {
      isAlive: true,
      die: (by: 'kill' | 'power') => {
        opener.isAlive = false
        disk.abandon(by)
      },
    }
    this.losePower = () => opener.die('power')
    const platform = new SimulatedPlatform(timeline, random, clock, () => opener.isAlive)
    const medium = disk.medium('/home', opener)
    let journal: DiskJournal | undefined
    let failure: unknown
    openDiskJournal({ home: '/home', diskReserveBytes: 1, medium, platform, onFailure: () => {} }).then(
      (opened) => {
        journal = opened
      },
      (error: unknown) => {
        failure = error
      },
    )
    await timeline.run(() => timeline.nowMs > 0 && (journal !== undefined || failure !== undefined || !opener.isAlive))
    if (failure !== undefined && opener.isAlive) throw failure
    return opener.isAlive ? journal : undefined
  }
}

const write = (journal: DiskJournal, id: string): Commit | null => {
  let commit: Commit | null = null
  journal.append([step(id, 1)], (_, done) => {
    commit = done
  })
  return commit
}

t.test('a batch that a killed process wrote but did not flush never leaves the view ahead of its log', async (t) => {
  const world = new HandDriven()
  const first = await world.open()
  t.ok(write(first!, 'a'))
  world.deeds = { 'log written': 'kill' }
  t.equal(write(first!, 'b'), null)
  world.deeds = { 'view flushed': 'power' }
  t.equal(await world.open(), undefined, 'the power fails once the view has what the log has not flushed')
  const third = await world.open()
  t.equal(third!.actor('run_request', 'a'), step('a', 1).record)
})

t.test(
  'a batch that a read-only service shows survives a power failure, though an earlier process had not flushed it',
  async (t) => {
    const world = new HandDriven()
    const first = await world.open()
    world.deeds = { 'log written': 'kill' }
    t.equal(write(first!, 'a'), null)
    world.disk.fill(0)
    const readOnly = await world.open()
    t.equal(readOnly!.refuses(), 'read_only')
    t.equal(readOnly!.actor('run_request', 'a'), step('a', 1).record)
    world.losePower()
    world.disk.fill()
    const third = await world.open()
    t.equal(third!.actor('run_request', 'a'), step('a', 1).record)
  },
)
