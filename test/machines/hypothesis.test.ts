import fc from 'fast-check'
import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { SLUG_PATTERN } from '../../machines/documents/fields.ts'
import { hypothesisDocument } from '../../machines/documents/hypothesis.ts'
import { hypothesisMachine, hypothesisModule as module, slugOfTry } from '../../machines/hypothesis.ts'
import { recordIdOfSlug } from '../../machines/ids.ts'
import { intentRecordModule } from '../../machines/intent-record.ts'
import type { ActorRef, MessageBody, SnapshotOf } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { DISCOVERY, HYPOTHESIS, MESSAGES as M } from './hypothesis-samples.ts'
import { CREATE } from './intent-record-samples.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('hypothesis')

const open = after(module, [M.open])
const accepted = after(module, [M.open, M.accept])
const rejected = after(module, [M.open, M.reject])
const STATES = { open, accepted, rejected }

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), ...STATES }, M), 'hypothesis')
  t.end()
})

t.test('every state can be reached by messages, and a decision is final', (t) => {
  const paths = getShortestPaths(hypothesisMachine, {
    events: Object.values(M) as never,
    serializeState: (snapshot) => String(snapshot.value),
  })
  const reached = new Set(paths.map(({ state }) => String(state.value)))
  t.strictSame([...reached].sort(), Object.keys(hypothesisMachine.states).sort())
  for (const decided of [accepted, rejected]) {
    for (const message of Object.values(M)) t.equal(step(module, decided, message).snapshot.value, decided.value)
  }
  t.end()
})

t.test('in every state the document satisfies its schema, and says that it is untrusted', (t) => {
  const seenAgain = step(module, open, M['open (other discovery)']).snapshot
  for (const snapshot of [...Object.values(STATES), seenAgain]) {
    const document = JSON.parse(JSON.stringify(module.document(reopened(module, snapshot))))
    t.strictSame(compile(hypothesisDocument)(document), [])
    t.equal(document.untrusted, true)
  }
  t.match(module.document(seenAgain), { sightings: 2, confidence: 0.7, last_seen: { confidence: 0.9 } })
  t.match(module.document(accepted), { state: 'accepted', edited: ['title'], decided_by: BY })
  t.match(module.document(rejected), { state: 'rejected', reason: 'it is an accident' })
  t.end()
})

t.test('a discovery suggests a hypothesis once, and only the latest discoveries are remembered', (t) => {
  const drawn = (n: number) => ({
    ...M['open (other discovery)'],
    discovery_id: `disc_${String(n).padStart(24, '0')}`,
  })
  const among = 64
  let snapshot = open
  for (let n = 1; n <= 2 * among; n += 1) snapshot = step(module, snapshot, drawn(n)).snapshot
  t.match(module.document(snapshot), { sightings: 1 + 2 * among })
  for (const n of [among + 1, among + 2, 2 * among - 1, 2 * among])
    t.equal(step(module, snapshot, drawn(n)).repeat, 'already_seen', `${n}`)
  t.equal(step(module, snapshot, drawn(among)).repeat, undefined, 'what it remembers is bounded')
  t.end()
})

t.test('a hypothesis that waits for a person is in the attention list', (t) => {
  const isListed = (snapshot: SnapshotOf<any>) => module.terms(snapshot).some(({ index }) => index === 'attention')
  t.ok(isListed(open))
  t.notOk(isListed(accepted))
  t.notOk(isListed(rejected))
  t.end()
})

t.test(
  'a decided hypothesis names the discovery whose words were decided on, even if another has suggested it since',
  (t) => {
    const seenAgain = step(module, open, M['open (other discovery)'])
    const { discovery_id } = M['open (other discovery)']
    t.match(seenAgain.facts, [{ type: 'hypothesis_seen_again', payload: { discovery_id } }])
    const decided = step(module, seenAgain.snapshot, M.accept)
    for (const { facts } of [
      decided,
      step(module, decided.snapshot, M.slug_taken),
      step(module, seenAgain.snapshot, M.reject),
    ])
      t.match(facts, [{ payload: { discovery_id: DISCOVERY } }], facts[0]!.type)
    t.match(module.document(decided.snapshot), { discovery_id: DISCOVERY, last_seen: { discovery_id } })
    t.end()
  },
)

t.test('every try gives another valid slug', (t) => {
  for (const wanted of ['a', 'sessions-survive', 'x'.repeat(63)]) {
    const slugs = Array.from({ length: 9 }, (_, tries) => slugOfTry(wanted, tries, HYPOTHESIS))
    t.equal(new Set(slugs).size, slugs.length)
    for (const slug of slugs) t.match(slug, new RegExp(SLUG_PATTERN))
  }
  t.end()
})

/**
 * A hypothesis and the records around it, with messages between them delivered in any order, and some of them twice.
 */
class World {
  readonly actors = new Map<string, SnapshotOf<any>>()
  readonly outbox: { to: ActorRef; message: MessageBody }[] = []
  private seconds = 10

  say(to: ActorRef, body: object): void {
    const module_ = to.kind === 'hypothesis' ? module : intentRecordModule
    const key = `${to.kind}/${to.id}`
    const stepped = step(module_, this.actors.get(key) ?? absent(module_), at(++this.seconds, body as any))
    if (stepped.snapshot.value !== 'absent') this.actors.set(key, stepped.snapshot)
    this.outbox.push(...stepped.sends)
  }

  records(): SnapshotOf<any>[] {
    return [...this.actors].filter(([key]) => key.startsWith('intent_record/')).map(([, snapshot]) => snapshot)
  }
}

t.test('one acceptance makes one record, and both name each other, however slugs collide and messages repeat', (t) => {
  const project = { project: CREATE.project, project_id: CREATE.project_id }
  const hypothesis = { kind: 'hypothesis', id: HYPOTHESIS } as const
  const person = (slug: string) => ({
    to: { kind: 'intent_record', id: recordIdOfSlug(project.project_id, slug) },
    slug,
  })
  const taken = fc.array(
    fc.constantFrom(...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => slugOfTry('sessions-survive', n, HYPOTHESIS))),
  )
  fc.assert(
    fc.property(taken, fc.infiniteStream(fc.nat(20)), (slugs, chances) => {
      const world = new World()
      const chance = () => chances.next().value as number
      world.say(hypothesis, M.open)
      world.say(hypothesis, M.accept)
      world.say(hypothesis, M.accept)
      world.say(hypothesis, M['accept (otherwise)'])
      const people = slugs.map(person)
      for (let n = 0; world.outbox.length > 0 || people.length > 0; n++) {
        const one = people.pop()
        if (one !== undefined && (chance() % 2 === 0 || world.outbox.length === 0)) {
          world.say(one.to as ActorRef, {
            ...CREATE,
            ...project,
            id: one.to.id,
            slug: one.slug,
            idempotency_key: `k${n}`,
          })
          continue
        }
        if (one !== undefined) people.push(one)
        const [sent] = world.outbox.splice(chance() % world.outbox.length, 1)
        world.say(sent!.to, sent!.message)
        if (chance() === 0) world.say(sent!.to, sent!.message)
      }
      const made = world.records().filter(({ context }) => context.hypothesis_id === HYPOTHESIS)
      const { intent_record_id } = world.actors.get(`hypothesis/${HYPOTHESIS}`)!.context
      t.strictSame(
        made.map(({ value, context }) => [value, context.id]),
        [['accepted', intent_record_id]],
      )
    }),
    { numRuns: 200 },
  )
  t.end()
})
