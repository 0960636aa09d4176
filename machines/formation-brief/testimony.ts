/** What a formation brief's events assert: its state, and which artifact was compiled, approved and run. */
import { members, type Testimony } from '../testimony.ts'
import type { FormationBriefContext } from './context.ts'

export const formationBriefTestimony: Testimony<FormationBriefContext> = {
  idMember: 'formation_brief_id',
  types: new Set([
    'formation_brief_created',
    'formation_brief_updated',
    'formation_brief_submitted',
    'formation_brief_approved',
    'formation_brief_compiled',
    'formation_brief_run_changed',
    'formation_brief_archived',
    'prompt_pack_compiled',
    'prompt_pack_edited',
  ]),
  aspects: ({ event_type }) => {
    if (event_type === 'formation_brief_created') return ['creation', 'state']
    return event_type.startsWith('prompt_pack_') ? ['terms'] : ['state']
  },
  claims: (aspect, { event_type, project, payload }) => {
    if (aspect === 'creation') return { project }
    if (aspect === 'terms') return { prompt_pack_digest: payload.digest }
    const stands = members(payload, 'state', 'version')
    const { digest, run_request_id, throttle } = payload
    if (event_type === 'formation_brief_approved') return { ...stands, approved: digest, approved_throttle: throttle }
    if (event_type === 'formation_brief_run_changed') return { ...stands, run_digest: digest, run_request_id }
    // In version 1 a draft had a digest, too, but of content that could still change.
    return event_type === 'formation_brief_created' ? stands : { ...stands, digest }
  },
  held: ({ value, context: { project, version, compiled, approvals, run } }) => ({
    project,
    state: value,
    version,
    digest: compiled?.digest,
    prompt_pack_digest: compiled?.prompt_pack_digest,
    approved: approvals.at(-1)?.digest,
    approved_throttle: approvals.at(-1)?.throttle,
    run_digest: run?.digest,
    run_request_id: run?.run_request_id,
  }),
  madeAt: ({ created_at }) => created_at,
}
