import { setImmediate as untilNext } from 'node:timers/promises'
import t from 'tap'
import { prepareEvent } from '../../machines/events/envelope.ts'
import { ACTOR_KINDS, type ActorKind, type MachineModule } from '../../machines/machine.ts'
import type { ActorTable } from '../../runtime/actor.ts'
import type {
  Answer,
  CommittedEvent,
  CommittedStep,
  ListRequest,
  ListResult,
  Runtime,
  SnapshotOf,
} from '../../runtime/api.ts'
import {
  charsPerBatchMax,
  listRowsReadMax,
  mailboxDepthMax,
  newStepsPerBatchMin,
  sendersRememberedMax,
  stepsMsPerBatchMax,
  stepsPerBatchMax,
  stoodStillMs,
} from '../../runtime/limits.ts'
import { silentLogger } from '../../runtime/log.ts'
import { Quarantined } from '../../runtime/reader.ts'
import { createRuntime } from '../../runtime/runtime.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { type Journal, JournalFailure, type Step } from '../../storage/journal.ts'
import { ManualPlatform } from '../platforms/manual.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { toyModule } from './toy.ts'

interface World {
  readonly platform: ManualPlatform
  readonly journal: Journal
  readonly runtime: Runtime
  readonly fatal: Error[]
  /** Asks, runs turns until the answer is there, and returns it. */
  say(id: string, message: object): Answer
}

const modules = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, { ...toyModule, kind }])) as Record<
  ActorKind,
  MachineModule
>

const settings = { ...defaultSettings, home: '/nowhere', leaseMs: 60_000 }
const NO_TRACE = { trace_id: null, span_id: null, parent_span_id: null, causation_id: null, gather_id: null }

function open(options: { journal?: Journal; platform?: ManualPlatform; modules?: typeof modules } = {}): World {
  const platform = options.platform ?? new ManualPlatform()
  const journal = options.journal ?? new MemoryJournal()
  const fatal: Error[] = []
  const runtime = createRuntime(journal, settings, {
    platform,
    log: silentLogger,
    modules: options.modules ?? modules,
    onFatal: (failure) => fatal.push(failure),
  })
  platform.run()
  const say = (id: string, message: object): Answer => {
    let answer: Answer | undefined
    runtime.ask({ kind: 'project', id }, message as never, (given) => {
      answer = given
    })
    platform.run()
    return answer!
  }
  return { platform, journal, runtime, fatal, say }
}

/** A journal that passes everything through except the members that a test replaces. */
function journalWith(journal: Journal, replaced: Partial<Journal>): Journal {
  return new Proxy(journal, {
    get(target, name) {
      if (name in replaced) return replaced[name as keyof Journal]
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const texts = (journal: Journal): any[] => journal.events(0, 1_000, 1e9).events.map((event) => JSON.parse(event.text))
const create = (id: string) => ({ type: 'create', id })

t.test('an answer comes after the commit and says what became durable', async (t) => {
  const { say, journal } = open()
  const answer = say('a', create('a'))
  t.match(answer, { ok: true, version: 1, sequence: 1, accepted: 0, duplicates: 0 })
  const [event] = texts(journal)
  t.match(event, { event_type: 'toy_created', project: 'a', payload: { id: 'a' }, throttle: 'full', trace_id: null })
  t.same(event.by, { id: 'service', name: 'intendant' }, 'an event without an actor behind it is by the service')
  t.match(event.id, /^evt_[0-9a-f]{32}$/)
})

t.test('recorded_at is never before occurred_at, and identical facts are recorded as separate events', async (t) => {
  const platform = new ManualPlatform()
  let readings = 0
  platform.wallMs = () => 1_700_000_000_000 + readings++ * 5
  const { say, journal } = open({ platform })
  for (const message of [create('a'), { type: 'bump' }, { type: 'ring' }, { type: 'bump' }, { type: 'ring' }]) {
    t.ok(say('a', message).ok)
  }
  const events = texts(journal)
  t.equal(new Set(events.map(({ id }) => id)).size, 9)
  const happened = events.map(({ occurred_at }) => occurred_at)
  t.same(happened, [...new Set(happened)].sort(), 'in log order, each at a time of its own')
  for (const { event_type, occurred_at, recorded_at } of events) t.ok(recorded_at >= occurred_at, event_type)
  const recorded = events.map(({ recorded_at }) => recorded_at)
  t.same(recorded, [...recorded].sort())
  t.equal(new Set(recorded).size, 5, 'events of one step share one recorded_at')
})

t.test('no reply, listener or read hears of a step before it is durable', async (t) => {
  const inner = new MemoryJournal()
  const pending: (() => void)[] = []
  const journal = journalWith(inner, {
    synchronous: false,
    append: (steps: readonly Step[], done: Parameters<Journal['append']>[1]) => {
      pending.push(() => inner.append(steps, done))
    },
  })
  const { runtime, platform } = open({ journal })
  const heard: string[] = []
  runtime.onCommit(() => heard.push('listener'))
  const ref = { kind: 'project', id: 'a' } as const
  runtime.ask(ref, create('a') as never, () => heard.push('created'))
  runtime.ask(ref, { type: 'bump' }, () => heard.push('bumped'))
  platform.run()
  t.same(heard, [])
  t.equal(runtime.read(ref), undefined)
  t.equal(pending.length, 1, 'the second message waits until the first is durable')
  pending.shift()!()
  platform.run()
  t.same(heard, ['listener', 'created'])
  t.equal(runtime.read(ref)!.context.count, 0)
  pending.shift()!()
  platform.run()
  t.same(heard, ['listener', 'created', 'listener', 'bumped'])
  t.equal(runtime.read(ref)!.context.count, 1)
})

t.test('messages that arrive in one turn make one commit, even several to one actor', async (t) => {
  const inner = new MemoryJournal()
  const batches: number[] = []
  const journal = journalWith(inner, {
    append: (steps: readonly Step[], done: Parameters<Journal['append']>[1]) => {
      batches.push(steps.length)
      inner.append(steps, done)
    },
  })
  const { runtime, platform } = open({ journal })
  const answers: Answer[] = []
  for (const id of ['a', 'b']) runtime.ask({ kind: 'project', id }, create(id) as never, (one) => answers.push(one))
  for (let i = 0; i < 3; i++) runtime.ask({ kind: 'project', id: 'a' }, { type: 'bump' }, (one) => answers.push(one))
  platform.run()
  t.same(batches, [5])
  t.same(
    answers.map((one: any) => [one.ok, one.version]),
    [
      [true, 1],
      [true, 2],
      [true, 3],
      [true, 4],
      [true, 1],
    ],
  )
  t.same(
    texts(inner).map((event) => event.event_type),
    ['toy_created', 'toy_bumped', 'toy_bumped', 'toy_bumped', 'toy_created'],
  )
})

t.test(
  'a message that the state does not take changes nothing and is answered with the messages it would take',
  async (t) => {
    const { say, journal } = open()
    say('a', create('a'))
    const before = journal.lastSequence
    const answer = say('a', { type: 'start' })
    t.match(answer, { ok: false, refusal: { code: 'illegal_move' }, state: 'on' })
    t.ok((answer as any).allowed.includes('bump'))
    t.equal(journal.lastSequence, before)
    t.match(say('nobody', { type: 'bump' }), { ok: false, refusal: { code: 'not_found' } })
    t.match(say('a', create('other')), { ok: false, refusal: { code: 'already_exists' } })
  },
)

t.test('a repeated message is answered as a repeat and writes nothing', async (t) => {
  const { say, journal } = open()
  say('a', create('a'))
  const before = journal.lastSequence
  t.match(say('a', create('a')), { ok: true, repeat: 'replay', version: 1 })
  t.equal(journal.lastSequence, before)
})

t.test('a step that throws fails only its own message', async (t) => {
  const { say } = open()
  say('a', create('a'))
  t.match(say('a', { type: 'break' }), { ok: false, refusal: { code: 'internal_error' } })
  t.match(say('a', { type: 'bump' }), { ok: true, version: 2 })
})

t.test('a reply or listener that throws does not keep the others from being called', async (t) => {
  const { runtime, platform } = open()
  const heard: string[] = []
  runtime.onCommit(() => {
    throw new Error('a listener that throws')
  })
  runtime.onCommit(() => heard.push('listener'))
  runtime.ask({ kind: 'project', id: 'a' }, create('a') as never, () => {
    throw new Error('a reply that throws')
  })
  runtime.ask({ kind: 'project', id: 'b' }, create('b') as never, () => heard.push('b'))
  platform.run()
  t.same(heard, ['listener', 'b'])
})

t.test('an event already in the log is not recorded again, whoever sends it', async (t) => {
  const { runtime, platform, journal, say } = open()
  say('a', create('a'))
  say('b', create('b'))
  const event = prepareEvent({
    event_type: 'greeting_composed',
    project: 'a',
    occurred_at: '2026-01-01T00:00:00Z',
    throttle: 'full',
    payload: { greeting: 'hello' },
    ...NO_TRACE,
  })
  const answers: any[] = []
  const record = { type: 'record', events: [event, event] }
  for (const id of ['a', 'b']) runtime.ask({ kind: 'project', id }, record, (one) => answers.push(one))
  platform.run()
  t.match(answers[0], { ok: true, accepted: 1, duplicates: 1 })
  t.match(answers[1], { ok: true, accepted: 0, duplicates: 2 }, 'from another actor in the same turn')
  t.match(say('a', record), { ok: true, accepted: 0, duplicates: 2 }, 'later')
  t.equal(texts(journal).filter((one) => one.id === event.id).length, 1)
})

t.test('a machine sees known events next to new ones, once each and in the order of the post', async (t) => {
  const heard: any[] = []
  const repeats: typeof toyModule.repeats = (snapshot, message: any) => {
    heard.push([message.events, message.heard].map((events) => events?.map(({ payload }: any) => payload.greeting)))
    return toyModule.repeats(snapshot, message)
  }
  const { say } = open({ modules: { ...modules, project: { ...toyModule, kind: 'project', repeats } } })
  const event = (greeting: string, more: object = {}) => {
    const fields = { event_type: 'greeting_composed', occurred_at: '2026-01-01T00:00:00Z', throttle: 'full' } as const
    return prepareEvent({ ...fields, project: 'a', payload: { greeting }, ...NO_TRACE, ...more }, `evt_${greeting}`)
  }
  say('a', create('a'))
  say('a', { type: 'record', events: ['known', 'ofAnotherTrace'].map((id) => event(id)) })
  heard.length = 0
  say('a', { type: 'record', events: ['new', 'known', 'new', 'known'].map((id) => event(id)) })
  say('a', { type: 'record', events: [event('known')] })
  say('a', { type: 'record', events: [event('ofAnotherTrace', { trace_id: 'a'.repeat(32) })] })
  t.strictSame(heard, [
    [['new'], ['new', 'known']],
    [[], ['known']],
    [['ofAnotherTrace'], undefined],
  ])
})

t.test('setting a timer to NaN fails that step alone, and later timers still fire', async (t) => {
  const { platform, say, runtime } = open()
  say('a', create('a'))
  t.match(say('a', { type: 'later', afterMs: Number.NaN }), { ok: false, refusal: { code: 'internal_error' } })
  say('a', { type: 'later', afterMs: 1_000 })
  platform.advance(2_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })?.context.heard, ['timer'])
})

t.test('listeners are given steps and events in log order', async (t) => {
  const { runtime, say } = open()
  const steps: CommittedStep[] = []
  const events: CommittedEvent[] = []
  runtime.onCommit((newSteps, newEvents) => {
    steps.push(...newSteps)
    events.push(...newEvents)
  })
  say('a', create('a'))
  say('a', { type: 'bump' })
  t.same(
    steps.map(({ before, after, version }) => [before?.value, after.value, version]),
    [
      [undefined, 'on', 1],
      ['on', 'on', 2],
    ],
  )
  t.same(
    events.map(({ sequence, event_type }) => [sequence, event_type]),
    [
      [1, 'toy_created'],
      [2, 'toy_bumped'],
    ],
  )
})

t.test('a message from one actor to another is delivered once', async (t) => {
  const { runtime, say, journal } = open()
  say('a', create('a'))
  say('b', create('b'))
  say('a', { type: 'tell', to: 'b', text: 'one' })
  say('a', { type: 'tell', to: 'b', text: 'two' })
  t.same(runtime.read({ kind: 'project', id: 'b' })!.context.heard, ['one', 'two'])
  t.same([...journal.outbox()], [])
})

t.test('an actor with many senders remembers only the newest sendersRememberedMax of them', async (t) => {
  const { say, journal, runtime } = open()
  say('hub', create('hub'))
  const sent = sendersRememberedMax + 6
  for (let n = 0; n < sent; n++) {
    say(`s${n}`, create(`s${n}`))
    say(`s${n}`, { type: 'tell', to: 'hub', text: `${n}` })
    // The first sender is heard again and again, so it must not be the one forgotten.
    say('s0', { type: 'tell', to: 'hub', text: `again ${n}` })
  }
  t.equal(runtime.read({ kind: 'project', id: 'hub' })!.context.heard.length, 2 * sent)
  const senders = Object.keys(JSON.parse(journal.actor('project', 'hub')!).seen)
  t.equal(senders.length, sendersRememberedMax)
  t.ok(senders.includes('project/s0'))
  t.notOk(senders.includes('project/s1'))
  t.equal(senders.at(-2), `project/s${sent - 1}`)
})

t.test('a message left in the outbox when the service ended is delivered once at the next start', async (t) => {
  const journal = new MemoryJournal()
  const first = open({ journal })
  first.say('a', create('a'))
  first.say('b', create('b'))
  first.runtime.ask({ kind: 'project', id: 'a' }, { type: 'tell', to: 'b', text: 'late' } as never, () => {})
  const turns = first.platform as unknown as { turns: (() => void)[] }
  turns.turns.shift()!()
  t.equal([...journal.outbox()].length, 1)
  const second = open({ journal })
  t.same(second.runtime.read({ kind: 'project', id: 'b' })!.context.heard, ['late'])
  t.same([...journal.outbox()], [])
  const third = open({ journal })
  t.same(third.runtime.read({ kind: 'project', id: 'b' })!.context.heard, ['late'])
})

t.test('a message to an actor that refuses it is removed from the outbox all the same', async (t) => {
  const { say, journal, runtime } = open()
  say('a', create('a'))
  say('a', { type: 'tell', to: 'nobody', text: 'lost' })
  t.same([...journal.outbox()], [])
  t.equal(runtime.read({ kind: 'project', id: 'nobody' }), undefined)
})

t.test(
  'an entity that refused a message before it was created can still be created, and is in no list until then',
  (t) => {
    const journal = new MemoryJournal()
    const first = open({ journal })
    first.say('a', create('a'))
    first.say('a', { type: 'tell', to: 'late', text: 'too early' })
    const terms: MachineModule['terms'] = (snapshot) => {
      t.not(snapshot.value, 'absent', 'an absent entity has no index terms')
      return toyModule.terms(snapshot)
    }
    const { say } = open({ journal, modules: { ...modules, project: { ...toyModule, terms } } })
    t.match(say('late', create('late')), { ok: true, snapshot: { value: 'on' } })
    t.end()
  },
)

t.test('a durable timer fires once, on time or at the next start if the service was down', async (t) => {
  const journal = new MemoryJournal()
  const platform = new ManualPlatform()
  const first = open({ journal, platform })
  first.say('a', create('a'))
  first.say('a', { type: 'later', afterMs: 5_000, text: 'ring' })
  platform.advance(4_999)
  t.same(first.runtime.read({ kind: 'project', id: 'a' })!.context.heard, [])
  platform.advance(1)
  t.same(first.runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['ring'])
  first.say('a', { type: 'later', afterMs: 5_000, text: 'ring again' })
  const later = new ManualPlatform(platform.wallMs() + 3_600_000)
  const second = open({ journal, platform: later })
  later.advance(10)
  t.same(second.runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['ring', 'ring again'])
  later.advance(3_600_000)
  t.same(second.runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['ring', 'ring again'])
})

t.test('a timer that was set again or cancelled does not fire at its old time', async (t) => {
  const { say, platform, runtime } = open()
  say('a', create('a'))
  say('a', { type: 'later', afterMs: 1_000, text: 'old' })
  say('a', { type: 'later', afterMs: 9_000, text: 'new' })
  platform.advance(5_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })!.context.heard, [])
  platform.advance(5_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['new'])
  say('a', { type: 'later', afterMs: 1_000, text: 'cancelled' })
  say('a', { type: 'never' })
  platform.advance(5_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['new'])
})

/** Toys that count as ended once they are off. */
const mortal = {
  ...modules,
  project: {
    ...modules.project,
    retirement: {
      index: 'state',
      values: ['off'],
      at: ({ value }: SnapshotOf<any>) => (value === 'off' ? 'then' : undefined),
    },
  },
} as typeof modules
const inMemory = (runtime: Runtime): number => (runtime as unknown as { actors: ActorTable }).actors.size

t.test('a cancelled timer does not load an ended actor into memory', async (t) => {
  const inner = new MemoryJournal()
  const reads: string[] = []
  const journal = journalWith(inner, {
    actor: (kind: string, id: string) => {
      reads.push(id)
      return inner.actor(kind, id)
    },
  })
  const { say, platform, runtime } = open({ journal, modules: mortal })
  platform.advance(10)
  say('a', create('a'))
  say('a', { type: 'later', afterMs: 1_000 })
  say('a', { type: 'never' })
  say('a', { type: 'stop' })
  t.equal(inMemory(runtime), 0)
  reads.length = 0
  platform.advance(5_000)
  t.same([inMemory(runtime), reads], [0, []])
})

t.test('an ended actor does not stay in memory because of a deadline that came too late', async (t) => {
  const { say, platform, runtime } = open({ modules: mortal })
  const ref = { kind: 'project', id: 'a' } as const
  runtime.beforeDue((_, message) => {
    for (const type of ['wake', 'stop']) runtime.ask(ref, { type }, ({ ok }) => t.ok(ok))
    return message
  })
  say('a', create('a'))
  say('a', { type: 'sleep' })
  platform.advance(60_000)
  t.equal(runtime.read(ref)!.value, 'off')
  t.equal(runtime.deadlinesPassed('lease'), 0)
  t.equal(inMemory(runtime), 0)
})

t.test('a timer that is set again by the step it triggers fires again', async (t) => {
  const { say, platform, runtime, journal } = open()
  say('a', create('a'))
  say('a', { type: 'later', afterMs: 1_000, message: 'later', text: 'again' })
  platform.advance(1_000)
  t.equal(journal.timers(0, Number.MAX_SAFE_INTEGER, 9).length, 1)
  platform.advance(1_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['again'])
  t.same(journal.timers(0, Number.MAX_SAFE_INTEGER, 9), [])
})

t.test('a timer due tomorrow waits in the view and fires on time', async (t) => {
  const { say, platform, runtime } = open()
  say('a', create('a'))
  say('a', { type: 'later', afterMs: 86_400_000, text: 'tomorrow' })
  platform.advance(86_399_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })!.context.heard, [])
  platform.advance(1_000)
  t.same(runtime.read({ kind: 'project', id: 'a' })!.context.heard, ['tomorrow'])
})

t.test(
  'a deadline fires unless it is renewed, writes nothing while it runs, and starts in full after a restart',
  async (t) => {
    const journal = new MemoryJournal()
    const first = open({ journal })
    const ref = { kind: 'project', id: 'a' } as const
    first.say('a', create('a'))
    first.say('a', { type: 'sleep' })
    const written = journal.lastSequence
    first.platform.advance(50_000)
    first.runtime.renew(ref)
    t.equal(first.runtime.deadlineMs(ref, 'lease'), first.platform.wallMs() + 60_000)
    first.platform.advance(50_000)
    t.equal(first.runtime.read(ref)!.value, 'dozing')
    t.equal(journal.lastSequence, written)

    const second = open({ journal })
    second.platform.advance(59_999)
    t.equal(second.runtime.read(ref)!.value, 'dozing', 'the full length again after the restart')
    second.platform.advance(1)
    t.equal(second.runtime.read(ref)!.value, 'off')
  },
)

t.test('a deadline that passed while the process stood still starts again in full', async (t) => {
  const { say, platform, runtime } = open()
  const ref = { kind: 'project', id: 'a' } as const
  say('a', create('a'))
  say('a', { type: 'sleep' })
  platform.standStill(66_000)
  platform.advance(59_999)
  t.equal(runtime.read(ref)!.value, 'dozing')
  platform.advance(1)
  t.equal(runtime.read(ref)!.value, 'off')
  say('b', create('b'))
  say('b', { type: 'sleep' })
  platform.standStill(60_000 + stoodStillMs)
  platform.advance(0)
  t.equal(runtime.read({ kind: 'project', id: 'b' })!.value, 'off', 'a busy turn does not count as standing still')
})

t.test('a timer of the service itself does not renew a deadline', async (t) => {
  const journal = new MemoryJournal()
  const { say, platform, runtime } = open({ journal })
  say('a', create('a'))
  say('a', { type: 'later', afterMs: 30_000 })
  say('a', { type: 'sleep' })
  platform.advance(59_000)
  t.equal(journal.timers(0, Number.POSITIVE_INFINITY, 1).length, 0, 'the timer fired, and a step removed its row')
  platform.advance(1_500)
  t.equal(runtime.read({ kind: 'project', id: 'a' })!.value, 'off')
})

t.test('a deadline is renewed only by the message types that count as signs of life', async (t) => {
  const { say, platform, runtime } = open()
  const ref = { kind: 'project', id: 'a' } as const
  say('a', create('a'))
  say('a', { type: 'sleep' })
  platform.advance(50_000)
  t.equal(say('a', { type: 'stir' }).ok, true)
  platform.advance(50_000)
  t.equal(say('a', { type: 'watch' }).ok, true)
  platform.advance(9_999)
  t.equal(runtime.read(ref)!.value, 'dozing')
  platform.advance(1)
  t.equal(runtime.read(ref)!.value, 'off')
})

t.test('a sign of life stepped just before a deadline fires renews it', async (t) => {
  const { runtime, platform, say } = open()
  const ref = { kind: 'project', id: 'a' } as const
  let ahead = 'stir'
  runtime.beforeDue((_, message) => {
    // It reaches the mailbox before the deadline's own message does.
    runtime.ask(ref, { type: ahead }, ({ ok }) => t.ok(ok))
    return message
  })
  say('a', create('a'))
  say('a', { type: 'sleep' })
  platform.advance(60_000)
  t.equal(runtime.read(ref)!.value, 'dozing')
  ahead = 'watch'
  platform.advance(59_999)
  t.equal(runtime.read(ref)!.value, 'dozing', 'renewed in full')
  platform.advance(1)
  t.match(
    runtime.read(ref),
    { value: 'off', context: { count: 2 } },
    'a message that is no sign of life does not delay the deadline',
  )
})

t.test(
  'messages to existing entities go before creations, and every batch keeps room for some creations',
  async (t) => {
    const { runtime, platform, say } = open()
    const begun = Array.from({ length: stepsPerBatchMax }, (_, n) => `old ${n}`)
    for (const id of begun) say(id, create(id))
    const commits: string[][] = []
    runtime.onCommit((steps) => commits.push(steps.map(({ ref }) => ref.id)))
    const fresh = Array.from({ length: stepsPerBatchMax }, (_, n) => `new ${n}`)
    const ask = (id: string, message: object) => runtime.ask({ kind: 'project', id }, message as never, () => {})
    for (const id of fresh) ask(id, create(id))
    for (const id of begun) ask(id, { type: 'bump' })
    platform.run()
    const [first] = commits
    const kept = newStepsPerBatchMin
    t.same(first, [...begun.slice(0, stepsPerBatchMax - kept), ...fresh.slice(0, kept)])
    t.same(commits.flat().sort(), [...begun, ...fresh].sort(), 'all of them are done')
  },
)

t.test('one commit holds a bounded amount of text, whether it comes from many actors or from one', async (t) => {
  const { runtime, platform, say } = open()
  const body = 'x'.repeat(1024 * 1024)
  const ids = Array.from({ length: 48 }, (_, n) => `p${n}`)
  const noted = (project: string, n: number) =>
    prepareEvent({
      event_type: 'noted',
      project,
      occurred_at: '2026-01-01T00:00:00.000000Z',
      throttle: 'full',
      payload: { n, body },
      ...NO_TRACE,
    })
  for (const id of ids) say(id, create(id))
  const sizes: number[] = []
  runtime.onCommit((_, events) => sizes.push(events.reduce((sum, { text }) => sum + text.length, 0)))
  let answered = 0
  const ask = (id: string, n: number) =>
    runtime.ask({ kind: 'project', id }, { type: 'record', events: [noted(id, n)] } as never, ({ ok }) => {
      answered += Number(ok)
    })
  for (const [who, of] of [
    ['many', (n: number) => ids[n]!],
    ['one', () => 'p0'],
  ] as const) {
    sizes.length = 0
    answered = 0
    for (let n = 0; n < 48; n++) ask(of(n), n)
    platform.run()
    t.equal(answered, 48, 'all are answered')
    t.ok(Math.max(...sizes) <= charsPerBatchMax + 2 * body.length, `${who}: ${sizes}`)
    t.ok(sizes.length <= 1 + (48 * body.length) / charsPerBatchMax, 'in few commits')
  }
})

t.test(
  'a turn steps for a bounded time, however long a step takes, and always something old and something new',
  (t) => {
    const platform = new ManualPlatform()
    let stepMs = 0
    const slow: MachineModule = {
      ...toyModule,
      repeats: (snapshot, message) => {
        platform.nowMs += stepMs
        return toyModule.repeats(snapshot, message as never)
      },
    }
    const { runtime, say } = open({ platform, modules: { ...modules, project: slow } })
    for (let n = 0; n < 20; n++) say(`old${n}`, create(`old${n}`))
    const turns: string[][] = []
    runtime.onCommit((steps) => turns.push(steps.map(({ ref }) => ref.id)))
    for (const [ms, each] of [
      [10, Math.ceil(stepsMsPerBatchMax / 10)],
      [1_000, 1],
    ] as const) {
      stepMs = ms
      turns.length = 0
      for (let n = 0; n < 20; n++) {
        runtime.ask({ kind: 'project', id: `old${n}` }, { type: 'bump' } as never, () => {})
        runtime.ask({ kind: 'project', id: `new${ms}-${n}` }, create(`new${ms}-${n}`) as never, () => {})
      }
      platform.run()
      const first = turns[0]!
      t.equal(first.filter((id) => id.startsWith('old')).length, each, `${ms} ms a step`)
      t.equal(first.filter((id) => id.startsWith('new')).length, each)
      t.equal(turns.flat().length, 40, 'the others follow, once each')
      t.same(
        turns.flat().filter((id) => id.startsWith('old')),
        Array.from({ length: 20 }, (_, n) => `old${n}`),
        'in order',
      )
    }
    t.end()
  },
)

t.test('a full mailbox refuses with 503 overloaded, and everything accepted is still stepped', async (t) => {
  const { runtime, platform, say } = open()
  say('a', create('a'))
  const answers: Answer[] = []
  for (let i = 0; i < mailboxDepthMax + 5; i++)
    runtime.ask({ kind: 'project', id: 'a' }, { type: 'bump' }, (one) => answers.push(one))
  platform.run()
  const refused = answers.filter((one) => !one.ok)
  t.equal(refused.length, 5)
  t.match(refused[0], { refusal: { code: 'overloaded' }, isPassing: true })
  t.equal(runtime.read({ kind: 'project', id: 'a' })!.context.count, mailboxDepthMax)
})

t.test(
  'while the journal refuses writes, senders get the refusal, reads go on, and timers and deadlines wait',
  async (t) => {
    const inner = new MemoryJournal()
    let reason: string | undefined
    const { say, platform, runtime } = open({ journal: journalWith(inner, { refuses: () => reason }) })
    const ref = { kind: 'project', id: 'a' } as const
    say('a', create('a'))
    say('a', { type: 'later', afterMs: 1_000, text: 'ring' })
    say('b', create('b'))
    say('b', { type: 'sleep' })
    reason = 'disk_reserve'
    t.match(say('a', { type: 'bump' }), { ok: false, refusal: { code: 'disk_reserve' } })
    t.equal(runtime.read(ref)!.context.count, 0)
    platform.advance(70_000)
    t.same(runtime.read(ref)!.context.heard, [])
    reason = undefined
    platform.advance(1_000)
    t.same(runtime.read(ref)!.context.heard, ['ring'])
    t.equal(runtime.read({ kind: 'project', id: 'b' })!.value, 'dozing', 'the lease starts again in full')
    platform.advance(60_000)
    t.equal(runtime.read({ kind: 'project', id: 'b' })!.value, 'off')
  },
)

t.test('a commit that fails refuses every message with storage_failed and ends the service', async (t) => {
  const inner = new MemoryJournal()
  const failing = journalWith(inner, {
    append: (_steps: readonly Step[], done: Parameters<Journal['append']>[1]) =>
      done(new JournalFailure('disk gone'), null),
  })
  const { say, fatal, runtime } = open({ journal: failing })
  t.match(say('a', create('a')), { ok: false, refusal: { code: 'storage_failed' } })
  t.equal(fatal.length, 1)
  t.match(say('b', create('b')), { ok: false, refusal: { code: 'storage_failed' } })
  t.equal(runtime.read({ kind: 'project', id: 'a' }), undefined, 'none of it is visible')
})

t.test('when an actor cannot be read from the journal, every message is refused and no delivery is consumed', (t) => {
  const inner = new MemoryJournal()
  const first = open({ journal: inner })
  for (const id of ['a', 'b']) first.say(id, create(id))
  first.runtime.ask({ kind: 'project', id: 'a' }, { type: 'tell', to: 'b', text: 'late' } as never, () => {})
  ;(first.platform as unknown as { turns: (() => void)[] }).turns.shift()!()
  const last = inner.lastSequence
  const unreadable = journalWith(inner, {
    actor: (kind, id) => {
      if (id === 'b') throw new JournalFailure('it cannot be read')
      return inner.actor(kind, id)
    },
  })
  const platform = new ManualPlatform()
  const second = createRuntime(unreadable, settings, { platform, log: silentLogger, modules, onFatal: () => {} })
  const answers: Answer[] = []
  for (const id of ['c', 'b', 'd'])
    second.ask({ kind: 'project', id }, create(id) as never, (answer) => answers.push(answer))
  platform.run()
  t.equal(answers.length, 3)
  for (const answer of answers) t.match(answer, { ok: false, refusal: { code: 'storage_failed' } })
  second.ask({ kind: 'project', id: 'e' }, create('e') as never, (answer) => answers.push(answer))
  platform.run()
  t.match(answers[3], { ok: false, refusal: { code: 'storage_failed' } })
  t.equal(inner.lastSequence, last, 'nothing was written')
  t.same(open({ journal: inner }).runtime.read({ kind: 'project', id: 'b' })!.context.heard, ['late'])
  t.end()
})

t.test('a step that cannot read the journal is refused as storage_failed, and so is every message after it', (t) => {
  const inner = new MemoryJournal()
  const { say, journal } = open({
    journal: journalWith(inner, {
      eventSequence: () => {
        throw new JournalFailure('it cannot be read')
      },
    }),
  })
  say('a', create('a'))
  const event = prepareEvent({
    event_type: 'greeting_composed',
    project: 'a',
    occurred_at: '2026-01-01T00:00:00Z',
    throttle: 'full',
    payload: { greeting: 'hello' },
    ...NO_TRACE,
  })
  t.match(say('a', { type: 'record', events: [event] }), { ok: false, refusal: { code: 'storage_failed' } })
  t.match(say('a', { type: 'bump' }), { ok: false, refusal: { code: 'storage_failed' } })
  t.equal(journal.lastSequence, 1)
  t.end()
})

t.test(
  'a reservation that comes with a repeat is written once, and one with a refused message is not written',
  async (t) => {
    const inner = new MemoryJournal()
    let batches = 0
    const journal = journalWith(inner, {
      append: (steps: readonly Step[], done: Parameters<Journal['append']>[1]) => {
        batches++
        inner.append(steps, done)
      },
    })
    const { say } = open({ journal })
    say('a', create('a'))
    const reserving = (key: string) => ({ ...create('a'), reservation: { scope: 'made', key, value: 'a' } })
    t.match(say('a', reserving('k')), { ok: true, repeat: 'replay' })
    t.same([inner.reservation('made', 'k'), batches], ['a', 2])
    t.match(say('a', reserving('k')), { ok: true, repeat: 'replay' })
    t.equal(batches, 2)
    t.match(say('a', { ...reserving('other'), id: 'b' }), { ok: false })
    t.same([inner.reservation('made', 'other'), batches], [undefined, 2])
  },
)

t.test('a step that the journal cannot store fails alone: the rest of its batch is stored', async (t) => {
  const inner = new MemoryJournal()
  const choosy = journalWith(inner, {
    append: (steps: readonly Step[], done: Parameters<Journal['append']>[1]) => {
      if (steps.some(({ id }) => id === 'too long')) throw new RangeError('a key is too long')
      inner.append(steps, done)
    },
  })
  const { runtime, platform, say, fatal } = open({ journal: choosy })
  say('a', create('a'))
  const answers: [string, Answer][] = []
  const ask = (id: string, message: object) =>
    runtime.ask({ kind: 'project', id }, message as never, (one) => answers.push([id, one]))
  ask('a', { type: 'bump' })
  ask('too long', create('too long'))
  ask('a', { type: 'bump' })
  ask('a', create('a'))
  platform.run()
  t.match(answers, [
    ['a', { ok: true, version: 2, snapshot: { context: { count: 1 } } }],
    ['a', { ok: true, version: 3, snapshot: { context: { count: 2 } } }],
    ['a', { repeat: 'replay' }],
    ['too long', { ok: false, refusal: { code: 'internal_error' } }],
  ])
  t.equal(answers.length, 4, 'each is answered once')
  t.equal(runtime.load.messagesInFlight, 0)
  t.match(say('a', { type: 'bump' }), { ok: true, version: 4 })
  t.same(fatal, [])
})

t.test('a record that cannot be opened quarantines its actor only', async (t) => {
  const inner = new MemoryJournal()
  open({ journal: inner }).say('a', create('a'))
  const spoiled = journalWith(inner, {
    actor: (kind: string, id: string) =>
      id === 'a' ? inner.actor(kind, id)!.replace('"value":"on"', '"value":"gone"') : inner.actor(kind, id),
  })
  const { say, runtime } = open({ journal: spoiled })
  t.match(say('a', { type: 'bump' }), { ok: false, refusal: { code: 'quarantined' } })
  t.throws(() => runtime.read({ kind: 'project', id: 'a' }), Quarantined)
  t.match(runtime.quarantined(), [{ ref: { kind: 'project', id: 'a' } }])
  t.match(say('b', create('b')), { ok: true })
})

t.test('a record of an older machine version is migrated, and one of a newer version is quarantined', async (t) => {
  const journal = new MemoryJournal()
  open({ journal }).say('a', create('a'))
  const next = {
    ...modules,
    project: {
      ...modules.project,
      version: 2,
      migrations: { 1: (old: any) => ({ ...old, context: { ...old.context, count: 40 } }) },
    },
  }
  const second = open({ journal, modules: next })
  second.say('a', { type: 'bump' })
  t.equal(second.runtime.read({ kind: 'project', id: 'a' })!.context.count, 41)
  t.match(open({ journal }).say('a', { type: 'bump' }), { ok: false, refusal: { code: 'quarantined' } })
})

t.test('closing finishes what was accepted and refuses what comes after', async (t) => {
  const { runtime, platform } = open()
  const answers: Answer[] = []
  runtime.ask({ kind: 'project', id: 'a' }, create('a') as never, (one) => answers.push(one))
  const closed = runtime.close()
  runtime.ask({ kind: 'project', id: 'b' }, create('b') as never, (one) => answers.push(one))
  platform.run()
  await closed
  t.match(answers[0], { ok: false, refusal: { code: 'stopping' } })
  t.match(answers[1], { ok: true, version: 1 })
})

t.test('refusals are answered at once even while accepted work waits for room in the view', async (t) => {
  const inner = new MemoryJournal()
  let giveRoom: (() => void) | undefined
  let hasRoom = true
  const journal = journalWith(inner, {
    waitForRoom: (resume: () => void) => {
      giveRoom = resume
      return !hasRoom
    },
  })
  const { runtime, platform, say } = open({ journal })
  say('a', create('a'))
  hasRoom = false
  const heard: string[] = []
  const ask = (name: string) =>
    runtime.ask({ kind: 'project', id: 'a' }, { type: 'bump' }, (one) =>
      heard.push(`${name} ${one.ok ? one.version : one.refusal.code}`),
    )
  ask('taken')
  platform.run()
  t.same(heard, [])
  inner.refuse('disk_reserve')
  for (const name of ['second', 'third']) ask(name)
  t.same(heard, [], 'not within the call itself')
  platform.run()
  t.same(heard, ['second disk_reserve', 'third disk_reserve'])
  const closed = runtime.close()
  ask('last')
  platform.run()
  t.same(heard.slice(2), ['last stopping'])
  inner.refuse(undefined)
  hasRoom = true
  giveRoom!()
  platform.run()
  await closed
  t.same(heard.slice(3), ['taken 2'], 'once it is durable, and before the runtime has closed')
})

t.test(
  'a page cut short resumes from an order without an id, so that no row is skipped and no foreign row is named',
  async (t) => {
    const terms: MachineModule['terms'] = ({ context }) => [{ index: 'all', value: '', order: context.id.slice(0, 1) }]
    const { runtime, say, platform } = open({ modules: { ...modules, project: { ...modules.project, terms } } })
    /** Reads the page over the several turns that it takes. */
    const list = async (asked: ListRequest): Promise<ListResult> => {
      const page = runtime.list(asked)
      for (let isRead = false; !isRead; platform.run()) {
        isRead = await Promise.race([page.then(() => true), untilNext(false)])
      }
      return page
    }
    const others = Array.from({ length: listRowsReadMax + 100 }, (_, i) => `b${i}`)
    for (const id of ['a own', ...others, 'c own']) say(id, create(id))
    const own = ({ context }: SnapshotOf<any>): boolean => context.id.endsWith('own')
    const request = { kind: 'project', index: 'all', value: '', limit: 5, matches: own } as const
    const idsOf = (page: ListResult): string[] => page.snapshots.map(({ context }) => context.id)
    const first = await list(request)
    t.same([idsOf(first), first.next], [['c own'], { order: 'b', id: '' }])
    const second = await list({ ...request, after: first.next! })
    t.same([idsOf(second), second.next], [['a own'], undefined])
  },
)

t.test('a list returns the matching entities in pages, newest first', async (t) => {
  const { runtime, say } = open()
  for (const id of ['a', 'b', 'c', 'd', 'e']) say(id, create(id))
  const request = { kind: 'project' as const, index: 'all', value: '', limit: 2 }
  const seen: string[] = []
  let page = await runtime.list(request)
  for (;;) {
    seen.push(...page.snapshots.map((one) => one.context.id))
    if (page.next === undefined) break
    page = await runtime.list({ ...request, after: page.next })
  }
  t.same(seen, ['e', 'd', 'c', 'b', 'a'])
  t.equal(page.sequence, 5)
  const odd = await runtime.list({ ...request, limit: 5, matches: ({ context }) => 'ace'.includes(context.id) })
  t.same(
    odd.snapshots.map((one) => one.context.id),
    ['e', 'c', 'a'],
  )
  t.equal(odd.next, undefined)
  const late = await runtime.list({ ...request, limit: 5, downTo: 'c' })
  t.same(
    late.snapshots.map((one) => one.context.id),
    ['e', 'd', 'c'],
    'down to the given order, inclusive',
  )
  t.equal(late.next, undefined)
})
