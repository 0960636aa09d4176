/**
 * The prompts of a brief as one artifact with a digest of its own. Made from the frozen brief alone, so that the same
 * brief and template version give the same pack; a person's edit makes another pack, which says so.
 */

import { digestOf } from '../digest.ts'
import {
  type HumanEdit,
  PROMPT_PACK_SCHEMA_VERSION,
  PROMPT_PHASES,
  type Prompt,
  type PromptPack,
  type PromptPhase,
} from '../documents/compiled-brief.ts'
import { PHASE_VIEWS, TEMPLATE_VERSION } from './prompt-phases.ts'
import { isMentioned } from './prompt-records.ts'
import type { BriefCore } from './snapshot.ts'
import { versionsOf } from './snapshot.ts'

/** The roles that can play each phase, in order of preference, by word stem. */
const ROLES: Readonly<Record<PromptPhase, readonly string[]>> = {
  assessment: ['assess', 'archaeolog'],
  triage: ['triage', 'assess'],
  planning: ['plan'],
  execution: ['cod', 'implement', 'execut', 'specialist'],
  retry: ['cod', 'implement', 'execut', 'specialist'],
  summarization: ['summar', 'evidence'],
  review: ['review'],
  intent_feedback: ['interview', 'archaeolog'],
}

/** Phases that make changes; the others only read. */
const CHANGING: ReadonlySet<PromptPhase> = new Set(['execution', 'retry'])

/** The two optional phases are included if the formation has a reviewer, or if feedback is asked for. */
function phasesOf(core: BriefCore): readonly PromptPhase[] {
  const { agent_formation: formation, feedback_hooks = [] } = core
  const reviews = formation?.pattern?.includes('review') === true || roleOf(core, 'review') !== undefined
  return PROMPT_PHASES.filter((phase) => {
    if (phase === 'review') return reviews
    return phase !== 'intent_feedback' || feedback_hooks.length > 0
  })
}

function roleOf({ agent_formation }: BriefCore, phase: PromptPhase) {
  const roles = agent_formation?.roles ?? []
  for (const word of ROLES[phase]) {
    const role = roles.find(({ name }) => name.toLowerCase().includes(word))
    if (role !== undefined) return role
  }
  return undefined
}

function promptOf(core: BriefCore, phase: PromptPhase): Prompt {
  const role = roleOf(core, phase)
  const text = PHASE_VIEWS[phase](core)
  return {
    phase,
    prompt_text: text,
    context_refs: [
      ...core.source_intent.filter((record) => isMentioned(text, record)).map(({ id }) => id),
      ...core.external_references,
    ],
    ...(role?.model_preference === undefined ? {} : { model_hint: role.model_preference }),
    access_level: CHANGING.has(phase) ? (role?.access ?? 'full') : 'read_only',
    edited: false,
  }
}

export function packOf(core: BriefCore): PromptPack {
  return digested({
    schema_version: PROMPT_PACK_SCHEMA_VERSION,
    formation_brief_id: core.formation_brief_id,
    brief_version: core.brief_version,
    compiler_version: core.compiler_version,
    template_version: TEMPLATE_VERSION,
    source_intent: versionsOf(core.source_intent),
    external_references: core.external_references,
    prompts: phasesOf(core).map((phase) => promptOf(core, phase)),
    human_edits: [],
  })
}

/** A new pack, with the text of one of its phases replaced. */
export function editedPack(pack: PromptPack, promptText: string, edit: Omit<HumanEdit, 'previous_digest'>): PromptPack {
  const { digest, ...rest } = pack
  const prompts = pack.prompts.map((one) =>
    one.phase === edit.phase ? { ...one, prompt_text: promptText, edited: true } : one,
  )
  return digested({ ...rest, prompts, human_edits: [...pack.human_edits, { ...edit, previous_digest: digest }] })
}

function digested(pack: Omit<PromptPack, 'digest'>): PromptPack {
  return { digest: digestOf(pack), ...pack }
}
