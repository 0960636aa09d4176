/** What `verify` needs to know of events and machines: content ids, a record's index terms, what events assert. */
import { eventId, isIngested, parseEventText } from '../../machines/events/envelope.ts'
import { modules } from '../../machines/index.ts'
import type { ActorKind, MachineModule } from '../../machines/machine.ts'
import { ASPECTS, differences } from '../../machines/testimony.ts'
import type { Assertion, VerifyHooks, Witness } from '../../storage/verify/findings.ts'
import { type ActorRecord, decodeRecord } from '../record.ts'
import { Stepper } from '../stepper.ts'
import { isImported } from './import.ts'

/** Our texts are canonical: quotes inside values are escaped, so this occurs at the top level or nowhere. */
const EVENT_TYPE = /"event_type":"([a-z0-9_]+)"/

/** By event type, the machine that states it about itself. */
const statedBy: ReadonlyMap<string, MachineModule> = new Map(
  Object.values(modules).flatMap((module) => Array.from(module.testimony.types, (type) => [type, module] as const)),
)

interface Opened {
  readonly record: string
  readonly module: MachineModule
  readonly snapshot: ActorRecord['snapshot']
}

export function verifyHooks(): Required<VerifyHooks> {
  const steppers = new Map<string, Stepper>()
  let last: Opened | undefined
  // Asked twice for each record: the second time it is at hand.
  const opened = (kind: string, record: string): Opened => {
    if (last?.record !== record || last.module.kind !== kind) last = open(kind, record)
    return last
  }
  const open = (kind: string, record: string): Opened => {
    let stepper = steppers.get(kind)
    if (stepper === undefined) {
      const module = modules[kind as ActorKind]
      if (module === undefined) throw new Error(`there is no machine of kind ${kind}`)
      stepper = new Stepper(module)
      steppers.set(kind, stepper)
    }
    return { record, module: stepper.module, snapshot: decodeRecord(stepper, record).snapshot }
  }
  return {
    eventId(text) {
      const event = parseEventText(text)
      // Events of other logs keep the ids of their engine, which may hash differently.
      return isImported(event) || isIngested(event) ? undefined : eventId(event as Parameters<typeof eventId>[0])
    },
    terms(kind, _id, record) {
      const { module, snapshot } = opened(kind, record)
      return snapshot.value === 'absent' ? [] : module.terms(snapshot)
    },
    timers(kind, _id, record) {
      const { module, snapshot } = opened(kind, record)
      return snapshot.value === 'absent' ? [] : (module.timers?.(snapshot) ?? [])
    },
    machineVersion: (kind) => modules[kind as ActorKind]?.version,
    asserts,
    witness(kind, _id, record) {
      const { module, snapshot } = opened(kind, record)
      return snapshot.value === 'absent' ? undefined : witnessOf(module, snapshot)
    },
  }
}

function asserts(text: string): Assertion | undefined {
  const module = statedBy.get(EVENT_TYPE.exec(text)?.[1] ?? '')
  if (module === undefined) return undefined
  const event = parseEventText(text)
  // History of another home: it drives nothing here and asserts nothing about what is here.
  if (isImported(event)) return undefined
  const { testimony, kind } = module
  const { idMember } = testimony
  const id = idMember === undefined ? kind : String((event.payload as Record<string, unknown>)[idMember])
  const spokenOf = testimony.aspects(event)
  return {
    kind,
    id,
    creates: spokenOf.includes('creation'),
    aspects: spokenOf.map((aspect) => ASPECTS.indexOf(aspect)),
  }
}

function witnessOf({ testimony }: MachineModule, snapshot: ActorRecord['snapshot']): Witness {
  const held = testimony.held(snapshot)
  return {
    madeAt: testimony.madeAt(snapshot.context),
    differences(text, aspects) {
      const event = parseEventText(text)
      return aspects.flatMap((aspect) => differences(testimony.claims(ASPECTS[aspect]!, event), held))
    },
  }
}
