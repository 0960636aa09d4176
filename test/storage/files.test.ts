import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BackupAborted, backup, restoreFiles } from '../../storage/copies/backup.ts'
import { exportEvents } from '../../storage/copies/export.ts'
import { type ImportLine, readEvents } from '../../storage/copies/import.ts'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import type { Copy } from '../../storage/environments.ts'
import { openEnvironments } from '../../storage/home/home-environments.ts'
import { dataFilesOf, LOCK_FILE } from '../../storage/home/home-paths.ts'
import { lockInstance } from '../../storage/home/instance-lock.ts'
import { MAGIC } from '../../storage/segments/frame.ts'
import type { VerifyHooks } from '../../storage/verify/findings.ts'
import { verify, verifyHome } from '../../storage/verify/verify.ts'
import { modelAfter, nextBatch } from './kill-model.ts'
import { flipInEvents, rewriteLog } from './log-surgery.ts'
import { binaryOf, damage as damaged, FREELY, ofManyFiles, onPlatform, openIn } from './open.ts'
import { append, appendEvents, event, state, step } from './steps.ts'

/** Terms and ids as the model's records state them. */
const hooks: VerifyHooks = {
  terms: (_kind, _id, record) => {
    const { v } = JSON.parse(record) as { v: number }
    return [state(['queued', 'offered', 'started', 'completed'][v % 4]!)]
  },
  eventId: (text) => `evt_${JSON.parse(text).payload.name === 'wrong' ? 'other' : JSON.parse(text).id.slice(4)}`,
}

t.test('a backup made while steps are appended restores to a complete home with an epoch of its own', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  const { model } = modelAfter(0)
  let batch = 0
  let copying = true
  const writing = (async () => {
    while (copying || batch < 50) {
      await append(journal, ...nextBatch(model, ++batch))
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  while (batch < 20) await new Promise((resolve) => setImmediate(resolve))
  const { sequence } = await backup(journal, join(root, 'backup'), FREELY)
  copying = false
  await writing
  t.ok(sequence > 0)
  await t.rejects(async () => backup(journal, join(root, 'backup'), FREELY), { code: 'not_empty' })
  const { epoch, previousEpoch } = await restoreFiles(join(root, 'backup'), join(root, 'restored'))
  t.equal(previousEpoch, journal.epoch)
  t.not(epoch, previousEpoch)
  const restored = await openIn(t, join(root, 'restored'))
  t.equal(restored.epoch, epoch)
  t.ok(restored.lastSequence >= sequence)
  const expected = modelAfter(restored.applied.batch)
  t.equal(restored.lastSequence, expected.events)
  for (const [id, { version }] of expected.model) t.equal(JSON.parse(restored.actor('run_request', id)!).v, version)
  t.same((await verify(restored.environments, hooks)).findings, [])
  await t.rejects(restoreFiles(join(root, 'backup'), join(root, 'restored')), { code: 'not_empty' })
  await t.rejects(restoreFiles(join(root, 'nowhere'), join(root, 'other')), { code: 'corrupt' })
})

t.test('a backup during which the log grows past its bound is aborted and leaves nothing', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  await t.rejects(backup(journal, join(root, 'backup'), { ...FREELY, growthBytesMax: -1 }), { name: 'BackupAborted' })
  t.same(readdirSync(root), ['home'])
  t.equal((await appendEvents(journal, event('2'))).batch, 2)
})

t.test('a backup aborted while copying leaves nothing, and with the signal aborted no other begins', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  const stop = new AbortController()
  const reason = new BackupAborted('the service is stopping')
  let copies = 0
  onCopy(journal, (copy) => {
    copies += 1
    const log = copy.log.bind(copy)
    copy.log = () => {
      stop.abort(reason)
      return log()
    }
  })
  const back = () => backup(journal, join(root, 'backup'), FREELY, stop.signal)
  await t.rejects(back(), reason)
  await t.rejects(back(), reason)
  t.equal(copies, 1)
  t.same(readdirSync(root), ['home'])
  t.equal((await appendEvents(journal, event('2'))).batch, 2)
})

/** Calls `begun` with every copy that is started from now on. */
function onCopy({ environments }: DiskJournal, begun: (copy: Copy) => void): void {
  const copyTo = environments.copyTo.bind(environments)
  environments.copyTo = (directory) => {
    const copy = copyTo(directory)
    begun(copy)
    return copy
  }
}

t.test('a backup that would not leave the disk reserve free is not begun', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  const bounds = { ...FREELY, reserveBytes: 1_000_000 }
  const made = Array.from({ length: 5_000 }, (_, i) => event(`${i}`, { traceId: `t${i}` }))
  await appendEvents(journal, ...made)
  await journal.settled()
  // The view's file is longer than a copy of it.
  await journal.trim({ beforeSequence: 2_001 })
  let missing = 1
  let needed = 0
  onCopy(journal, (copy) => {
    needed = copy.bytesNeeded
    Object.assign(copy, { freeBytes: async () => needed + 1_000_000 - missing })
  })
  await t.rejects(backup(journal, join(root, 'backup'), bounds), {
    name: 'BackupAborted',
    message: /^a backup needs \d+ bytes besides the disk reserve of 1000000, but only \d+ are free$/,
  })
  t.same(readdirSync(root), ['home'])
  missing = 0
  const { bytes } = await backup(journal, join(root, 'backup'), bounds)
  t.ok(Math.abs(bytes - needed) < 100_000, `${needed} bytes were estimated, ${bytes} were taken`)
  t.ok(statSync(join(root, 'home', 'view', 'data.mdb')).size > statSync(join(root, 'backup', 'view', 'data.mdb')).size)
})

t.test('a backup that reaches the disk reserve is aborted', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  await journal.settled()
  onCopy(journal, (copy) => {
    const view = copy.view.bind(copy)
    copy.view = async () => {
      await view()
      Object.assign(copy, { freeBytes: async () => 999 })
    }
    copy.log = () => Promise.reject(new Error('the log was copied all the same'))
  })
  await t.rejects(backup(journal, join(root, 'backup'), { ...FREELY, reserveBytes: 1_000 }), {
    name: 'BackupAborted',
    message: /fell below the disk reserve during the backup/,
  })
  t.same(readdirSync(root), ['home'])
  t.equal((await appendEvents(journal, event('2'))).batch, 2)
})

t.test('free space is looked at again after each part of a backup', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  onCopy(journal, (copy) => {
    const view = copy.view.bind(copy)
    copy.view = async () => {
      await view()
      // A look that begins before the view's copy ends and is answered after it.
      const answer = await new Promise<(bytes: number) => void>((asked) => {
        Object.assign(copy, { freeBytes: () => new Promise<number>(asked) })
      })
      Object.assign(copy, { freeBytes: async () => 999 })
      setTimeout(answer, 10, 1e12)
    }
    copy.log = () => Promise.reject(new Error('the log was copied all the same'))
  })
  await t.rejects(backup(journal, join(root, 'backup'), { ...FREELY, reserveBytes: 1_000 }), {
    name: 'BackupAborted',
    message: /fell below the disk reserve during the backup/,
  })
  t.same(readdirSync(root), ['home'])
})

t.test('giving up a copy of the log ends it', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, ...Array.from({ length: 2_000 }, (_, i) => event(`${i}`)))
  const copy = journal.environments.copyTo(join(root, 'backup'))
  const copying = copy.log()
  copy.giveUp()
  await t.rejects(copying, { name: 'AbortError' })
  copy.discard()
  t.same(readdirSync(root), ['home'])
})

t.test(
  "a start deletes what a killed backup left among the home's backups, before it looks at the free space",
  async (t) => {
    const home = join(t.testdir(), 'home')
    const { epoch } = await openIn(t, home).then(async (journal) => {
      await journal.close()
      return journal
    })
    const backups = join(home, 'backups')
    const left = join(backups, `.unfinished-${epoch}`)
    // As earlier versions named it.
    const former = join(backups, `unfinished-${epoch}`)
    for (const folder of [left, former, join(backups, 'unfinished-other'), join(backups, 'whole')]) {
      mkdirSync(join(folder, 'view'), { recursive: true })
      writeFileSync(join(folder, 'view', 'data.mdb'), 'half')
    }
    const journal = await openIn(t, home, { freeBytes: async () => (existsSync(left) ? 0 : 1e12) })
    t.equal(journal.refuses(), undefined)
    t.same(readdirSync(backups).sort(), ['unfinished-other', 'whole'])
  },
)

t.test('a backup gets its name only once complete, and what a killed one left is deleted by the next', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, event('1'))
  const left = join(root, `.unfinished-${journal.epoch}`)
  mkdirSync(join(left, 'log'), { recursive: true })
  writeFileSync(join(left, 'log', '0000000001.segment'), 'half')
  onCopy(journal, (copy) => {
    const log = copy.log.bind(copy)
    copy.log = async () => {
      t.notOk(existsSync(join(root, 'backup')), 'not there before it is complete')
      await log()
    }
  })
  await backup(journal, join(root, 'backup'), FREELY)
  t.same(readdirSync(root).sort(), ['backup', 'home'])
  await restoreFiles(join(root, 'backup'), join(root, 'restored'))
})

t.test(
  'a restored home appears only once it is settled; a failed or killed restore leaves nothing that is served',
  async (t) => {
    const root = t.testdir()
    const journal = await openIn(t, join(root, 'home'))
    await appendEvents(journal, event('1'))
    await backup(journal, join(root, 'backup'), FREELY)
    const home = join(root, 'restored')
    await t.rejects(
      restoreFiles(join(root, 'backup'), home, {
        async settle(draft) {
          t.same(readdirSync(home), ['restoring'])
          const settled = await openIn(t, draft)
          await appendEvents(settled, event('2'))
          await settled.close()
          throw new Error('not fenced')
        },
      }),
      { message: 'not fenced' },
    )
    t.notOk(existsSync(home), 'there was none before')
    mkdirSync(join(home, 'restoring', 'log'), { recursive: true })
    await restoreFiles(join(root, 'backup'), home, {
      async settle(draft) {
        const settled = await openIn(t, draft)
        await appendEvents(settled, event('2'))
        await settled.close()
      },
    })
    t.same(readdirSync(home).sort(), ['log', 'view'])
    t.equal((await openIn(t, home)).lastSequence, 2)
  },
)

t.test('on other platforms, a home can be restored from without changing it, unless its lock is held', async (t) => {
  onPlatform(t, 'darwin')
  const root = t.testdir()
  const home = join(root, 'home')
  const journal = await openIn(t, home)
  await appendEvents(journal, event('1'))
  await journal.close()
  const named = () => readdirSync(home)
  const before = named()
  const changedBefore = statSync(home).mtimeMs
  let seen: string[] = []
  await restoreFiles(home, join(root, 'restored'), {
    async check() {
      seen = named()
    },
  })
  t.same([seen, named()], [before, before])
  t.equal(statSync(home).mtimeMs, changedBefore)
  const lock = await lockInstance(home)
  await t.rejects(restoreFiles(home, join(root, 'other')), { code: 'locked', message: /home is in use by process/ })
  t.notOk(existsSync(join(root, 'other')))
  await lock.release()
})

t.test('a backup or home with a truncated file is refused', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  await appendEvents(journal, ...Array.from({ length: 4_000 }, (_, i) => event(`${i}`)))
  await journal.settled()
  await backup(journal, join(root, 'backup'), FREELY)
  await journal.close()
  const cut = { code: 'corrupt', message: /is truncated: .*restore a backup/ }
  for (const name of ['log/0000000001.segment', 'view/data.mdb']) {
    for (const place of ['backup', 'home']) {
      const isLogOfHome = place === 'home' && name.startsWith('log')
      const refusal = isLogOfHome ? { code: 'view_ahead', message: /the log has lost batches.*restore a backup/ } : cut
      const file = join(root, place, name)
      const bytes = readFileSync(file)
      truncateSync(file, bytes.length / 2)
      const use = async () =>
        place === 'backup' ? restoreFiles(join(root, place), join(root, 'to')) : openIn(t, join(root, place))
      await t.rejects(use, { name: 'HomeRefused', ...refusal })
      const found = isLogOfHome ? [{ code: 'view_ahead' }] : [{ code: 'unreadable', detail: /is truncated/ }]
      t.match((await verifyHome(join(root, place))).findings.slice(0, 1), found)
      writeFileSync(file, bytes)
    }
  }
  t.equal((await openIn(t, join(root, 'home'))).lastSequence, 4_000)
  writeFileSync(join(root, 'backup', 'backup.json'), '{"log')
  await t.rejects(restoreFiles(join(root, 'backup'), join(root, 'to')), {
    code: 'corrupt',
    message: /backup\.json is not JSON/,
  })
})

t.test('opening read-only leaves no temporary folder behind, even when it fails', async (t) => {
  const root = t.testdir({ temporary: {} })
  const { TMPDIR } = process.env
  process.env.TMPDIR = join(root, 'temporary')
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  const home = join(root, 'home')
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  const environments = await openEnvironments(home, () => {}, { readOnly: true })
  t.equal(readdirSync(process.env.TMPDIR).length, 1)
  t.ok(environments.view.snapshots.get(['run_request', 'a']))
  await environments.close()
  t.same(readdirSync(process.env.TMPDIR), [])
  rmSync(join(home, 'view', 'data.mdb'))
  await t.rejects(openEnvironments(home, () => {}, { readOnly: true }))
  t.same(readdirSync(process.env.TMPDIR), [])
})

t.test('verify finds nothing in a sound home, whether it is in service or closed', async (t) => {
  const home = join(t.testdir(), 'home')
  const journal = await openIn(t, home)
  const { model } = modelAfter(0)
  for (let n = 1; n <= 40; n += 1) await append(journal, ...nextBatch(model, n))
  const inService = await verify(journal.environments, hooks)
  t.same(inService.findings, [])
  await journal.settled()
  await journal.trim({ beforeSequence: 10 })
  t.same((await verify(journal.environments, hooks)).findings, [])
  await journal.close()
  const closed = await verifyHome(home, hooks)
  t.same(closed, { findings: [], findingsCount: 0, events: journal.lastSequence - 9, entities: model.size })
  t.match((await verifyHome(join(home, 'nowhere'), hooks)).findings, [{ code: 'unreadable' }])
})

const secondRow = ({ environments: { log } }: DiskJournal) => [...log.events.getKeys()][1]!

/** Damages to the log, done to a closed home. */
const ofTheLog: Readonly<Record<string, (home: string, second: number) => void>> = {
  hole: (home, second) => rewriteLog(home, ({ events }) => events.delete(second)),
  'unreadable ': (home, second) => rewriteLog(home, ({ events }) => events.set(second, 'no JSON')),
  'hole ': (home) => rewriteLog(home, ({ events }) => events.delete([...events.keys()].at(-1)!)),
}

t.test('verify accepts a message in the outbox whose sender retention has removed', async (t) => {
  const journal = await openIn(t, t.testdir())
  const events = Array.from({ length: 20 }, (_, n) => event(`old ${n}`))
  const message = { n: 1, toKind: 'work_item', toId: 'wi_1', message: { type: 'run_ended' } }
  await append(journal, step('sender', 1, { termsAdded: [state('settled')], events, outbox: [message] }))
  await journal.settled()
  while ((await journal.trim({ beforeSequence: 18 })).more);
  t.equal(await journal.removeEntities([{ kind: 'run_request', id: 'sender', terms: [state('settled')] }]), 1)
  t.same((await verify(journal.environments)).findings, [])
  t.match([...journal.outbox()], [{ id: 'sender', toId: 'wi_1' }], 'it is still to be delivered')
})

t.test('verify reports each kind of damage', async (t) => {
  type Damage = (journal: DiskJournal) => unknown
  const damages: Record<string, Damage> = {
    ...Object.fromEntries(Object.keys(ofTheLog).map((code) => [code, () => {}])),
    checksum: (journal) => flipInEvents(journal.home, secondRow(journal), 9),
    wrong_id: (journal) => appendEvents(journal, event('wrong')),
    not_indexed: ({ environments: { view } }) => view.eventIds.remove([...view.eventIds.getKeys({ limit: 1 })][0]!),
    recorded_twice: (journal) => appendEvents(journal, event('1.1.0', { traceId: 'r6', itemId: 'wi_1' })),
    index_of_nothing: ({ environments: { view } }) => view.eventIds.put(['demo', 't', 'evt_x'], '900'),
    index_wrong: ({ environments: { view } }) => view.eventIds.put(['demo', 't', 'evt_x'], '1'),
    not_in_history: ({ environments: { view } }) =>
      view.histories.remove([...view.histories.getKeys({ start: ['trace'], limit: 1 })][0]!),
    history_disordered: ({ environments: { view } }) => {
      const [of, id, row] = [...view.histories.getKeys({ start: ['trace'], limit: 1 })][0] as [string, string, number]
      return view.histories.put([of, id, row], '0')
    },
    history_wrong: ({ environments: { view } }) => view.histories.put(['trace', 'unheard', 1], ''),
    'not_in_history ': ({ environments: { view } }) =>
      view.histories.remove([...view.histories.getKeys({ start: ['item'], limit: 1 })][0]!),
    'history_wrong ': ({ environments: { view } }) => view.histories.put(['item', 'wi_unheard', 1], ''),
    // A flipped bit that leaves it valid JSON.
    'record_unreadable ': ({ home, environments: { view } }) => {
      const raw = binaryOf(home, 'snapshots', ['run_request', 'r5'])
      raw[raw.indexOf('"v":') + 4]! ^= 1
      return view.snapshots.put(['run_request', 'r5'], { '\x10binary-data\x02': raw } as never)
    },
    record_unreadable: ({ environments: { view } }) => view.snapshots.put(['run_request', 'r1'], '{'),
    not_listed: ({ environments: { view } }) => view.entities.remove([...view.entities.getKeys({ limit: 1 })][0]!),
    list_of_nothing: ({ environments: { view } }) =>
      view.entities.put(['run_request', 'state', 'queued', 'o', 'ghost'], ''),
    list_wrong: ({ environments: { view } }) => view.entities.put(['run_request', 'state', 'nowhere', 'o', 'r5'], ''),
    'list_wrong by its order': ({ environments: { view } }) => {
      const [kind, index, value, , id] = [...view.entities.getKeys({ limit: 1 })][0] as string[]
      return view.entities.put([kind!, index!, value!, 'elsewhere', id!], '')
    },
    'count_wrong of a list with rows': ({ environments: { view } }) => {
      const [kind, index, value] = [...view.entities.getKeys({ limit: 1 })][0] as string[]
      return view.counts.put([kind!, index!, value!], '99')
    },
    count_wrong: ({ environments: { view } }) => view.counts.put(['run_request', 'state', 'nowhere'], '3'),
    timer_of_nothing: ({ environments: { view } }) => view.timers.put([5, 'run_request', 'ghost', 'x'], '[1,{}]'),
    message_of_nothing: ({ environments: { view } }) =>
      view.outbox.put(['run_request', 'ghost', 1], '["runner","r",{}]'),
    'checksum of a timer': ({ environments: { view } }) => damaged(view.timers, [5, 'run_request', 'r5', 'x']),
    'checksum of a message': ({ environments: { view } }) => damaged(view.outbox, ['run_request', 'r5', 9]),
    'checksum of a kept key': ({ environments: { view } }) => damaged(view.reservations, ['s', 'k']),
    'unreadable timer': ({ environments: { view } }) => view.timers.put([5, 'run_request', 'r5', 'x'], '['),
    view_of_another_log: ({ environments: { view }, applied }) =>
      view.marker.put('marker', JSON.stringify({ ...applied, epoch: 'x' })),
    view_ahead: ({ environments: { view }, applied }) =>
      view.marker.put('marker', JSON.stringify({ ...applied, batch: 99 })),
    redo_missing: ({ environments: { view }, applied }) =>
      view.marker.put('marker', JSON.stringify({ ...applied, batch: 1 })),
  }
  const root = t.testdir()
  for (const [code, damage] of Object.entries(damages)) {
    const home = join(root, code)
    const journal = await openIn(t, home)
    const { model } = modelAfter(0)
    for (let n = 1; n <= 3; n += 1) await append(journal, ...nextBatch(model, n))
    const second = secondRow(journal)
    await journal.close()
    ofTheLog[code]?.(home, second)
    const sound = await openIn(t, home)
    let done: unknown
    await sound.environments.view.env.commit(() => {
      done = damage(sound)
    })
    await done
    await sound.settled()
    const { findings } = await verify(sound.environments, hooks)
    t.ok(
      findings.some((finding) => finding.code === code.split(' ')[0]),
      `${code}: ${JSON.stringify(findings)}`,
    )
    if (code === 'record_unreadable ') t.match(findings[0]!.detail, 'does not match its checksum')
    await sound.close()
  }
})

t.test('an entity that would wait for ever, since its timer is gone, is found', async (t) => {
  const journal = await openIn(t, t.testdir())
  const { model } = modelAfter(0)
  for (let n = 1; n <= 3; n += 1) await append(journal, ...nextBatch(model, n))
  await journal.settled()
  const timers = (_: string, id: string): string[] => (id === 'r5' ? ['due'] : [])
  const missing = async () => {
    const { findings } = await verify(journal.environments, { ...hooks, timers })
    return findings.filter(({ code }) => code === 'timer_missing').map(({ where }) => where)
  }
  t.same(await missing(), ['timer due of run_request r5'])
  await journal.environments.view.env.commit(() => {
    void journal.environments.view.timers.put([5, 'run_request', 'r5', 'due'], '[1,{}]')
  })
  t.same(await missing(), [])
  await journal.close()
})

t.test('an export holds every event once, as served, in the file of its month, and can be continued', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  const made = [
    event('1', { occurredAt: '2026-10-31T23:59:59.999999Z' }),
    event('2', { occurredAt: '2026-11-01T00:30:00.000000+02:00' }),
    event('3', { occurredAt: '2026-11-01T00:00:00.000000Z' }),
    event('4', { occurredAt: 'some day' }),
  ]
  await appendEvents(journal, ...made)
  const directory = join(root, 'out')
  const report = await exportEvents(journal.home, directory)
  t.same(report.files, { 'events-2026-10.jsonl': 2, 'events-2026-11.jsonl': 1, 'events-undated.jsonl': 1 })
  t.equal(report.events, 4)
  t.equal(readFileSync(join(directory, 'events-2026-10.jsonl'), 'utf8'), `${made[0]!.text}\n${made[1]!.text}\n`)
  await appendEvents(journal, event('5', { occurredAt: '2026-11-02T00:00:00.000000Z' }))
  t.equal((await exportEvents(journal.home, directory, { sequence: report.lastSequence })).events, 1)
  t.equal(readFileSync(join(directory, 'events-2026-11.jsonl'), 'utf8').split('\n').length, 3)
  const place = { epoch: report.log.epoch, sequence: 5, incarnation: report.log.incarnationAt(5) }
  const again = await exportEvents(journal.home, directory, place)
  t.match(again, { log: { epoch: journal.epoch }, events: 0, firstSequence: 6, lastSequence: 5, forgotten: 0 })
  await t.rejects(exportEvents(journal.home, directory, { sequence: 6 }), /another log: its last event is 5/)
  await t.rejects(exportEvents(journal.home, directory, { epoch: 'another', sequence: 1 }), /this log is /)
  await journal.settled()
  await journal.trim({ beforeSequence: 4 })
  t.match(await exportEvents(journal.home, directory, { sequence: 1 }), { events: 2, firstSequence: 4, forgotten: 2 })
  t.match(await exportEvents(journal.home, directory, { sequence: 3 }), { events: 2, forgotten: 0 })
  t.match(
    await exportEvents(journal.home, directory),
    { events: 2, forgotten: 0 },
    'a full export promises no earlier events',
  )
})

/** The process may open fewer files than there are months in fifty years. */
const FEW_FILES = `ulimit -n 200 && exec "$0" --input-type=module -e "$1"`

t.test('events of more months than a process may open files are exported', async (t) => {
  const root = t.testdir()
  const journal = await openIn(t, join(root, 'home'))
  const months = Array.from({ length: 600 }, (_, i) => new Date(Date.UTC(1950, i, 2)).toISOString())
  await appendEvents(journal, ...months.map((occurredAt) => event(occurredAt, { occurredAt })))
  await journal.close()
  const directory = join(root, 'out')
  const from = JSON.stringify(new URL('../../storage/copies/export.js', import.meta.url).href)
  const script = `const { exportEvents } = await import(${from}); await exportEvents(${JSON.stringify(journal.home)}, ${JSON.stringify(directory)})`
  const { status, stderr } = spawnSync('sh', ['-c', FEW_FILES, process.execPath, script], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
  t.equal(readdirSync(directory).length, 600)
})

const logFiles = (home: string) => dataFilesOf(join(home, 'log'))

function flipByte(path: string, at: (bytes: Buffer) => number): void {
  const bytes = readFileSync(path)
  bytes[at(bytes)]! ^= 1
  writeFileSync(path, bytes)
}

/** The content of every file. */
function bytesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => !name.endsWith(LOCK_FILE))
  const files = names.filter((name) => statSync(join(folder, name)).isFile())
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), 'latin1')]))
}

const EVENTS = 60

interface Hurt {
  readonly hurt: (home: string) => unknown
  /** The code with which a start refuses the home; undefined: it does not. */
  readonly code?: string
  /** The events that cannot be read; undefined: those of one file. */
  readonly lost?: readonly number[]
}

const hurts: Readonly<Record<string, Hurt>> = {
  'without its view': {
    hurt: (home) => rmSync(join(home, 'view'), { recursive: true }),
    code: 'redo_missing',
    lost: [],
  },
  'with a view that is cut short': {
    hurt: (home) => truncateSync(join(home, 'view', 'data.mdb'), 8_192),
    code: 'corrupt',
    lost: [],
  },
  'with a log that ends before its view': {
    hurt: (home) => truncateSync(logFiles(home).at(-1)!, 0),
    code: 'view_ahead',
    lost: [],
  },
  'of which an event in the newest file is damaged': {
    hurt: (home) => flipInEvents(home, EVENTS - 1, 9),
    code: 'corrupt',
    lost: [EVENTS - 1],
  },
  'of which the newest file begins with a damaged byte': {
    hurt: (home) => flipByte(logFiles(home).at(-1)!, () => 9),
    code: 'corrupt',
    lost: [],
  },
  'of which the last commit was only begun to be written': {
    hurt: (home) => truncateSync(logFiles(home).at(-1)!, statSync(logFiles(home).at(-1)!).size - 1),
    lost: [],
  },
  'of which a file is missing': { hurt: (home) => rmSync(logFiles(home)[1]!), code: 'corrupt' },
  'of which an event in a full file is damaged': { hurt: (home) => flipInEvents(home, 3, 9), lost: [3] },
  'of which a full file has lost the places of its rows and a commit': {
    hurt(home) {
      const [path] = logFiles(home)
      flipByte(path!, (bytes) => bytes.readDoubleLE(bytes.length - 8) + 40)
      // In the directory of its frame, which ends where the next frame begins.
      flipByte(path!, (bytes) => bytes.indexOf(MAGIC, bytes.indexOf('"name":"3"')) - 20)
    },
    lost: [3],
  },
}

t.test(
  'an export takes everything readable from a damaged home, even one that a start refuses, and changes nothing',
  async (t) => {
    const root = t.testdir()
    await ofManyFiles(t, join(root, 'home'), EVENTS)
    t.ok(logFiles(join(root, 'home')).length > 3)
    for (const [name, { hurt, code, lost }] of Object.entries(hurts)) {
      const home = join(root, `home ${name}`)
      cpSync(join(root, 'home'), home, { recursive: true })
      hurt(home)
      const before = bytesIn(home)
      const out = join(root, `events ${name}`)
      const report = await exportEvents(home, out)
      t.strictSame(bytesIn(home), before, `a home ${name} is as it was`)
      const taken = readdirSync(out).flatMap((file) => readFileSync(join(out, file), 'utf8').trim().split('\n'))
      const numbers = new Set(taken.map((text) => Number(JSON.parse(text).payload.name)))
      const last = code === 'view_ahead' ? Math.max(...numbers) : EVENTS
      const missing = Array.from({ length: last }, (_, i) => i + 1).filter((n) => !numbers.has(n))
      t.equal(numbers.size, taken.length, 'none twice')
      if (lost === undefined) t.ok(missing.length > 1 && missing.length < EVENTS / 2, `${missing}`)
      else t.same(missing, lost, `a home ${name}`)
      t.match(report, { events: taken.length, unreadable: missing.length })
      const gap = { firstSequence: missing[0], lastSequence: missing.at(-1) }
      t.same(report.gaps, missing.length === 0 ? [] : [gap])
      if (code !== undefined) await t.rejects(openIn(t, home), { code })
    }
  },
)

t.test('verify accepts as many rows below the floor as one step of retention leaves, and reports more', async (t) => {
  const home = join(t.testdir(), 'home')
  const made = await openIn(t, home)
  await appendEvents(made, ...Array.from({ length: 3_000 }, (_, i) => event(`${i}`)))
  await made.close()
  // As commits of one event each leave them.
  rewriteLog(home, ({ events }) => {
    for (const [first, text] of [...events])
      for (const [i, line] of text.split('\n').entries()) events.set(first + i, line)
  })
  const journal = await openIn(t, home)
  t.same(await journal.trim({ beforeSequence: 2_900 }), { removed: 2_000, more: true })
  t.same((await verify(journal.environments)).findings, [], 'a backup between two steps has as many')
  await journal.close()
  rewriteLog(home, ({ head }) => {
    head.floor = '2900'
  })
  t.match((await verifyHome(home)).findings, [{ code: 'below_floor', detail: /more than 2000 rows before 2900/ }])
})

t.test('verify of a home in service does not compare the view with an older moment of the log', async (t) => {
  const home = join(t.testdir(), 'home')
  const journal = await openIn(t, home)
  await appendEvents(journal, event('1'))
  await journal.settled()
  const environments = await openEnvironments(home, () => {}, { readOnly: true })
  await appendEvents(journal, event('2'))
  await journal.settled()
  t.match(await verify(environments), { findings: [], events: 2 })
  await environments.close()
})

t.test('an import skips lines that it cannot read, reports where, and goes on', async (t) => {
  const path = join(t.testdir(), 'events.jsonl')
  const lines = [event('1').text, '{"broken"', '', '[1]', `{"é":"${'x'.repeat(200_000)}"}`]
  writeFileSync(path, `${lines.join('\n')}\n`)
  appendFileSync(path, Buffer.from([0x7b, 0xff, 0x7d, 0x0a]))
  appendFileSync(path, event('2').text)
  const read: ImportLine[] = []
  for await (const line of readEvents(path)) read.push(line)
  const offset = (n: number) => lines.slice(0, n).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  t.match(read, [
    { ok: true, line: 1, offset: 0, event: { id: event('1').id } },
    { ok: false, line: 2, offset: offset(1) },
    { ok: false, line: 4, offset: offset(3), reason: 'not a JSON object' },
    { ok: true, line: 5, offset: offset(4) },
    { ok: false, line: 6, offset: offset(5) },
    { ok: true, line: 7, offset: offset(5) + 4, event: { id: event('2').id } },
  ])
  await t.rejects(async () => {
    for await (const _ of readEvents(`${path}.nowhere`)) t.fail('read')
  })
})
