/** What the service states about formation briefs and the prompt packs compiled from them. */
import { count, openObject, stringEnum, Type } from '../schema.ts'
import { serviceEvent } from './event-type.ts'

const text = Type.Optional(Type.String())

const brief = openObject({
  formation_brief_id: Type.String(),
  state: stringEnum([
    'draft',
    'reviewable',
    'approved',
    'compiled',
    'queued',
    'accepted',
    'executing',
    'completed',
    'analyzed',
    'archived',
  ]),
  version: Type.Optional(count()),
  digest: text,
  run_request_id: text,
  throttle: Type.Optional(stringEnum(['full', 'dry_run'])),
  revision: text,
  reason: text,
  changed: Type.Optional(Type.Array(Type.String(), { description: 'names of the members that changed' })),
})

const pack = openObject({
  formation_brief_id: Type.String(),
  digest: Type.String(),
  phase: text,
  previous_digest: text,
})

export const formationBriefEvents = {
  formation_brief_created: serviceEvent('own', 'a formation brief was created', brief),
  formation_brief_updated: serviceEvent('own', 'a draft or reviewable formation brief changed', brief),
  formation_brief_submitted: serviceEvent('own', 'a formation brief is ready for review', brief),
  formation_brief_approved: serviceEvent('own', 'a formation brief was approved for a throttle', brief),
  formation_brief_compiled: serviceEvent('own', 'a formation brief was compiled and frozen', brief),
  formation_brief_run_changed: serviceEvent('own', 'a formation brief changed state with its latest run', brief),
  formation_brief_archived: serviceEvent('own', 'a formation brief was archived: kept for audit only', brief),
  prompt_pack_compiled: serviceEvent('own', 'a prompt pack was compiled from a brief', pack),
  prompt_pack_edited: serviceEvent('own', 'a person edited a prompt, making a new pack with a new digest', pack),
}
