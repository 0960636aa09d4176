/** Ids made from a key before and after a restore: never one that the lost log may have made. */
import t from 'tap'
import { ACTOR_KINDS, type ActorKind, type MachineModule } from '../../machines/machine.ts'
import { createOfKey } from '../../runtime/entities/generations.ts'
import { silentLogger } from '../../runtime/log.ts'
import { restoredMark } from '../../runtime/restored-log.ts'
import { createRuntime } from '../../runtime/runtime.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import type { Journal } from '../../storage/journal.ts'
import { ManualPlatform } from '../platforms/manual.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { toyModule } from './toy.ts'

const modules = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, { ...toyModule, kind }]))

/** The service on a journal; `make` creates or finds what a key names and returns its id. */
function open(journal: Journal) {
  const platform = new ManualPlatform()
  const runtime = createRuntime(
    journal,
    { ...defaultSettings, home: '/nowhere' },
    { platform, log: silentLogger, modules: modules as Record<ActorKind, MachineModule>, onFatal: (e) => t.error(e) },
  )
  const make = (key: string, isFenced?: true): string => {
    const idOf = (generation: number) => `${key}.${generation}`
    const fenced = isFenced === undefined ? {} : { isFenced }
    let made = ''
    const keyed = { kind: 'project', scope: 'toy', key: idOf(0), idOf, message: { type: 'create' }, ...fenced } as const
    createOfKey(runtime, keyed, (answer, id) => {
      t.ok(answer.ok, key)
      made = id
    })
    platform.run()
    return made
  }
  const mark = (): void => {
    const message = { type: 'create', id: `mark.${journal.epoch}`, reservation: restoredMark(journal.epoch) }
    runtime.ask({ kind: 'project', id: message.id }, message as never, () => {})
    platform.run()
  }
  return { make, mark }
}

/** The same content under another epoch, which is what a restore makes of a backup. */
function restored(journal: Journal, epoch: string): Journal {
  const other = new Proxy(journal, {
    get(target, name) {
      if (name === 'epoch') return epoch
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  open(other).mark()
  return other
}

t.test('a key gives the same id over restarts of the same log', async (t) => {
  const journal = new MemoryJournal()
  t.equal(open(journal).make('k', true), 'k.0')
  t.equal(open(journal).make('k', true), 'k.0')
})

t.test(
  'after a restore, a key known to the backup finds its entity, and an unknown one gets an id that is new to this log',
  async (t) => {
    const journal = new MemoryJournal()
    t.equal(open(journal).make('kept', true), 'kept.0')
    const first = restored(journal, 'first0000000')
    t.equal(open(first).make('kept', true), 'kept.0')
    const id = open(first).make('lost', true)
    t.not(id, 'lost.0', 'the lost log may have made that')
    t.equal(open(first).make('lost', true), id, 'the same again after a restart')
    t.equal(open(first).make('unfenced'), 'unfenced.0')
    const second = restored(first, 'second000000')
    t.equal(open(second).make('lost', true), id, 'and still after another restore')
    const other = open(second).make('lost too', true)
    t.not(other.split('.')[1], id.split('.')[1], 'each log has a generation of its own')
  },
)
