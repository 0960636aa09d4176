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
    revision: Type.Optional(
      reference('The revision to pin. Default: that of the newest approval, or else the brief’s.'),
    ),
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
    revision: Type.Optional(Type.String({ description: 'The revision it is valid for; absent: any.' })),
    intent_digest: digest('SHA-256 over ids and versions of the intent records behind the brief at that time.'),
    by,
    at: time('When.'),
  },
  { title: 'BriefApproval', description: 'A person’s approval for exactly this to run.' },
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
    edited: Type.Boolean({ description: 'True if a person has changed a prompt since it was compiled.' }),
    compiled_by: Type.Optional(by),
    compiled_at: time('When this artifact was made.'),
  },
  { title: 'CompiledReference', description: 'The frozen brief. `GET .../compiled` returns all of it.' },
)
export type CompiledReference = Static<typeof compiledReference>

const briefRun = Type.Object(
  {
    run_request_id: Type.String({ description: 'The run request.' }),
    requested_at: time('When it was requested.'),
    digest: digest('The brief digest it runs.'),
    throttle,
    state: Type.String({ description: 'The run’s state, as far as it matters for the brief.' }),
    reason: Type.Optional(Type.String({ description: 'The reason for this state.' })),
    observations: Type.Integer({ description: 'Evidence it left about the records behind the brief.' }),
    changed_at: time('When it last changed.'),
  },
  { title: 'BriefRun', description: 'The latest run under way or, if none is, the last one followed.' },
)
export type BriefRun = Static<typeof briefRun>

const lapse = Type.Object(
  {
    code: stringEnum(['reapproval_required', 'brief_incomplete'], {
      description:
        '`reapproval_required`: it may be approved again. `brief_incomplete`: a record it was frozen with no longer guides ' +
        'runs, and no approval can change that: archive it, and write another.',
    }),
    detail: Type.String({ description: 'What has changed, by name, and what to do.' }),
    since: time('Since when.'),
  },
  {
    title: 'BriefLapse',
    description:
      'Present if none of its approvals currently holds, so that no run may be requested; absent if one does, or if it is not ' +
      'approved. Shown when a single brief is read and in `attention`, not in lists of briefs.',
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
    schema_version: Type.String({ description: 'Version of the document schema.' }),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    state: stringEnum(FORMATION_BRIEF_STATES, {
      description:
        'Its state. From `compiled` on it is frozen; `queued` to `analyzed` follow its latest run; a run that failed, ' +
        'was cancelled or was lost leads back to `compiled`. Of several runs, the latest under way counts.',
    }),
    version: Type.Integer({ description: 'Goes up with every change of its sections or of a prompt.' }),
    digest: Type.Optional(digest('Digest of the compiled snapshot, which run requests name. Absent until compiled.')),
    ...briefSections,
    throttle,
    approvals: Type.Array(approval, { description: 'Approvals, oldest first.' }),
    lapsed: Type.Optional(lapse),
    compiled: Type.Optional(compiledReference),
    run: Type.Optional(briefRun),
    reason: Type.Optional(Type.String({ description: 'The reason given for its state, if any.' })),
    missing: Type.Optional(
      Type.Array(missing, { description: 'What would prevent compiling it, as far as its own text shows.' }),
    ),
    created_by: Type.Optional(by),
    created_at: time('When it was made.'),
    updated_at: Type.Optional(time('When its sections last changed.')),
    submitted_at: Type.Optional(time('When it was submitted for review.')),
    archived_at: Type.Optional(time('When it was archived.')),
  },
  { title: 'FormationBrief' },
)
export type FormationBrief = Static<typeof formationBriefDocument>
