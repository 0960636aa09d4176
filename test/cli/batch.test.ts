/** Many calls at once: none is left in silence, whatever becomes of the service, of the command, or of one of them. */
import t from 'tap'
import { performAll } from '../../cli/batch.ts'
import { CliFailure } from '../../cli/exit.ts'
import { openCli } from '../../cli/world.ts'
import { ServiceRefused, ServiceUnreachable } from '../../engine/errors.ts'
import { worldOf } from './in-process.ts'

type Perform = (id: string) => Promise<unknown>

/** Carries `perform` out upon so many things; what becomes of them, in words, and how it ended. */
async function outcome(count: number, perform: Perform, atRefusal: 'continue' | 'stop' = 'continue') {
  const watched = worldOf({}, { ENGINE_TOKEN: 'secret' })
  const deed = {
    noun: 'item',
    done: 'done',
    perform: async (_: unknown, { id }: { readonly id: string }) => {
      await perform.call(watched, id)
      return { document: { id }, line: id }
    },
  }
  const targets = Array.from({ length: count }, (_, n) => ({ id: `i${n}` }))
  const error = await performAll(openCli(watched.world, { json: true }), deed, targets, atRefusal).then(
    () => undefined,
    (reason) => reason,
  )
  const told = watched
    .out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
  const results: Record<string, number> = {}
  for (const { result } of told) results[result] = (results[result] ?? 0) + 1
  return { told, results, error, err: watched.err() }
}

const refusal = (status: number) => new ServiceRefused('POST', '/x', { status, code: 'x', detail: 'No.' })

t.test('each is told of once, and at most 32 are under way at the same time', async (t) => {
  let underWay = 0
  let most = 0
  const { told, results, error } = await outcome(100, async () => {
    most = Math.max(most, ++underWay)
    await new Promise(setImmediate)
    underWay -= 1
  })
  t.equal(error, undefined)
  t.same(results, { done: 100 })
  t.equal(new Set(told.map(({ id }) => id)).size, 100)
  t.equal(most, 32)
})

t.test('what is refused does not stop the others, unless that is asked for', async (t) => {
  const perform = async (id: string): Promise<void> => {
    if (id === 'i2' || id === 'i5') throw id === 'i2' ? refusal(409) : refusal(500)
  }
  const all = await outcome(100, perform)
  t.same(all.results, { done: 98, refused: 2 })
  t.match(all.error, { name: 'CliFailure', exitCode: 3, message: '98 of 100 items done, 2 refused.' })
  const first = await outcome(100, perform, 'stop')
  t.same(first.results, { done: 2, refused: 1, not_tried: 97 })
  t.match(first.error, { exitCode: 3, message: '2 of 100 items done, 1 refused, 97 not tried.' })
})

t.test(
  'a service that does not answer, or refuses the caller, ends it: the rest is not tried, and told so',
  async (t) => {
    for (const cause of [new ServiceUnreachable('http://x', new Error('reset')), refusal(401), refusal(403)]) {
      const { results, error, err } = await outcome(100, async (id) => {
        if (id === 'i9') throw cause
        await new Promise(setImmediate)
      })
      t.equal(error, cause)
      t.same(results, { done: 31, unknown: 1, not_tried: 68 })
      t.match(JSON.parse(err), {
        note: /^31 of 100 items done, 1 with an unknown outcome, 68 not tried\. The same command/,
      })
    }
  },
)

t.test('who stops it learns what was not tried; calls under way are waited for', async (t) => {
  const { results, error } = await outcome(100, async function (this: any, id) {
    await new Promise(setImmediate)
    if (id === 'i40') this.signal()
  } as Perform)
  t.ok(error instanceof CliFailure)
  t.match(error, { exitCode: 130, message: /^Stopped: \d+ of 100 items done, \d+ not tried\. The same command/ })
  t.equal(results.done! + results.not_tried!, 100)
  t.ok(results.not_tried! > 0)
  const last = await outcome(1, async function (this: any) {
    this.signal()
  } as Perform)
  t.equal(last.error, undefined, 'a stop after the last one changes nothing')
})
