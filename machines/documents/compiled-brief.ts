/**
 * The compiled brief: what one digest means, forever. The snapshot holds every value that the run is about, so that
 * later changes to a record have no effect on it; it names the prompt pack by that pack's own digest.
 */
import { type Static, stringEnum, Type } from '../schema.ts'
import { briefSections } from './brief-sections.ts'
import { by, CLOSED, digest, serviceId, TEXT_LENGTH_MAX, time } from './fields.ts'
import { sourceVersion } from './formation-brief.ts'

export const COMPILED_BRIEF_SCHEMA_VERSION = 'intendant.compiled_brief.v1'
export const PROMPT_PACK_SCHEMA_VERSION = 'intendant.prompt_pack.v1'

/** The phases of a run, each of which gets its own prompt. The last two exist only if the brief asks for them. */
export const PROMPT_PHASES = [
  'assessment',
  'triage',
  'planning',
  'execution',
  'retry',
  'summarization',
  'review',
  'intent_feedback',
] as const
export type PromptPhase = (typeof PROMPT_PHASES)[number]

/** The longest prompt that a person may write, characters. */
const PROMPT_LENGTH_MAX = 128_000

const phase = stringEnum(PROMPT_PHASES, { description: 'The phase of the run that the prompt is for.' })
const access = stringEnum(['read_only', 'full'], { description: 'What the agent may touch in this step.' })

export const promptEditBody = Type.Object(
  {
    prompt_text: Type.String({
      minLength: 1,
      maxLength: PROMPT_LENGTH_MAX,
      pattern: '\\S',
      description: 'The complete new text.',
    }),
    reason: Type.Optional(Type.String({ maxLength: TEXT_LENGTH_MAX, description: 'Why it was changed.' })),
  },
  { ...CLOSED, title: 'PromptEdit' },
)
export type PromptEdit = Static<typeof promptEditBody>

/** An intent record as it was when the brief was compiled. */
const sourceRecord = Type.Object(
  {
    id: Type.String({ description: 'The record.' }),
    version: Type.Integer({ description: 'Its version.' }),
    title: Type.String({ description: 'Its title.' }),
  },
  { additionalProperties: true, title: 'SourceRecord' },
)
export type SourceRecord = Static<typeof sourceRecord> & Readonly<Record<string, unknown>>

const { title, mission, throttle, ...otherSections } = briefSections

const snapshot = Type.Object(
  {
    schema_version: Type.String({ description: 'Version of the snapshot schema.' }),
    compiler_version: Type.String({ description: 'Version of the compiler.' }),
    formation_brief_id: serviceId('brief', 'The brief.'),
    brief_version: Type.Integer({ description: 'The version of its sections.' }),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    title,
    mission,
    throttle,
    ...otherSections,
    source_intent: Type.Array(sourceRecord, { description: 'The records behind the brief, by id.' }),
    external_references: Type.Array(Type.String(), { description: 'Other references in its mission.' }),
    prompt_pack: Type.Object(
      {
        digest: digest('Digest of the prompt pack.'),
        template_version: Type.String({ description: 'Its templates.' }),
      },
      { description: 'The prompts that belong to it.' },
    ),
  },
  { title: 'BriefSnapshot', description: 'The content that the digest covers (canonical JSON, RFC 8785).' },
)
export type BriefSnapshot = Static<typeof snapshot>

const humanEdit = Type.Object(
  {
    phase,
    by,
    at: time('When.'),
    previous_digest: digest('Digest of the previous pack.'),
    reason: Type.Optional(Type.String({ description: 'Why.' })),
  },
  { title: 'PromptHumanEdit' },
)
export type HumanEdit = Static<typeof humanEdit>

const prompt = Type.Object(
  {
    phase,
    prompt_text: Type.String({ description: 'The text given to the agent.' }),
    context_refs: Type.Array(Type.String(), { description: 'The records and references that it mentions.' }),
    model_hint: Type.Optional(Type.String({ description: 'The model that the role prefers.' })),
    access_level: access,
    edited: Type.Boolean({ description: 'True if a person wrote this text.' }),
  },
  { title: 'Prompt' },
)
export type Prompt = Static<typeof prompt>

const promptPack = Type.Object(
  {
    digest: digest('SHA-256 over the canonical JSON of the rest of the pack.'),
    schema_version: Type.String({ description: 'Version of the prompt pack schema.' }),
    formation_brief_id: serviceId('brief', 'The brief.'),
    brief_version: Type.Integer({ description: 'The version of its sections.' }),
    compiler_version: Type.String({ description: 'Version of the compiler.' }),
    template_version: Type.String({ description: 'Version of the templates that the texts were generated from.' }),
    source_intent: Type.Array(sourceVersion, { description: 'The records that the texts come from.' }),
    external_references: Type.Array(Type.String(), { description: 'Other sources that the texts come from.' }),
    prompts: Type.Array(prompt, { description: 'One per phase, in the order of a run.' }),
    human_edits: Type.Array(humanEdit, { description: 'Edits by people, oldest first.' }),
  },
  { title: 'PromptPack' },
)
export type PromptPack = Static<typeof promptPack>

export const compiledBriefDocument = Type.Object(
  {
    schema_version: Type.String({ description: 'Version of the document schema.' }),
    formation_brief_id: serviceId('brief', 'The brief.'),
    project: Type.String({ description: 'Key of the project.' }),
    digest: digest('SHA-256 over the canonical JSON (RFC 8785) of `snapshot`.'),
    snapshot,
    prompt_pack: promptPack,
    compiled_by: Type.Optional(by),
    compiled_at: time('When this artifact was made.'),
  },
  { title: 'CompiledBrief' },
)
export type CompiledBrief = Static<typeof compiledBriefDocument>
