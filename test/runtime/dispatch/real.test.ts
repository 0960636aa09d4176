import t from 'tap'
import { modules } from '../../../machines/index.ts'
import { createDispatcher } from '../../../runtime/dispatch/dispatcher.ts'
import type { TimerWheel } from '../../../runtime/dispatch/wheel.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { createRuntime } from '../../../runtime/runtime.ts'
import { defaultSettings } from '../../../runtime/settings.ts'
import { ManualPlatform } from '../../platforms/manual.ts'
import { MemoryJournal } from '../../storage/memory.ts'
import { createMessage, offered, poll, requestId } from './fake.ts'

function open(journal: MemoryJournal) {
  const platform = new ManualPlatform()
  const onFatal = (failure: Error): void => {
    throw failure
  }
  const runtime = createRuntime(
    journal,
    { ...defaultSettings, home: '/nowhere' },
    { platform, log: silentLogger, modules, onFatal },
  )
  return { platform, runtime, dispatcher: createDispatcher(runtime, silentLogger) }
}

const runner = {
  type: 'create',
  id: 'r1',
  allowed_projects: ['*'],
  capacity: 2,
  credential_hash: 'a'.repeat(64),
  fingerprint: 'f',
} as never

t.test(
  'with the real runtime, requests are offered and accepted, and a restart keeps what is held and offered',
  async (t) => {
    const journal = new MemoryJournal()
    const first = open(journal)
    const ids = [requestId(1), requestId(2)]
    first.runtime.ask({ kind: 'runner', id: 'r1' }, runner, (answer) => t.ok(answer.ok, 'the runner is registered'))
    for (const id of ids)
      first.runtime.ask({ kind: 'run_request', id }, createMessage(id, {}), (answer) => t.ok(answer.ok, 'created'))
    first.platform.run()
    const asked = poll(first.dispatcher, 'r1')
    first.platform.run()
    t.equal(offered(asked), ids[0])
    const accepted = { type: 'accepted', runner_id: 'r1', attempt: 1 } as never
    first.runtime.ask({ kind: 'run_request', id: ids[0]! }, accepted, (answer) => t.ok(answer.ok, 'accepted'))
    first.platform.run()
    t.match(first.dispatcher.runnerSeen('r1'), { presence: 'online', in_flight: [ids[0]] })
    first.dispatcher.close()

    const second = open(journal)
    t.match(second.dispatcher.runnerSeen('r1'), { presence: 'online', in_flight: [ids[0]] })
    const next = poll(second.dispatcher, 'r1')
    second.platform.run()
    t.equal(offered(next), ids[1])
    second.platform.advance(30_100)
    t.equal(second.runtime.read({ kind: 'run_request', id: ids[1]! })?.value, 'queued', 'the offer expired on time')
    second.dispatcher.close()
  },
)

/** Its view is behind until a test gives room. */
class SlowJournal extends MemoryJournal {
  giveRoom: (() => void) | undefined
  hasRoom = true

  override waitForRoom(resume: () => void): boolean {
    this.giveRoom = resume
    return !this.hasRoom
  }
}

t.test(
  'a runner whose offline and online steps were both refused has one entry in the timer wheel, and is tracked again',
  async (t) => {
    const journal = new SlowJournal()
    const { platform, runtime, dispatcher } = open(journal)
    const { wheel } = dispatcher as unknown as { wheel: TimerWheel }
    const { presenceMs } = runtime.settings
    for (const id of ['silent', 'r2'])
      runtime.ask({ kind: 'runner', id }, { ...(runner as object), id } as never, (answer) => t.ok(answer.ok))
    platform.run()
    for (const id of ['silent', 'r2']) poll(dispatcher, id, 0)
    platform.advance(presenceMs - 1_000)
    poll(dispatcher, 'r2', presenceMs * 3)
    journal.hasRoom = false
    platform.advance(1_100)
    t.equal(dispatcher.runnerSeen('silent').presence, 'offline', 'its step waits for room')
    journal.refuse('disk_reserve')
    const asked = poll(dispatcher, 'silent', presenceMs * 3)
    platform.run()
    journal.hasRoom = true
    journal.giveRoom!()
    platform.run()
    // One presence and one parked poll each; a corrupted list would be walked for ever.
    if (!t.equal(wheel.size, 4)) return
    journal.refuse(undefined)
    platform.advance(presenceMs * 2)
    t.match(
      ['silent', 'r2'].map((id) => dispatcher.runnerSeen(id).presence),
      ['online', 'online'],
    )
    asked.handle.abort()
    platform.advance(presenceMs + 100)
    t.equal(dispatcher.runnerSeen('silent').presence, 'offline', 'presence expires as usual')
    dispatcher.close()
  },
)
