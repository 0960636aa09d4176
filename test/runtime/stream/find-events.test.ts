/** Reading the log for a page: bounded in rows and in time, and nothing is skipped between two pages. */
import { setImmediate as untilNext } from 'node:timers/promises'
import t from 'tap'
import { Filter } from '../../../runtime/stream/filter.ts'
import { type EventsFound, findEvents, pageMsMax } from '../../../runtime/stream/find-events.ts'
import { FakeJournal, FakeNature } from './fake-log.ts'

/** A search that takes this long for each turn. */
async function search(log: FakeJournal, from: number, turnMs: number): Promise<EventsFound> {
  const nature = new FakeNature()
  let found: EventsFound | undefined
  const query = { filter: new Filter({ event_type: ['rare'] }), order: 'asc', from, limit: 10 } as const
  const done = findEvents(log, nature, query, () => true).then((page) => {
    found = page
  })
  while (found === undefined) {
    await untilNext()
    nature.nowMs += turnMs
    nature.turn()
  }
  await done
  return found
}

t.test('a page whose turns are long is answered short, and the next one goes on where it ended', async (t) => {
  const log = new FakeJournal()
  const types = Array.from({ length: 6_000 }, (_, n) => (n % 2_999 === 0 ? 'rare' : 'common'))
  log.commit(types.map((event_type) => ({ event_type, project: 'p' })))
  const whole = await search(log, 0, 1)
  t.equal(whole.texts.length, 3)
  t.equal(whole.next, undefined)

  const texts: string[] = []
  let pages = 0
  for (let from: number | undefined = 0; from !== undefined; pages++) {
    const page: EventsFound = await search(log, from, pageMsMax / 2)
    texts.push(...page.texts)
    from = page.next
  }
  t.same(texts, whole.texts)
  t.ok(pages > 2, `in ${pages} pages`)
})
