import { join } from 'node:path'
import t from 'tap'
import { openEnvironments } from '../../../storage/home/home-environments.ts'
import { type Batch, BETWEEN_STEPS, decodeBatch, stepTexts } from '../../../storage/log/redo.ts'
import { Fold } from '../../../storage/view/fold.ts'
import { packChunk, unpackChunk } from '../../../storage/view/history-chunk.ts'
import { View } from '../../../storage/view/view.ts'
import { firstBatches } from '../kill-model.ts'
import { event, step } from '../steps.ts'

const textOf = (batch: Batch): string => stepTexts(batch).join(BETWEEN_STEPS)

/** The log's part in reading a redo: the batch's events by sequence, without their items. */
function eventsOf({ steps, firstSequence }: Batch) {
  const events = steps.flatMap((made) => made.events)
  return (sequence: number) => {
    const { id, project, traceId, text } = events[sequence - firstSequence]!
    return { id, project, traceId, text }
  }
}

/** Every earlier record is the model's, one version before. */
const sourcesOf = (batch: Batch) => ({
  eventAt: eventsOf(batch),
  recordBefore: (_: string, id: string) => step(id, batch.steps.find((one) => one.id === id)!.version - 1).record,
})

t.test('a batch decoded from its redo equals the original, apart from the texts of its events', (t) => {
  const mixed = step('x', 1, { events: [event('x', { traceId: 't', itemId: 'i' }), event('y')] })
  for (const batch of [...firstBatches(40), { batch: 1, firstSequence: 1, lastSequence: 2, steps: [mixed] }]) {
    const bare = (given: Batch) =>
      JSON.parse(JSON.stringify(given), (key, value) => (key === 'text' ? '' : key === 'change' ? undefined : value))
    t.same(bare(decodeBatch(textOf(batch), sourcesOf(batch))), bare(batch))
  }
  t.end()
})

t.test("an actor's record is in the redo once, unquoted, and is decoded to the same text", (t) => {
  const record = JSON.stringify({ a: 'é"\\\u2028', n: [1.5e300, -0, 1e21], nested: { '2': 1, '1': 2, z: null } })
  const batch: Batch = {
    batch: 1,
    firstSequence: 1,
    lastSequence: 0,
    steps: [step('a', 1, { record })],
  }
  t.ok(textOf(batch).includes(record))
  t.equal(decodeBatch(textOf(batch), sourcesOf(batch)).steps[0]!.record, record)
  t.end()
})

const NEVER = () => false

t.test('the view is the same whether batches are folded singly, together, in halves or twice', async (t) => {
  const all = firstBatches(60)
  const dump = async (name: string, parts: readonly (readonly Batch[])[], twice = false) => {
    const environments = await openEnvironments(join(t.testdir(), name), () => {})
    const view = new View(environments.view)
    for (const part of parts) {
      const fold = new Fold()
      for (const batch of part) fold.add(decodeBatch(textOf(batch), sourcesOf(batch)))
      await view.write(fold, 'e', NEVER)
      if (twice) await view.write(fold, 'e', NEVER)
    }
    const { snapshots, entities, counts, eventIds, timers, outbox, reservations, marker } = environments.view
    const rows = [snapshots, entities, counts, eventIds, timers, outbox, reservations, marker].map((table) => [
      ...(table as typeof snapshots).getRange(),
    ])
    const histories = ['r1', 'r2', 'r3'].map((id) => view.history('trace', id, 0, 1e6))
    await environments.close()
    return { rows, histories }
  }
  const together = await dump('together', [all])
  t.same(
    await dump(
      'singly',
      all.map((batch) => [batch]),
    ),
    together,
  )
  t.same(
    await dump(
      'twice',
      all.map((batch) => [batch]),
      true,
    ),
    together,
  )
  t.same(await dump('halves', [all.slice(0, 31), all.slice(31)]), together)
})

t.test('a message sent and consumed within one fold is not written', (t) => {
  const fold = new Fold()
  const outbox = [{ n: 1, toKind: 'runner', toId: 'r', message: {} }]
  const consumed = { kind: 'run_request', id: 'a', n: 1 }
  const steps = [step('a', 1, { outbox }), step('b', 1, { consumed })]
  fold.add({ batch: 1, firstSequence: 1, lastSequence: 0, steps })
  t.equal(fold.outbox.size, 0)
  t.end()
})

t.test('a history row gives back its sequences', (t) => {
  const sequences = [3, 4, 9, 1_000, 2 ** 40]
  t.same(unpackChunk(3, packChunk(sequences, 0, 5)), sequences)
  t.same(unpackChunk(9, packChunk(sequences, 2, 4)), [9, 1_000])
  t.same(unpackChunk(7, packChunk([7], 0, 1)), [7])
  t.end()
})

t.test('a fold that would leave a gap after the view is rejected', async (t) => {
  const environments = await openEnvironments(join(t.testdir(), 'home'), () => {})
  const view = new View(environments.view)
  const fold = new Fold()
  fold.add(firstBatches(2)[1]!)
  await t.rejects(view.write(fold, 'e', NEVER), /does not start where the view ends/)
  t.equal(view.marker(), undefined)
  await environments.close()
})
