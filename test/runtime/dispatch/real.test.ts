import t from 'tap'
import { modules } from '../../../machines/index.ts'
import { createDispatcher } from '../../../runtime/dispatch/dispatcher.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { createRuntime } from '../../../runtime/runtime.ts'
import { defaultSettings } from '../../../runtime/settings.ts'
import { MemoryJournal } from '../../storage/memory.ts'
import { createMessage, FakeNature, offered, poll, requestId } from './fake.ts'

function open(journal: MemoryJournal) {
  const nature = new FakeNature()
  const onFatal = (failure: Error): void => {
    throw failure
  }
  const runtime = createRuntime(
    journal,
    { ...defaultSettings, home: '/nowhere' },
    { nature, log: silentLogger, modules, onFatal },
  )
  return { nature, runtime, dispatcher: createDispatcher(runtime, silentLogger) }
}

const runner = {
  type: 'create',
  id: 'r1',
  allowed_projects: ['*'],
  capacity: 2,
  credential_hash: 'a'.repeat(64),
  fingerprint: 'f',
} as never

t.test('on the real actor system: create, poll, accept; and after a restart the same is held', async (t) => {
  const journal = new MemoryJournal()
  const first = open(journal)
  const ids = [requestId(1), requestId(2)]
  first.runtime.ask({ kind: 'runner', id: 'r1' }, runner, (answer) => t.ok(answer.ok, 'the runner is registered'))
  for (const id of ids)
    first.runtime.ask({ kind: 'run_request', id }, createMessage(id, {}), (answer) => t.ok(answer.ok, 'created'))
  first.nature.run()
  const asked = poll(first.dispatcher, 'r1')
  first.nature.run()
  t.equal(offered(asked), ids[0])
  const accepted = { type: 'accepted', runner_id: 'r1', attempt: 1 } as never
  first.runtime.ask({ kind: 'run_request', id: ids[0]! }, accepted, (answer) => t.ok(answer.ok, 'accepted'))
  first.nature.run()
  t.match(first.dispatcher.runnerSeen('r1'), { presence: 'online', in_flight: [ids[0]] })
  first.dispatcher.close()

  const second = open(journal)
  t.match(second.dispatcher.runnerSeen('r1'), { presence: 'online', in_flight: [ids[0]] })
  const next = poll(second.dispatcher, 'r1')
  second.nature.run()
  t.equal(offered(next), ids[1])
  second.nature.advance(30_100)
  t.equal(second.runtime.read({ kind: 'run_request', id: ids[1]! })?.value, 'queued', 'the offer ended in its time')
  second.dispatcher.close()
})
