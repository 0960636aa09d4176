import t from 'tap'
import { ACTOR_KINDS, type ActorKind, type MachineModule, type Message } from '../../machines/machine.ts'
import type { Answer, Runtime } from '../../runtime/api.ts'
import { setAsideRetryMs, setAsideRetryMsMax } from '../../runtime/limits.ts'
import { createRuntime } from '../../runtime/runtime.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import type { Journal, Step } from '../../storage/journal.ts'
import { ManualPlatform } from '../platforms/manual.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { toyModule } from './toy.ts'

interface World {
  readonly platform: ManualPlatform
  readonly journal: Journal
  readonly runtime: Runtime
  /** Failed steps as logged. */
  readonly told: any[]
  /** Once true, the step that throws succeeds, as after a fix of the program. */
  isMended: boolean
  say(id: string, message: object): Answer
  tell(from: string, text: string): void
  heard(id: string): readonly string[]
}

/** A service whose step throws at every message that says `poison`. */
function open(journal: Journal = new MemoryJournal(), isMended = false): World {
  const platform = new ManualPlatform()
  const told: any[] = []
  const repeats = (snapshot: any, message: Message<any>): string | undefined => {
    if (!world.isMended && message.type === 'hear' && message.text === 'poison') throw new Error('it cannot be')
    return toyModule.repeats(snapshot, message)
  }
  const modules = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, { ...toyModule, kind, repeats }]))
  const log = { info: () => {}, warn: () => {}, error: (fields: object) => told.push(fields) }
  const world: World = {
    platform,
    journal,
    told,
    isMended,
    get runtime(): Runtime {
      return runtime
    },
    say(id, message) {
      let answer: Answer | undefined
      runtime.ask({ kind: 'project', id }, message as never, (given) => {
        answer = given
      })
      platform.run()
      return answer!
    },
    tell: (from, text) => {
      world.say(from, { type: 'tell', to: 'b', text })
    },
    heard: (id) => runtime.read({ kind: 'project', id })!.context.heard,
  }
  const runtime = createRuntime(
    journal,
    { ...defaultSettings, home: '/nowhere' },
    { platform, log, modules: modules as Record<ActorKind, MachineModule>, onFatal: (failure) => t.error(failure) },
  )
  platform.run()
  return world
}

function peopled(): World {
  const world = open()
  for (const id of ['a', 'b', 'c']) world.say(id, { type: 'create', id })
  return world
}

t.test('a delivery whose step throws is set aside, and later messages of its sender wait behind it', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.tell('a', 'after it')
  w.tell('c', 'from another')
  t.same(w.heard('b'), ['from another'], 'other senders do not wait')
  t.match(w.say('b', { type: 'bump' }), { ok: true })
  t.equal([...w.journal.outbox()].length, 2, 'both are on disk')
  t.equal(w.runtime.setAside.count, 2)
  t.match(w.told, [{ actor: 'project/b', message: 'hear', source: { row: { kind: 'project', id: 'a' } }, failures: 1 }])
  w.isMended = true
  w.platform.advance(setAsideRetryMs - 1)
  t.same(w.heard('b'), ['from another'])
  w.platform.advance(1)
  t.same(w.heard('b'), ['from another', 'poison', 'after it'])
  t.same([...w.journal.outbox()], [])
  t.equal(w.runtime.setAside.count, 0)
  w.tell('a', 'on and on')
  t.same(w.heard('b').at(-1), 'on and on')
})

t.test('later messages do not overtake a delivery that is being retried', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.platform.advance(setAsideRetryMs)
  t.equal(w.told.length, 2, 'it was retried and failed again')
  w.tell('a', 'after it')
  w.isMended = true
  // Under way in the turn in which the other is retried.
  w.runtime.ask({ kind: 'project', id: 'a' }, { type: 'tell', to: 'b', text: 'last' } as never, () => {})
  w.platform.advance(2 * setAsideRetryMs)
  t.same(w.heard('b'), ['poison', 'after it', 'last'])
})

t.test('a start with a fixed program delivers what was set aside', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.tell('a', 'after it')
  const still = open(w.journal)
  t.equal(still.runtime.setAside.count, 2)
  const mended = open(w.journal, true)
  t.same(mended.heard('b'), ['poison', 'after it'])
  t.same([...w.journal.outbox()], [])
})

t.test('a delivery that keeps failing is retried ever less often, and never given up', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.platform.advance(86_400_000)
  t.ok(w.told.length < 160, `${w.told.length} tries in a day`)
  t.equal(w.told.at(-1).retry_in_ms, setAsideRetryMsMax)
  t.equal(w.runtime.setAside.count, 1)
})

t.test('a timer whose step throws is retried, unless it is set again', async (t) => {
  const w = peopled()
  w.say('b', { type: 'later', afterMs: 5_000, text: 'poison' })
  w.platform.advance(5_000)
  t.equal(w.runtime.setAside.count, 1)
  w.isMended = true
  w.platform.advance(setAsideRetryMs)
  t.same(w.heard('b'), ['poison'])
  w.isMended = false
  w.say('b', { type: 'later', afterMs: 5_000, text: 'poison' })
  w.platform.advance(5_000)
  w.say('b', { type: 'later', afterMs: 5_000, text: 'fine' })
  w.platform.advance(60_000)
  t.same(w.heard('b'), ['poison', 'fine'])
  t.equal(w.runtime.setAside.count, 0)
})

t.test(
  'a failed timer that was cancelled is dropped, and the next failure starts with the shortest pause',
  async (t) => {
    const w = peopled()
    w.say('b', { type: 'later', afterMs: 5_000, text: 'poison' })
    w.platform.advance(5_000)
    w.say('b', { type: 'never' })
    w.platform.advance(setAsideRetryMs)
    t.equal(w.told.length, 1, 'found cancelled without another try')
    t.equal(w.runtime.setAside.count, 0)
    w.tell('a', 'poison')
    t.match(w.told.at(-1), { message: 'hear', failures: 1 })
  },
)

t.test('a request from outside whose step throws is refused with internal_error, and not set aside', async (t) => {
  const w = peopled()
  t.match(w.say('b', { type: 'hear', text: 'poison' }), { ok: false, refusal: { code: 'internal_error' } })
  t.equal(w.runtime.setAside.count, 0)
})

/** Throws at steps that say `unstorable`, until it is mended. */
class ChoosyJournal extends MemoryJournal {
  isMended = false
  isUnstorable = ({ record }: Step): boolean => record.includes('unstorable')
  /** Resumes a turn that waits for room. */
  giveRoom: (() => void) | undefined
  hasRoom = true

  override append(steps: readonly Step[], done: Parameters<Journal['append']>[1]): void {
    const isRefused = !this.isMended && steps.some((step) => this.isUnstorable(step))
    if (isRefused) throw new RangeError('a key is too long')
    super.append(steps, done)
  }

  override waitForRoom(resume: () => void): boolean {
    this.giveRoom = resume
    return !this.hasRoom
  }
}

function choosy(): World & { readonly journal: ChoosyJournal } {
  const world = open(new ChoosyJournal())
  for (const id of ['a', 'b', 'c', 'd']) world.say(id, { type: 'create', id })
  return world as World & { readonly journal: ChoosyJournal }
}

t.test(
  'a delivery that cannot be stored is set aside like one whose step throws, and holds up no other sender',
  async (t) => {
    const w = choosy()
    const ask = (from: string, to: string, text: string) =>
      w.runtime.ask({ kind: 'project', id: from }, { type: 'tell', to, text } as never, (answer) => t.ok(answer.ok))
    ask('a', 'b', 'unstorable')
    ask('a', 'b', 'after it')
    ask('c', 'b', 'from another')
    ask('c', 'd', 'elsewhere')
    w.platform.run()
    t.same([w.heard('b'), w.heard('d')], [['from another'], ['elsewhere']])
    t.equal(w.runtime.setAside.count, 2)
    t.same(
      [...w.journal.outbox()].map(({ message }: any) => message.text),
      ['unstorable', 'after it'],
    )
    w.journal.isMended = true
    w.platform.advance(setAsideRetryMs)
    t.same(w.heard('b'), ['from another', 'unstorable', 'after it'])
    t.same([[...w.journal.outbox()], w.runtime.setAside.count], [[], 0])
  },
)

t.test('a timer that cannot be stored is retried, and the timers stepped with it fire', async (t) => {
  const w = choosy()
  w.say('a', { type: 'later', afterMs: 5_000, text: 'fine' })
  w.say('b', { type: 'later', afterMs: 5_000, text: 'unstorable' })
  w.say('c', { type: 'later', afterMs: 5_000, text: 'fine' })
  w.platform.advance(5_000)
  t.same([w.heard('a'), w.heard('b'), w.heard('c')], [['fine'], [], ['fine']])
  w.journal.isMended = true
  w.platform.advance(setAsideRetryMs)
  t.same(w.heard('b'), ['unstorable'])
})

t.test('a timer whose cancelling step could not be stored still fires', async (t) => {
  const w = choosy()
  w.say('a', { type: 'later', afterMs: 5_000, text: 'fine' })
  w.journal.isUnstorable = ({ record, timersCleared }) => timersCleared.length > 0 && !record.includes('fine')
  const answers: Answer[] = []
  const ask = (message: object) =>
    w.runtime.ask({ kind: 'project', id: 'a' }, message as never, (answer) => answers.push(answer))
  w.journal.hasRoom = false
  ask({ type: 'never' })
  w.platform.advance(5_000)
  w.journal.hasRoom = true
  w.journal.giveRoom!()
  w.platform.run()
  t.match(answers, [{ ok: false, refusal: { code: 'internal_error' } }])
  t.same(w.heard('a'), ['fine'])
})

t.test('a delivery that cannot be stored is retried alone, ever less often', async (t) => {
  const w = choosy()
  w.tell('a', 'unstorable')
  w.platform.advance(86_400_000)
  t.ok(w.told.length < 160, `${w.told.length} tries in a day`)
  t.equal(w.told.at(-1).retry_in_ms, setAsideRetryMsMax)
  t.same(
    w.told.filter(({ messages }) => messages !== undefined),
    [],
    'nothing else was appended together with it',
  )
})

t.test(
  'messages of a batch that could not be stored keep their order before what was set aside after them',
  async (t) => {
    const w = choosy()
    const ask = (from: string, to: string, text: string) =>
      w.runtime.ask({ kind: 'project', id: from }, { type: 'tell', to, text } as never, () => {})
    ask('a', 'b', 'first')
    ask('a', 'b', 'poison')
    ask('c', 'd', 'unstorable')
    w.platform.run()
    t.same(w.heard('b'), ['first'])
    t.equal(w.runtime.setAside.count, 2)
    w.isMended = true
    w.journal.isMended = true
    w.platform.advance(2 * setAsideRetryMs)
    t.same([w.heard('b'), w.heard('d')], [['first', 'poison'], ['unstorable']])
  },
)
