import fc from 'fast-check'
import t from 'tap'
import { ServiceRefused } from '../../engine/errors.ts'
import { outgoing, PostQueue } from '../../engine/post-queue.ts'

const bad = (texts: readonly string[]): boolean => texts.some((text) => JSON.parse(text).bad === true)
const refusal = new ServiceRefused('POST', '/events', { status: 422, code: 'invalid_event' })

t.test('every accepted event is posted once and in order, and each refused one is replaced in its place', async (t) => {
  const property = fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 60 }), async (faults) => {
    const taken: string[] = []
    const queue = new PostQueue({
      async post(texts) {
        if (bad(texts)) throw refusal
        taken.push(...texts)
      },
      concernsRun: () => false,
      onPressure: () => {},
      onEnded: () => t.fail('the run is not over'),
    })
    faults.forEach((fault, n) => {
      queue.add(outgoing({ n, bad: fault }, { onRefused: () => [outgoing({ n, instead: true })] }))
    })
    await queue.empty()
    t.same(
      taken.map((text) => JSON.parse(text)),
      faults.map((fault, n) => (fault ? { n, instead: true } : { n, bad: false })),
    )
  })
  await fc.assert(property, { numRuns: 60 })
})

t.test('above 4 MiB the queue signals pressure, and its end once it has drained', async (t) => {
  let open = (): void => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const pressure: boolean[] = []
  const queue = new PostQueue({
    post: () => gate,
    concernsRun: () => false,
    onPressure: (full) => pressure.push(full),
    onEnded: () => {},
  })
  const event = { text: 'x'.repeat(1024 * 1024) }
  for (let n = 0; n < 4; n += 1) queue.add(outgoing(event))
  t.same(pressure, [true], 'four events with their JSON quoting exceed the bound')
  open()
  await queue.empty()
  t.same(pressure, [true, false])
})

t.test('a refusal that concerns the run empties the queue and ends it', async (t) => {
  const ended: unknown[] = []
  let posts = 0
  const queue = new PostQueue({
    async post() {
      posts += 1
      throw new ServiceRefused('POST', '/events', { status: 409, code: 'stale_attempt' })
    },
    concernsRun: () => true,
    onPressure: () => {},
    onEnded: (error) => ended.push(error),
  })
  for (let n = 0; n < 2_000; n += 1) queue.add(outgoing({ n }))
  await queue.empty()
  queue.add(outgoing({ late: true }))
  await queue.empty()
  t.equal(posts, 1)
  t.match(ended, [{ problem: { code: 'stale_attempt' } }])
})
