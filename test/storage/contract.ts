/**
 * What every journal promises, whatever it is stored in. Each test gets a new journal from the factory; reads are made
 * twice, right after the append and once the view has caught up, since the answer must not differ.
 */

import fc from 'fast-check'
import type { Test } from 'tap'
import { instantMs } from '../../machines/instant.ts'
import type { Journal, ListQuery } from '../../storage/journal.ts'
import { AT, append, appendEvents, event, state, step } from './steps.ts'

type Make = (t: Test) => Promise<Journal>

const ids = (rows: Iterable<{ id: string }>): string[] => [...rows].map(({ id }) => id)
const query = (value: string, rest: Partial<ListQuery> = {}): ListQuery => ({
  kind: 'run_request',
  index: 'state',
  value,
  limit: 100,
  reverse: false,
  ...rest,
})

/** Returns the answer now and the answer once everything is settled; both must be the expected one. */
async function twice<V>(journal: Journal, ask: () => V): Promise<[V, V]> {
  const early = ask()
  await journal.settled()
  return [early, ask()]
}

export function journalContract(t: Test, make: Make): void {
  appends(t, make)
  readsByKey(t, make)
  lists(t, make)
  timersAndMessages(t, make)
  pages(t, make)
  retention(t, make)
}

function appends(t: Test, make: Make): void {
  t.test('a new journal is empty and has an epoch of twelve characters', async (t) => {
    const journal = await make(t)
    t.match(journal.epoch, /^[a-z0-9]{12}$/)
    t.equal(journal.lastSequence, 0)
    t.equal(journal.oldestSequence, 1)
    t.equal(journal.refuses(), undefined)
    t.same(journal.events(0, 10, 1000), { events: [], oldestSequence: 1, lastSequence: 0 })
  })

  t.test('batches and events are numbered in the order of the steps, without a hole', async (t) => {
    const journal = await make(t)
    const a = step('a', 1, { events: [event('1'), event('2')] })
    const b = step('b', 1, { events: [event('3')] })
    t.same(pick(await append(journal, a, b)), { batch: 1, firstSequence: 1, lastSequence: 3 })
    t.same(pick(await append(journal, step('c', 1))), { batch: 2, firstSequence: 4, lastSequence: 3 })
    t.same(pick(await appendEvents(journal, event('4'))), { batch: 3, firstSequence: 4, lastSequence: 4 })
    t.equal(journal.lastSequence, 4)
    t.equal(journal.event(3), event('3').text)
    t.equal(journal.event(5), undefined)
  })

  t.test('append of a synchronous journal has committed when it returns', async (t) => {
    const journal = await make(t)
    let answered = false
    journal.append([step('a', 1), step('a', 2)], () => {
      answered = true
    })
    t.equal(answered, journal.synchronous)
    if (journal.synchronous) t.equal(journal.actor('run_request', 'a'), step('a', 2).record)
  })

  t.test(
    'a step whose id cannot be part of a key is refused before anything is written, and the journal goes on',
    async (t) => {
      const journal = await make(t)
      t.throws(() => journal.append([step('a', 1), step('x'.repeat(500), 1)], () => {}), { name: 'RangeError' })
      t.throws(() => journal.append([step('a\nb', 1)], () => {}), { name: 'RangeError' })
      t.throws(() => journal.append([step('', 1)], () => {}), { name: 'RangeError' })
      t.equal(journal.actor('run_request', 'a'), undefined)
      t.equal((await append(journal, step('a', 1))).batch, 1)
    },
  )

  t.test('a closed journal refuses appends', async (t) => {
    const journal = await make(t)
    await journal.close()
    await t.rejects(append(journal, step('a', 1)), { name: 'JournalFailure' })
    t.equal(journal.refuses(), 'read_only')
  })
}

function readsByKey(t: Test, make: Make): void {
  t.test("an actor's record is the last one appended, whether or not the view has it", async (t) => {
    const journal = await make(t)
    await append(journal, step('a', 1))
    await journal.settled()
    await append(journal, step('a', 2), step('b', 1))
    await append(journal, step('a', 3))
    for (const record of await twice(journal, () => journal.actor('run_request', 'a'))) {
      t.equal(record, step('a', 3).record)
    }
    t.equal(journal.actor('run_request', 'c'), undefined)
    t.equal(journal.actor('runner', 'a'), undefined)
  })

  t.test('an event is found by project, trace and id together', async (t) => {
    const journal = await make(t)
    await append(journal, step('a', 1, { events: [event('1', { traceId: 't1' }), event('1', { traceId: 't2' })] }))
    await append(journal, step('b', 1, { events: [event('1'), event('1', { project: 'other', traceId: 't1' })] }))
    const { id } = event('1')
    const ask = () => [
      journal.eventSequence('demo', 't1', id),
      journal.eventSequence('demo', 't2', id),
      journal.eventSequence('demo', null, id),
      journal.eventSequence('other', 't1', id),
      journal.eventSequence('other', 't2', id),
      journal.eventSequence('demo', 't1', 'evt_unknown'),
    ]
    for (const answer of await twice(journal, ask)) t.same(answer, [1, 2, 3, 4, undefined, undefined])
    const traces = () => [
      journal.hasTrace('demo', 't1'),
      journal.hasTrace('other', 't1'),
      journal.hasTrace('other', 't2'),
      journal.hasTrace('demo', 't'),
    ]
    for (const answer of await twice(journal, traces)) t.same(answer, [true, true, false, false])
  })

  t.test('names of any length and with any characters are kept apart', async (t) => {
    const journal = await make(t)
    const odd = ['', '\0', 'a\nb', 'é'.repeat(300), `${'é'.repeat(300)}!`, '\ud83d\ude00', '"\\']
    for (const [i, traceId] of odd.entries()) {
      const reservation = { scope: traceId, key: traceId, value: String(i) }
      const made = { ...event('odd', { traceId, project: traceId }), itemId: traceId }
      const termsAdded = [{ index: 'label', value: traceId, order: AT }]
      await append(journal, step(`r${i}`, 1, { events: [made], reservation, termsAdded }))
    }
    const ask = () =>
      odd.map((name) => [
        journal.eventSequence(name, name, event('odd').id),
        journal.reservation(name, name),
        journal.count('run_request', 'label', name),
        ...journal.history('item', name, 0, 10),
      ])
    const expected = odd.map((_, i) => [i + 1, String(i), 1, i + 1])
    for (const answer of await twice(journal, ask)) t.same(answer, expected)
    for (const [i, name] of odd.entries()) {
      t.same(ids((await journal.list(query(name, { index: 'label' }))).rows), [`r${i}`])
    }
  })

  t.test('a reservation is found by scope and key', async (t) => {
    const journal = await make(t)
    await append(journal, step('a', 1, { reservation: { scope: 's', key: 'k', value: 'v' } }))
    const ask = () => [journal.reservation('s', 'k'), journal.reservation('s', 'x'), journal.reservation('x', 'k')]
    for (const answer of await twice(journal, ask)) t.same(answer, ['v', undefined, undefined])
  })

  t.test(
    'the history of a trace or item is complete, in order, and can be read from any sequence in both directions',
    async (t) => {
      const journal = await make(t)
      const expected: number[] = []
      for (let i = 0; i < 700; ) {
        const made = Array.from({ length: 10 }, () => {
          i += 1
          if (i % 3 !== 0) return event(String(i), { traceId: 'other' })
          expected.push(i)
          return event(String(i), { traceId: 'ours', itemId: 'wi_1' })
        })
        await append(journal, step(`a${i}`, 1, { events: made }))
        if (i % 200 === 0) await journal.settled()
      }
      const backward = expected.toReversed()
      const afters = [0, 1, 3, 4, 500, 697, 698, 5_000]
      const befores = [5_000, 700, 699, 698, 500, 4, 3, 1, 0]
      const ask = () =>
        (['trace', 'item'] as const).map((of) => {
          const id = of === 'trace' ? 'ours' : 'wi_1'
          return {
            whole: journal.history(of, id, 0, 1_000),
            wholeBackward: journal.historyBackward(of, id, 1e9, 1_000),
            after: afters.map((after) => journal.history(of, id, after, 20)),
            before: befores.map((before) => journal.historyBackward(of, id, before, 20)),
          }
        })
      for (const histories of await twice(journal, ask)) {
        for (const { whole, wholeBackward, after, before } of histories) {
          t.same(whole, expected)
          t.same(wholeBackward, backward)
          afters.forEach((from, i) => {
            t.same(after[i], expected.filter((sequence) => sequence > from).slice(0, 20), `after ${from}`)
          })
          befores.forEach((to, i) => {
            t.same(before[i], backward.filter((sequence) => sequence < to).slice(0, 20), `before ${to}`)
          })
        }
      }
      t.same(journal.history('trace', 'unknown', 0, 10), [])
    },
  )
}

function lists(t: Test, make: Make): void {
  t.test('a list has every acknowledged row in order, names its sequence, and can be paged both ways', async (t) => {
    const journal = await make(t)
    for (let i = 0; i < 25; i += 1) {
      const order = `2026-11-${String(10 + (i % 5)).padStart(2, '0')}`
      await append(
        journal,
        step(`r${String(i).padStart(2, '0')}`, 1, { termsAdded: [state('queued', order)], events: [event(`${i}`)] }),
      )
    }
    const whole = await journal.list(query('queued'))
    t.equal(whole.sequence, 25)
    t.equal(whole.more, false)
    const sorted = [...whole.rows].sort((a, b) => (a.order + a.id < b.order + b.id ? -1 : 1))
    t.same(whole.rows, sorted)
    t.equal(whole.rows.length, 25)
    t.equal(whole.rows[0]!.record, step('r00', 1).record)
    for (const reverse of [false, true]) {
      const paged: string[] = []
      let after: { order: string; id: string } | undefined
      for (;;) {
        const page = await journal.list(query('queued', { limit: 7, reverse, ...(after && { after }) }))
        paged.push(...ids(page.rows))
        if (!page.more) break
        after = page.rows.at(-1)!
      }
      t.same(paged, ids(reverse ? [...whole.rows].reverse() : whole.rows), `reverse ${reverse}`)
    }
    const older = await journal.list(query('queued', { reverse: true, after: { order: '2026-11-12', id: '' } }))
    t.same(ids(older.rows), ids(whole.rows.slice(0, 10).reverse()), 'an empty id means: past all rows of that order')
    const chars = whole.rows[0]!.record.length
    for (const charsMax of [1, chars, chars + 1]) {
      const cut = await journal.list(query('queued', { charsMax }))
      t.same([ids(cut.rows), cut.more], [ids(whole.rows.slice(0, charsMax > chars ? 2 : 1)), true], `${charsMax}`)
    }
    t.same(ids(journal.scan('run_request', 'state', 'queued')), ids(whole.rows))
    t.same(ids(journal.scanIndex('run_request', 'state')), ids(whole.rows))
    t.same((await journal.list(query('nothing'))).rows, [])
  })

  t.test(
    'a list of several values has the rows of each value once, in one order, and pages in both directions',
    async (t) => {
      const journal = await make(t)
      const values = ['queued', 'offered', 'started']
      for (let i = 0; i < 25; i += 1) {
        const order = `2026-11-${String(10 + (i % 4)).padStart(2, '0')}`
        const terms = [state(values[i % 3]!, order), ...(i % 5 === 0 ? [state(values[(i + 1) % 3]!, order)] : [])]
        await append(journal, step(`r${String(i).padStart(2, '0')}`, 1, { termsAdded: terms }))
      }
      const several = (rest: Partial<ListQuery> = {}): ListQuery => ({ ...query(''), ...rest, value: values })
      const { rows } = await journal.list(several())
      t.equal(rows.length, 25)
      t.same(
        rows,
        [...rows].sort((a, b) => (a.order + a.id < b.order + b.id ? -1 : 1)),
      )
      for (const reverse of [false, true]) {
        const paged: string[] = []
        let after: { order: string; id: string } | undefined
        for (;;) {
          const page = await journal.list(several({ limit: 4, reverse, ...(after && { after }) }))
          t.ok(page.rows.length <= 4)
          paged.push(...ids(page.rows))
          if (!page.more) break
          after = page.rows.at(-1)!
        }
        t.same(paged, ids(reverse ? [...rows].reverse() : rows), `reverse ${reverse}`)
      }
      const two = await journal.list({ ...query(''), value: ['nothing', 'queued'] })
      t.same(two.rows, (await journal.list(query('queued'))).rows)
      t.same((await journal.list({ ...query(''), value: [] })).rows, [])
    },
  )

  t.test('a scan yields every row in order, however many pages it takes', async (t) => {
    const journal = await make(t)
    const name = (i: number) => `r${String(i).padStart(4, '0')}`
    const made = Array.from({ length: 2_300 }, (_, i) => step(name(i), 1, { termsAdded: [state('queued')] }))
    for (let from = 0; from < made.length; from += 500) await append(journal, ...made.slice(from, from + 500))
    await append(journal, step(name(1_500), 2, { termsRemoved: [state('queued')], termsAdded: [state('offered')] }))
    const expected = made.map(({ id }) => id).filter((id) => id !== name(1_500))
    await journal.settled()
    t.same(ids(journal.scan('run_request', 'state', 'queued')), expected)
  })

  t.test('a row moves between lists with its terms, within and across batches, and the counts follow', async (t) => {
    const journal = await make(t)
    const move = (from: string, to: string) => ({ termsRemoved: [state(from)], termsAdded: [state(to)] })
    await append(journal, step('a', 1, { termsAdded: [state('queued')] }), step('a', 2, move('queued', 'offered')))
    await append(journal, step('b', 1, { termsAdded: [state('queued')] }))
    await journal.settled()
    await append(journal, step('a', 3, move('offered', 'queued')), step('a', 4, move('queued', 'offered')))
    await append(journal, step('b', 2, move('queued', 'offered')), step('b', 3, move('offered', 'started')))
    const counts = () => ['queued', 'offered', 'started'].map((value) => journal.count('run_request', 'state', value))
    for (const answer of await twice(journal, counts)) t.same(answer, [0, 1, 1])
    const rows = () => [...journal.scanIndex('run_request', 'state')].map(({ value, id }) => `${value} ${id}`).sort()
    for (const answer of await twice(journal, rows)) t.same(answer, ['offered a', 'started b'])
    t.same([...journal.scanIndex('run_request', 'stat')], [])
    t.same(ids((await journal.list(query('queued'))).rows), [])
    t.same(ids((await journal.list(query('offered'))).rows), ['a'])
    t.same(ids((await journal.list(query('started'))).rows), ['b'])
  })

  t.test('lists and counts equal a plain map after any moves, whenever the view catches up', async (t) => {
    const states = ['queued', 'offered', 'started', 'completed']
    const moves = fc.array(
      fc.record({ actor: fc.integer({ min: 0, max: 5 }), to: fc.constantFrom(...states), settle: fc.boolean() }),
      { maxLength: 60 },
    )
    await fc.assert(
      fc.asyncProperty(moves, async (run) => {
        const journal = await make(t)
        const model = new Map<string, { version: number; at: string }>()
        for (const { actor, to, settle } of run) {
          const id = `r${actor}`
          const before = model.get(id)
          const version = (before?.version ?? 0) + 1
          const termsRemoved = before === undefined ? [] : [state(before.at)]
          await append(journal, step(id, version, { termsRemoved, termsAdded: [state(to)] }))
          model.set(id, { version, at: to })
          if (settle) await journal.settled()
        }
        for (const value of states) {
          const expected = [...model].filter(([, { at }]) => at === value).map(([id]) => id)
          t.same(ids((await journal.list(query(value))).rows), expected.sort())
          t.equal(journal.count('run_request', 'state', value), expected.length)
        }
        await journal.close()
      }),
      { numRuns: 15 },
    )
  })
}

function timersAndMessages(t: Test, make: Make): void {
  t.test('timers due before 1970 come before all others', async (t) => {
    const journal = await make(t)
    const dueMs = [5, -5, instantMs('0000-01-01T00:00:00Z'), -5_000_000_000]
    const timersSet = dueMs.map((ms) => ({ name: `${ms}`, dueMs: ms, generation: 1, message: { type: 'due' } }))
    await append(journal, step('a', 1, { timersSet }))
    for (const due of await twice(journal, () => journal.timers(instantMs('0000-01-01T00:00:00Z'), 100, 10))) {
      t.same(
        due.map((timer) => timer.dueMs),
        [...dueMs].sort((a, b) => a - b),
      )
    }
  })

  t.test('timers due in a window come earliest first, without those that were cleared or replaced', async (t) => {
    const journal = await make(t)
    const timer = (name: string, dueMs: number, generation = 1) => ({
      name,
      dueMs,
      generation,
      message: { type: name },
    })
    await append(journal, step('a', 1, { timersSet: [timer('x', 100), timer('y', 50), timer('z', 999)] }))
    await journal.settled()
    await append(journal, step('a', 2, { timersCleared: [{ name: 'x', dueMs: 100 }], timersSet: [timer('x', 70, 2)] }))
    await append(journal, step('b', 1, { timersSet: [timer('w', 60)] }))
    await append(journal, step('b', 2, { timersCleared: [{ name: 'w', dueMs: 60 }] }))
    const due = () => journal.timers(0, 999, 10)
    const dueNames = (fromMs: number, toMs: number, limit: number) =>
      journal.timers(fromMs, toMs, limit).map(({ name }) => name)
    const ask = () => [due(), dueNames(51, 1_000, 1), dueNames(70, 1_000, 9), dueNames(0, 70, 9), dueNames(71, 999, 9)]
    for (const [all, ...windows] of await twice(journal, ask)) {
      t.same(all, [
        { kind: 'run_request', id: 'a', ...timer('y', 50) },
        { kind: 'run_request', id: 'a', ...timer('x', 70, 2) },
      ])
      t.same(windows, [['x'], ['x', 'z'], ['y'], []])
    }
  })

  t.test('a message is in the outbox until it is consumed', async (t) => {
    const journal = await make(t)
    const row = (n: number) => ({ n, toKind: 'runner', toId: 'r', message: { type: 'hello', n } })
    const key = (n: number) => ({ kind: 'run_request', id: 'a', n })
    await append(journal, step('a', 1, { outbox: [row(1), row(2)] }))
    await journal.settled()
    await append(journal, step('a', 2, { outbox: [row(3), row(4)] }), step('b', 1, { consumed: key(4) }))
    await append(journal, step('b', 2, { consumed: key(1) }))
    for (const rows of await twice(journal, () => [...journal.outbox()])) {
      t.same(
        rows.sort((a, b) => a.n - b.n),
        [
          { ...key(2), ...row(2) },
          { ...key(3), ...row(3) },
        ],
      )
    }
  })
}

function pages(t: Test, make: Make): void {
  t.test(
    'pages of events are bounded in number and size, hold at least one event, and can be read both ways',
    async (t) => {
      const journal = await make(t)
      for (let i = 1; i <= 30; i += 1) await append(journal, step(`a${i}`, 1, { events: [event(`${i}`)] }))
      const sequences = (page: { events: readonly { sequence: number }[] }) =>
        page.events.map(({ sequence }) => sequence)
      t.same(sequences(journal.events(0, 3, 1e6)), [1, 2, 3])
      t.same(sequences(journal.events(28, 10, 1e6)), [29, 30])
      t.same(sequences(journal.events(30, 10, 1e6)), [])
      t.same(sequences(journal.events(5, 10, 1)), [6])
      const chars = event('7').text.length
      t.same(sequences(journal.events(6, 10, chars * 2 + chars / 2)), [7, 8])
      t.same(journal.events(6, 1, 1).events, [{ sequence: 7, text: event('7').text }])
      t.same(sequences(journal.eventsBackward(31, 3, 1e6)), [30, 29, 28])
      t.same(sequences(journal.eventsBackward(3, 10, 1e6)), [2, 1])
      t.same(sequences(journal.eventsBackward(1, 10, 1e6)), [])
      t.same(sequences(journal.eventsBackward(1e9, 1, 1e6)), [30])
      t.same(sequences(journal.eventsBackward(7, 10, 1)), [6])
      t.same(sequences(journal.eventsBackward(9, 10, chars * 2 + chars / 2)), [8, 7])
    },
  )

  t.test('a text is read back exactly, whatever its characters', async (t) => {
    const journal = await make(t)
    const text = JSON.stringify({ a: 'é \u0000 \u2028 😀 "', b: 'x'.repeat(100_000) })
    await append(journal, step('a', 1, { record: text, events: [{ ...event('1'), text }] }))
    for (const record of await twice(journal, () => journal.actor('run_request', 'a'))) t.equal(record, text)
    t.equal(journal.event(1), text)
    t.equal(journal.events(0, 1, 1).events[0]!.text, text)
  })
}

function retention(t: Test, make: Make): void {
  t.test(
    'retention removes the oldest events in steps, with their ids and histories, and raises the floor',
    async (t) => {
      const journal = await make(t)
      const made = Array.from({ length: 3_000 }, (_, i) => {
        const recordedAt = i < 2_400 ? '2020-01-01T00:00:00.000000Z' : AT
        return event(`${i}`, { traceId: i % 2 === 0 ? 'even' : `odd${i}`, itemId: 'wi_1', recordedAt })
      })
      await appendEvents(journal, ...made)
      await journal.settled()
      const cut = { recordedBeforeMs: Date.parse('2020-06-01T00:00:00Z') }
      t.same(await journal.trim(cut), { removed: 2_000, more: true })
      t.equal(journal.oldestSequence, 2_001)
      t.same(await journal.trim(cut), { removed: 400, more: false })
      t.same(await journal.trim(cut), { removed: 0, more: false })
      t.equal(journal.oldestSequence, 2_401)
      t.equal(journal.lastSequence, 3_000)
      const page = journal.events(0, 1, 1e6)
      t.equal(page.events[0]!.sequence, 2_401)
      t.equal(page.oldestSequence, 2_401)
      t.equal(journal.event(2_400), undefined)
      t.equal(journal.eventSequence('demo', 'even', made[0]!.id), undefined)
      t.equal(journal.eventSequence('demo', 'even', made[2_800]!.id), 2_801)
      t.equal(journal.hasTrace('demo', 'odd1'), false)
      t.equal(journal.hasTrace('demo', 'odd2801'), true)
      t.same(journal.history('trace', 'odd1', 0, 10), [])
      t.same(journal.history('trace', 'even', 0, 2), [2_401, 2_403])
      t.same(journal.historyBackward('trace', 'even', 2_405, 10), [2_403, 2_401])
      t.same(journal.history('item', 'wi_1', 0, 2), [2_401, 2_402])
      t.same(await journal.trim({ beforeSequence: 2_500 }), { removed: 99, more: false })
      t.same(await journal.trim({ beforeSequence: 1e9 }), { removed: 501, more: false })
      t.equal(journal.oldestSequence, 3_001)
      t.equal((await appendEvents(journal, event('next'))).firstSequence, 3_001)
    },
  )

  t.test(
    'an event recorded again after its removal keeps its new sequence while later events are removed',
    async (t) => {
      const journal = await make(t)
      const made = [event('first', { traceId: 'one' }), event('second', { traceId: 'one' }), event('third')]
      await appendEvents(journal, ...made)
      await journal.settled()
      t.same(await journal.trim({ beforeSequence: 2 }), { removed: 1, more: false })
      t.equal(journal.eventSequence('demo', 'one', made[0]!.id), undefined)
      await appendEvents(journal, made[0]!)
      await journal.settled()
      t.same(await journal.trim({ beforeSequence: 3 }), { removed: 1, more: false })
      t.equal(journal.eventSequence('demo', 'one', made[0]!.id), 4)
      t.equal(journal.eventSequence('demo', 'one', made[1]!.id), undefined)
    },
  )

  t.test('a removed entity leaves its lists and counts, and an unknown one is ignored', async (t) => {
    const journal = await make(t)
    const terms = [state('completed')]
    await append(journal, step('a', 1, { termsAdded: terms }), step('b', 1, { termsAdded: terms }))
    await journal.settled()
    const gone = { kind: 'run_request', terms }
    t.equal(
      await journal.removeEntities([
        { ...gone, id: 'a' },
        { ...gone, id: 'never' },
      ]),
      1,
    )
    t.equal(journal.actor('run_request', 'a'), undefined)
    t.equal(journal.count('run_request', 'state', 'completed'), 1)
    t.same(ids((await journal.list(query('completed'))).rows), ['b'])
  })

  t.test('a sweep removes exactly the expired reservations of its scope, page by page', async (t) => {
    const journal = await make(t)
    const odd = ['\0', 'a\nb', 'x'.repeat(300), '\u{1f600}']
    const keys = [...Array.from({ length: 20 }, (_, i) => `k${i}`), ...odd]
    for (const [i, key] of keys.entries()) {
      const value = i % 3 === 0 ? 'over' : 'kept'
      await append(journal, step(`r${i}`, 1, { reservation: { scope: 's', key, value } }))
      await append(journal, step(`o${i}`, 1, { reservation: { scope: i < 12 ? 'r' : 't', key, value: 'over' } }))
    }
    await journal.settled()
    const isOver = (value: string): boolean => value === 'over'
    const round = async () => {
      const counts = { looked: 0, removed: 0, pages: 0 }
      for (let after: string | undefined; ; ) {
        const page = await journal.sweepReservations({ scope: 's', after, limit: 7, isOver })
        t.ok(page.looked <= 7)
        counts.looked += page.looked
        counts.removed += page.removed
        counts.pages += 1
        if (page.last === undefined) return counts
        after = page.last
      }
    }
    t.same(await round(), { looked: 24, removed: 8, pages: 4 })
    t.same(await round(), { looked: 16, removed: 0, pages: 3 })
    for (const [i, key] of keys.entries()) {
      t.equal(journal.reservation('s', key), i % 3 === 0 ? undefined : 'kept')
      t.equal(journal.reservation(i < 12 ? 'r' : 't', key), 'over')
    }
    await append(journal, step('again', 1, { reservation: { scope: 's', key: 'k0', value: 'kept' } }))
    for (const value of await twice(journal, () => journal.reservation('s', 'k0'))) t.equal(value, 'kept')
    await journal.close()
    await t.rejects(journal.sweepReservations({ scope: 's', after: undefined, limit: 7, isOver }), {
      name: 'JournalFailure',
    })
  })
}

function pick({ batch, firstSequence, lastSequence }: { batch: number; firstSequence: number; lastSequence: number }) {
  return { batch, firstSequence, lastSequence }
}
