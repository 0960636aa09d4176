/** Findings (SPEC 6.18): what one member learned and others may use. Only work that has landed consumes a finding. */
import { openObject, Type, timestamp } from '../schema.ts'
import { serviceEvent } from './event-type.ts'
import { member } from './initiative.ts'

const audit = openObject({
  intent_ref: Type.Optional(Type.String()),
  classification: Type.Optional(Type.String()),
  project: Type.Optional(Type.String()),
  checked_paths: Type.Optional(Type.Array(Type.String())),
  explanation: Type.Optional(Type.String()),
})

const finding = {
  id: Type.String(),
  finding_id: Type.String(),
  initiative: Type.String(),
  from: openObject({ kind: Type.String(), id: Type.String() }, { description: 'the source: its kind and id' }),
  to: Type.Array(member),
  kind: Type.String(),
  text: Type.String(),
  refs: Type.Array(Type.String()),
  consumed_by: Type.Array(openObject({ member: Type.Optional(member), work_item_id: Type.Optional(Type.String()) })),
  recorded_at: timestamp(),
  audit: Type.Optional(audit),
}

export const findingEvents = {
  finding_recorded: serviceEvent('6.18', 'a typed finding became available to initiative members', openObject(finding)),
  finding_consumed: serviceEvent(
    '6.18',
    'a member cycle landed after its formation saw a finding',
    openObject({
      initiative: Type.String(),
      finding_id: Type.String(),
      member,
      work_item_id: Type.String(),
      finding: openObject(finding, { description: 'the finding with its consumption records' }),
    }),
  ),
}
