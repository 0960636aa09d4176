/**
 * The formation brief: what a run is to achieve and to protect. The sections are what people write; once compiled,
 * they are frozen with the intent behind them (`compiled-brief.ts`), and the digest names exactly that.
 */
import { nullable, type Static, stringEnum, type TSchema, Type } from '../schema.ts'
import { briefSections } from './brief-sections.ts'
import { by, CLOSED, digest, name, reference, serviceId, text, throttle, time } from './fields.ts'

export const formationBriefCreateBody = Type.Object(briefSections, { ...CLOSED, title: 'FormationBriefCreate' })
export type FormationBriefCreate = Static<typeof formationBriefCreateBody>

/** `POST /formation-briefs` is not under a project, so its body names one. */
export const formationBriefCreateGlobalBody = Type.Object(
  { project: name('Key or id of the project.'), ...briefSections },
  { ...CLOSED, title: 'FormationBriefCreateGlobal' },
)
export type FormationBriefCreateGlobal = Static<typeof formationBriefCreateGlobalBody>

/** Omitted sections stay as they are, null removes one; a given section replaces the old one entirely. */
const patchSections: Record<string, TSchema> = Object.fromEntries(
  Object.entries(briefSections).map(([section, schema]) => {
    const isNeeded = section === 'mission' || section === 'throttle'
    return [section, Type.Optional(isNeeded ? schema : nullable(schema))]
  }),
)

export const formationBriefPatchBody = Type.Object(patchSections, {
  ...CLOSED,
  minProperties: 1,
  title: 'FormationBriefPatch',
})
export type FormationBriefPatch = Partial<{
  readonly [section in keyof FormationBriefCreate]: FormationBriefCreate[section] | null
}>

export const FORMATION_BRIEF_STATES = [
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
] as const
export const FORMATION_BRIEF_SCHEMA_VERSION = 'intendant.formation_brief.v1'

/** How many approvals are kept, the newest. */
export const APPROVALS_MAX = 256

export const formationBriefApproveBody = Type.Object(
  {
    throttle,
    revision: Type.Optional(
      reference('The revision of the repository that it is approved for. Default: the brief’s; with neither, any.'),
    ),
  },
  { ...CLOSED, title: 'FormationBriefApprove' },
)
export type FormationBriefApprove = Static<typeof formationBriefApproveBody>

export const formationBriefCompileBody = Type.Object(
  {
    revision: Type.Optional(reference('The revision to pin. Default: that of the newest approval, else the brief’s.')),
  },
  { ...CLOSED, title: 'FormationBriefCompile' },
)
export type FormationBriefCompile = Static<typeof formationBriefCompileBody>

export const formationBriefArchiveBody = Type.Object(
  { reason: Type.Optional(text('Why.')) },
  { ...CLOSED, title: 'FormationBriefArchive' },
)

const approval = Type.Object(
  {
    throttle,
    digest: digest('What was approved: the digest that the compiled brief has, or will have.'),
    revision: Type.Optional(Type.String({ description: 'The revision it holds for; absent: any.' })),
    intent_digest: digest('SHA-256 over ids and versions of the intent records behind the brief at that time.'),
    by,
    at: time('When.'),
  },
  { title: 'BriefApproval', description: 'A person’s word that exactly this may run.' },
)
export type Approval = Static<typeof approval>

export const sourceVersion = Type.Object(
  {
    id: Type.String({ description: 'The intent record.' }),
    version: Type.Integer({ description: 'The version that was frozen.' }),
  },
  { title: 'SourceVersion' },
)
export type SourceVersion = Static<typeof sourceVersion>

const compiledReference = Type.Object(
  {
    digest: digest('SHA-256 over the canonical JSON (RFC 8785) of the frozen snapshot.'),
    prompt_pack_digest: digest('Digest of the prompts that belong to it.'),
    revision: Type.Optional(Type.String({ description: 'The revision it is pinned to.' })),
    source_intent: Type.Array(sourceVersion, { description: 'The records that it was frozen with.' }),
    edited: Type.Boolean({ description: 'A person has changed a prompt since the compile.' }),
    compiled_by: Type.Optional(by),
    compiled_at: time('When this artifact was made.'),
  },
  { title: 'CompiledReference', description: 'What the brief was frozen as. `GET .../compiled` shows the whole.' },
)
export type CompiledReference = Static<typeof compiledReference>

const briefRun = Type.Object(
  {
    run_request_id: Type.String({ description: 'The run request.' }),
    requested_at: time('When it was asked for.'),
    digest: digest('The digest that it runs.'),
    throttle,
    state: Type.String({ description: 'The run’s state, as far as it moves the brief.' }),
    reason: Type.Optional(Type.String({ description: 'Why it came to this.' })),
    observations: Type.Integer({ description: 'Evidence about the records behind the brief that it left.' }),
    changed_at: time('When it was last heard of.'),
  },
  { title: 'BriefRun', description: 'The latest run that is under way; when none is, the one that was followed last.' },
)
export type BriefRun = Static<typeof briefRun>

const lapse = Type.Object(
  {
    code: stringEnum(['reapproval_required', 'brief_incomplete'], {
      description:
        '`reapproval_required`: it may be approved again. `brief_incomplete`: a record that it was frozen with guides ' +
        'runs no more, and no approval helps: archive it, and write another.',
    }),
    detail: Type.String({ description: 'What has moved, by name, and what to do.' }),
    since: time('Since when.'),
  },
  {
    title: 'BriefLapse',
    description:
      'None of its approvals holds as things stand, and no run may be asked for; absent: one does, or it is not ' +
      'approved. Told where one brief is read, and in `attention`; lists of briefs leave it out.',
  },
)
export type BriefLapse = Static<typeof lapse>

const missing = Type.Object(
  {
    pointer: Type.String({ description: 'JSON pointer to the section.' }),
    detail: Type.String({ description: 'What is missing.' }),
  },
  { title: 'BriefFault' },
)

export const formationBriefDocument = Type.Object(
  {
    id: serviceId('brief', 'The brief.'),
    schema_version: Type.String({ description: 'Version of this document’s shape.' }),
    project: Type.String({ description: 'Key of its project.' }),
    project_id: Type.String({ description: 'Id of its project.' }),
    state: stringEnum(FORMATION_BRIEF_STATES, {
      description:
        'Where it stands. From `compiled` on it is frozen; `queued` to `analyzed` follow its latest run, and a run that failed, ' +
        'was cancelled or got lost leads back to `compiled`. Of several runs the latest that is under way counts.',
    }),
    version: Type.Integer({ description: 'Goes up with every change of its sections or of a prompt.' }),
    digest: Type.Optional(digest('What a run request names: the digest of the compiled snapshot. Absent before.')),
    ...briefSections,
    throttle,
    approvals: Type.Array(approval, { description: 'Oldest first.' }),
    lapsed: Type.Optional(lapse),
    compiled: Type.Optional(compiledReference),
    run: Type.Optional(briefRun),
    reason: Type.Optional(Type.String({ description: 'Why it is where it is, where somebody said so.' })),
    missing: Type.Optional(
      Type.Array(missing, { description: 'What a compile would refuse it for, as far as its own text tells.' }),
    ),
    created_by: Type.Optional(by),
    created_at: time('When it was made.'),
    updated_at: Type.Optional(time('When its sections last changed.')),
    submitted_at: Type.Optional(time('When it was given to review.')),
    archived_at: Type.Optional(time('When it was archived.')),
  },
  { title: 'FormationBrief' },
)
export type FormationBrief = Static<typeof formationBriefDocument>
