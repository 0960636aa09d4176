import t from 'tap'
import { journalContract } from './contract.ts'
import { MemoryJournal } from './memory.ts'
import { append, event, step } from './steps.ts'

journalContract(t, async () => new MemoryJournal())

t.test('a failed append leaves nothing behind and ends the memory journal', async (t) => {
  const journal = new MemoryJournal()
  await append(journal, step('a', 1, { events: [event('1')] }))
  journal.failNextAppend('the disk is gone')
  await t.rejects(append(journal, step('a', 2, { events: [event('2')] })), {
    name: 'JournalFailure',
    message: 'the disk is gone',
  })
  await t.rejects(append(journal, step('b', 1)), { name: 'JournalFailure' })
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  t.equal(journal.lastSequence, 1)
  t.equal(journal.refuses(), 'read_only')
})

t.test('a test can make the memory journal refuse writes with a reason', async (t) => {
  const journal = new MemoryJournal()
  journal.refuse('disk_reserve')
  t.equal(journal.refuses(), 'disk_reserve')
  journal.refuse(undefined)
  t.equal(journal.refuses(), undefined)
})
