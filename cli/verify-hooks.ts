/** What `verify` must know of events and machines: the id that a content gives, the lists that a record is in. */
import { eventId, parseEventText } from '../machines/events/envelope.ts'
import { modules } from '../machines/index.ts'
import type { ActorKind } from '../machines/machine.ts'
import { decodeRecord } from '../runtime/record.ts'
import { Stepper } from '../runtime/stepper.ts'
import type { VerifyHooks } from '../storage/verify.ts'
import { IMPORTER } from './import-events.ts'

export function verifyHooks(): Required<VerifyHooks> {
  const steppers = new Map<string, Stepper>()
  const stepperOf = (kind: string): Stepper => {
    const known = steppers.get(kind)
    if (known !== undefined) return known
    const module = modules[kind as ActorKind]
    if (module === undefined) throw new Error(`there is no machine of kind ${kind}`)
    const stepper = new Stepper(module)
    steppers.set(kind, stepper)
    return stepper
  }
  return {
    eventId(text) {
      const event = parseEventText(text)
      // Imported events keep the ids of the engine that they are from, which may hash differently.
      return event.by?.id === IMPORTER.id ? undefined : eventId(event as Parameters<typeof eventId>[0])
    },
    terms(kind, _id, record) {
      const stepper = stepperOf(kind)
      return stepper.module.terms(decodeRecord(stepper, record).snapshot)
    },
  }
}
