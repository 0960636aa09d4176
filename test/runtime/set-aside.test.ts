import t from 'tap'
import { ACTOR_KINDS, type ActorKind, type MachineModule, type Message } from '../../machines/machine.ts'
import type { Answer, Runtime } from '../../runtime/api.ts'
import { setAsideRetryMs, setAsideRetryMsMax } from '../../runtime/limits.ts'
import { createRuntime } from '../../runtime/runtime.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import type { Journal } from '../../storage/journal.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { toyModule } from './toy.ts'
import { TurnedNature } from './turned-nature.ts'

interface World {
  readonly nature: TurnedNature
  readonly journal: Journal
  readonly runtime: Runtime
  /** What the log says of failed steps. */
  readonly told: any[]
  /** A program that is mended takes what this one throws at. */
  isMended: boolean
  say(id: string, message: object): Answer
  tell(from: string, text: string): void
  heard(id: string): readonly string[]
}

/** A service whose step throws at every message that says `poison`. */
function open(journal: Journal = new MemoryJournal(), isMended = false): World {
  const nature = new TurnedNature()
  const told: any[] = []
  const repeats = (snapshot: any, message: Message<any>): string | undefined => {
    if (!world.isMended && message.type === 'hear' && message.text === 'poison') throw new Error('it cannot be')
    return toyModule.repeats(snapshot, message)
  }
  const modules = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, { ...toyModule, kind, repeats }]))
  const log = { info: () => {}, warn: () => {}, error: (fields: object) => told.push(fields) }
  const world: World = {
    nature,
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
      nature.run()
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
    { nature, log, modules: modules as Record<ActorKind, MachineModule>, onFatal: (failure) => t.error(failure) },
  )
  nature.run()
  return world
}

function peopled(): World {
  const world = open()
  for (const id of ['a', 'b', 'c']) world.say(id, { type: 'create', id })
  return world
}

t.test('a delivery whose step throws is kept, and what its sender says next waits behind it', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.tell('a', 'after it')
  w.tell('c', 'from another')
  t.same(w.heard('b'), ['from another'], 'nobody else waits')
  t.match(w.say('b', { type: 'bump' }), { ok: true })
  t.equal([...w.journal.outbox()].length, 2, 'both are on disk')
  t.equal(w.runtime.setAside.count, 2)
  t.match(w.told, [{ actor: 'project/b', message: 'hear', source: { row: { kind: 'project', id: 'a' } }, failures: 1 }])
  w.isMended = true
  w.nature.advance(setAsideRetryMs - 1)
  t.same(w.heard('b'), ['from another'])
  w.nature.advance(1)
  t.same(w.heard('b'), ['from another', 'poison', 'after it'])
  t.same([...w.journal.outbox()], [])
  t.equal(w.runtime.setAside.count, 0)
  w.tell('a', 'on and on')
  t.same(w.heard('b').at(-1), 'on and on')
})

t.test('what comes while it is tried again does not overtake it', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.nature.advance(setAsideRetryMs)
  t.equal(w.told.length, 2, 'it was tried again, and failed again')
  w.tell('a', 'after it')
  w.isMended = true
  // On its way in the turn in which the other is tried again.
  w.runtime.ask({ kind: 'project', id: 'a' }, { type: 'tell', to: 'b', text: 'last' } as never, () => {})
  w.nature.advance(2 * setAsideRetryMs)
  t.same(w.heard('b'), ['poison', 'after it', 'last'])
})

t.test('a program that is mended takes it at its start', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.tell('a', 'after it')
  const still = open(w.journal)
  t.equal(still.runtime.setAside.count, 2)
  const mended = open(w.journal, true)
  t.same(mended.heard('b'), ['poison', 'after it'])
  t.same([...w.journal.outbox()], [])
})

t.test('it is tried again ever more seldom, and never given up', async (t) => {
  const w = peopled()
  w.tell('a', 'poison')
  w.nature.advance(86_400_000)
  t.ok(w.told.length < 160, `${w.told.length} tries in a day`)
  t.equal(w.told.at(-1).retry_in_ms, setAsideRetryMsMax)
  t.equal(w.runtime.setAside.count, 1)
})

t.test('a timer whose step throws stays, unless it is set anew', async (t) => {
  const w = peopled()
  w.say('b', { type: 'later', afterMs: 5_000, text: 'poison' })
  w.nature.advance(5_000)
  t.equal(w.runtime.setAside.count, 1)
  w.isMended = true
  w.nature.advance(setAsideRetryMs)
  t.same(w.heard('b'), ['poison'])
  w.isMended = false
  w.say('b', { type: 'later', afterMs: 5_000, text: 'poison' })
  w.nature.advance(5_000)
  w.say('b', { type: 'later', afterMs: 5_000, text: 'fine' })
  w.nature.advance(60_000)
  t.same(w.heard('b'), ['poison', 'fine'])
  t.equal(w.runtime.setAside.count, 0)
})

t.test('a sender from outside hears of it at once, and nothing is kept', async (t) => {
  const w = peopled()
  t.match(w.say('b', { type: 'hear', text: 'poison' }), { ok: false, refusal: { code: 'internal_error' } })
  t.equal(w.runtime.setAside.count, 0)
})
