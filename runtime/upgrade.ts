/**
 * The first start of a version whose machines list their entities under other terms: before the home is served, every
 * entity is read once and its list rows are rebuilt. Records themselves are migrated when each is next opened.
 */
import type { ActorKind, MachineModule } from '../machines/machine.ts'
import type { Journal } from '../storage/journal.ts'
import type { Logger } from './log.ts'
import { decodeRecord } from './record.ts'
import { stepperOf } from './stepper.ts'

/** Call before anything else uses the journal. A journal that takes no writes is left as it is. */
export async function upgradeIndexes(
  journal: Journal,
  modules: Readonly<Record<ActorKind, MachineModule>>,
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<void> {
  const { lists } = journal
  if (lists === undefined) return
  const noted = lists.versions()
  const behind = Object.values(modules).filter(({ kind, version }) => (noted[kind] ?? 0) < version)
  if (behind.length === 0) return
  if (journal.refuses() !== undefined) {
    // Steps would add and remove list rows in this version's terms, beside rows that are still missing.
    journal.stayReadOnly?.()
    log.warn(
      { kinds: behind.map(({ kind }) => kind) },
      'lists may lack entities until the service starts with writes allowed',
    )
    return
  }
  for (const module of behind) {
    const rows = await lists.rebuild(module.kind, termsOf(module))
    if (rows > 0) log.info({ kind: module.kind, rows }, 'list rows were upgraded to this version')
  }
  const versions = Object.values(modules).map(({ kind, version }) => [kind, version])
  await lists.note({ ...noted, ...Object.fromEntries(versions) })
}

/** A record that cannot be read stays listed as it was; it is quarantined when it is opened. */
function termsOf(module: MachineModule) {
  const stepper = stepperOf(module)
  return (record: string) => {
    try {
      const { snapshot } = decodeRecord(stepper, record)
      return snapshot.value === 'absent' ? [] : module.terms(snapshot)
    } catch {
      return undefined
    }
  }
}
