import { join } from 'node:path'
import t from 'tap'
import type { DiskJournal } from '../../../storage/disk-journal.ts'
import { verify } from '../../../storage/verify/verify.ts'
import { Indexes } from '../../../storage/view/indexes.ts'
import { openIn } from '../open.ts'
import { AT, append, state, step } from '../steps.ts'

/** What this version's machine lists an entity under: its state as before, and a tag that is new. */
const termsOf = (record: string) => {
  const { id } = JSON.parse(record)
  if (id === 'broken') return undefined
  return [state(id === 'b' ? 'offered' : 'queued'), { index: 'tag', value: `tag of ${id}`, order: 'o' }]
}

const listed = ({ environments: { view } }: DiskJournal) =>
  [...view.entities.getKeys({})].map((key) => key.join(' ')).sort()

t.test(
  'a rebuild adds missing rows, removes wrong ones and recounts, and leaves unreadable entities as they are',
  async (t) => {
    const home = join(t.testdir(), 'home')
    const journal = await openIn(t, home)
    for (const id of ['a', 'b', 'broken', 'c'])
      await append(journal, step(id, 1, { termsAdded: [state('queued')], events: [] }))
    await append(journal, step('x', 1, { kind: 'runner', termsAdded: [{ index: 'all', value: '', order: 'o' }] }))
    await journal.settled()
    const { view } = journal.environments
    await view.env.commit(() => {
      view.counts.put(['run_request', 'state', 'gone'], '7')
      view.entities.put(['run_request', 'state', 'queued', 'o', 'ghost'], '')
    })
    const indexes = new Indexes(view)
    t.same(indexes.versions(), {})
    t.equal(await indexes.rebuild('run_request', termsOf), 6, 'three tags and one state added, two rows removed')
    t.same(
      listed(journal),
      [
        `run_request state offered ${AT} b`,
        `run_request state queued ${AT} a`,
        `run_request state queued ${AT} broken`,
        `run_request state queued ${AT} c`,
        'run_request tag tag of a o a',
        'run_request tag tag of b o b',
        'run_request tag tag of c o c',
        'runner all  o x',
      ].sort(),
    )
    t.equal(journal.count('run_request', 'state', 'queued'), 3)
    t.equal(journal.count('run_request', 'state', 'offered'), 1)
    t.equal(journal.count('run_request', 'state', 'gone'), 0)
    t.equal(journal.count('runner', 'all', ''), 1, 'other kinds are left alone')
    t.same((await verify(journal.environments)).findings, [])
    t.equal(await indexes.rebuild('run_request', termsOf), 0, 'a second rebuild changes nothing')
    await indexes.note({ run_request: 2 })
    await journal.close()
    t.same(new Indexes((await openIn(t, home)).environments.view).versions(), { run_request: 2 })
  },
)
