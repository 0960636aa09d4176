import { join } from 'node:path'
import t from 'tap'
import { openEnvironments } from '../../../storage/home/home-environments.ts'
import type { ListQuery } from '../../../storage/journal.ts'
import type { Batch } from '../../../storage/log/redo.ts'
import { Fold } from '../../../storage/view/fold.ts'
import {
  countAcross,
  historyAcross,
  historyBackAcross,
  indexAcross,
  listAcross,
  outboxAcross,
  timersAcross,
} from '../../../storage/view/overlay.ts'
import { View } from '../../../storage/view/view.ts'
import { firstBatches } from '../kill-model.ts'
import { event, step } from '../steps.ts'

const BATCHES = 60
const STATES = ['queued', 'offered', 'started', 'completed']

function foldOf(part: readonly Batch[]): Fold {
  const fold = new Fold()
  for (const batch of part) fold.add(batch)
  return fold
}

const byName = <T extends object>(rows: Iterable<T>): T[] =>
  [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** Everything that is read over the view and these folds, newest first; without folds, of the view alone. */
function reads(view: View, folds: readonly Fold[]) {
  const histories = (['trace', 'item'] as const).flatMap((of) =>
    (of === 'trace' ? ['r1', 'r7', 'nothing'] : ['wi_1']).flatMap((id) =>
      [0, 1, 40, 90, 1e6].flatMap((at) =>
        [1, 7, 1e6].map((limit) => [
          historyAcross(view.history(of, id, at, limit), folds, of, id, at, limit),
          historyBackAcross(view.historyBackward(of, id, at, limit), folds, of, id, at, limit),
        ]),
      ),
    ),
  )
  const counts = STATES.map((value) =>
    countAcross(view.count('run_request', 'state', value), folds, 'run_request', 'state', value),
  )
  const list = (value: string | string[], reverse: boolean, limit: number, after?: { order: string; id: string }) => {
    const query: ListQuery = { kind: 'run_request', index: 'state', value, limit, reverse, ...(after && { after }) }
    const { rows, more } =
      folds.length === 0 ? view.list(query) : listAcross((asked) => view.list(asked), folds, query, 1)
    return { rows, more }
  }
  const pages = [STATES, ...STATES].flatMap((value) => {
    const whole = list(value, false, 100)
    const parts = [false, true].flatMap((reverse) =>
      [1, 2, 5].flatMap((limit) => [undefined, ...whole.rows].map((after) => list(value, reverse, limit, after))),
    )
    return [whole, ...parts]
  })
  const due = (fromMs: number, toMs: number, limit: number) =>
    timersAcross((max) => view.timers(fromMs, toMs, max), folds, fromMs, toMs, limit)
  // Which of several timers of one millisecond is left out at the limit is open.
  const timers = [5, 2].map((limit) => due(0, 1e6, limit).map(({ dueMs }) => dueMs))
  const windows = [due(0, 1e6, 1e6), due(16, 17, 1e6), due(17, 1e6, 1e6), due(0, 17, 1e6)].map((found) => ({
    order: found.map(({ dueMs }) => dueMs),
    names: found.map(({ id, name, dueMs, generation }) => `${id} ${name} ${dueMs} ${generation}`).sort(),
  }))
  const outbox = byName(outboxAcross(view.outbox(), folds))
  const index = byName(indexAcross(view.scanIndex('run_request', 'state'), folds, 'run_request', 'state'))
  return { histories, counts, pages, timers, windows, outbox, index }
}

t.test('a view with the folds that it lacks is read like a view that holds them, wherever they are cut', async (t) => {
  const all = firstBatches(BATCHES)
  const viewOf = async (name: string, held: number) => {
    const environments = await openEnvironments(join(t.testdir(), name), () => {})
    t.teardown(() => environments.close())
    const view = new View(environments.view)
    if (held > 0) await view.write(foldOf(all.slice(0, held)), 'e', () => false)
    return view
  }
  const expected = reads(await viewOf('whole', BATCHES), [])
  for (const [held, cut] of [
    [0, 30],
    [20, 40],
    [50, 59],
    [59, 60],
  ] as const) {
    const view = await viewOf(`${held}`, held)
    const folds = [foldOf(all.slice(cut)), foldOf(all.slice(held, cut))]
    t.same(reads(view, folds), expected, `${held} batches in the view, ${cut - held} being written`)
  }
})

t.test('an event is found by project, trace and id in a fold of a long trace, also one that came after a look', (t) => {
  const fold = new Fold()
  let sequence = 0
  const add = (name: string, project: string): void => {
    const events = [event(name, { project, traceId: 'long' })]
    sequence += 1
    fold.add({
      batch: sequence,
      firstSequence: sequence,
      lastSequence: sequence,
      steps: [step('a', sequence, { events })],
    })
  }
  const found = (name: string, project: string) => fold.eventSequence(project, 'long', event(name).id)
  for (let i = 1; i <= 100; i += 1) {
    add(`${i}`, i % 2 === 0 ? 'even' : 'odd')
    t.same([found(`${i}`, 'even'), found(`${i}`, 'odd')], i % 2 === 0 ? [i, undefined] : [undefined, i])
    t.equal(found('1', 'odd'), 1)
    t.equal(found(`${i + 1}`, 'odd'), undefined)
  }
  t.end()
})
