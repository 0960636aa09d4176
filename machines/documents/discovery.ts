/**
 * The discovery: one read-only inspection of a repository, with what it saw and the hypotheses that it draws. All of
 * its text may come from the repository: it is stored and served as labelled data, and never followed as an
 * instruction.
 */
import { anyObject, type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, name, REFERENCE_LENGTH_MAX, reference, serviceId, TEXT_LENGTH_MAX, time } from './fields.ts'
import { hypothesisFields, untrusted } from './hypothesis.ts'

/** Most observations and hypotheses of one discovery: with the bound on a body, its record stays below a megabyte. */
const OBSERVATIONS_MAX = 256
const HYPOTHESES_MAX = 64
const FILES_MAX = 64
const SYMBOLS_MAX = 64

const OBSERVATION_TYPES = ['structural', 'behavioural', 'historical', 'textual', 'evidence'] as const

const observationFields = {
  ref: name('Identifies it in this discovery.'),
  observation_type: Type.Optional(stringEnum(OBSERVATION_TYPES, { description: 'What kind of signal.' })),
  files: Type.Optional(
    Type.Array(reference('A path in the repository.'), { maxItems: FILES_MAX, description: 'Files that show it.' }),
  ),
  symbols: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
      maxItems: SYMBOLS_MAX,
      description: 'Symbols that show it.',
    }),
  ),
  summary: Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, description: 'What was observed.' }),
  raw_data: Type.Optional(anyObject('Verbatim tool output about it.')),
}

const sourceFields = {
  tool: Type.Optional(name('The inspector, such as an agent or a scanner.')),
  tool_version: Type.Optional(name('Its version.')),
  trace_id: Type.Optional(name('Trace of the inspection.')),
}

const repositoryFields = {
  path: Type.Optional(reference('The repository, as named by the inspector.')),
  revision: Type.Optional(
    Type.String({ minLength: 1, maxLength: REFERENCE_LENGTH_MAX, description: 'The revision that was inspected.' }),
  ),
  branch: Type.Optional(reference('The branch.')),
}

const hypothesis = Type.Object(hypothesisFields, CLOSED)

export const discoveryCreateBody = Type.Object(
  {
    source: Type.Optional(Type.Object(sourceFields, { ...CLOSED, description: 'Who inspected.' })),
    repository: Type.Optional(Type.Object(repositoryFields, { ...CLOSED, description: 'What was inspected.' })),
    observations: Type.Array(Type.Object(observationFields, CLOSED), {
      minItems: 1,
      maxItems: OBSERVATIONS_MAX,
      description: 'The observations. Their refs must differ.',
    }),
    hypotheses: Type.Optional(
      Type.Array(hypothesis, {
        maxItems: HYPOTHESES_MAX,
        description:
          'The hypotheses drawn from it. Their keys must differ; each is based on observations of this discovery.',
      }),
    ),
  },
  { ...CLOSED, title: 'DiscoveryCreate' },
)
export type DiscoveryCreate = Static<typeof discoveryCreateBody>
export type HypothesisDrawn = Static<typeof hypothesis>

export const DISCOVERY_SCHEMA_VERSION = 'intendant.discovery.v1'

const shownSource = Type.Object(sourceFields, { title: 'DiscoverySource', description: 'Who inspected.' })
const shownRepository = Type.Object(repositoryFields, {
  title: 'DiscoveryRepository',
  description: 'What was inspected.',
})

export const discoveryDocument = Type.Object(
  {
    id: serviceId('disc', 'The discovery.'),
    schema_version: Type.String({ description: 'Version of the document schema.' }),
    project: Type.String({ description: 'Key of the project.' }),
    project_id: Type.String({ description: 'Id of the project.' }),
    untrusted,
    source: Type.Optional(shownSource),
    repository: Type.Optional(shownRepository),
    observations: Type.Array(Type.Object(observationFields), { description: 'What was observed.' }),
    hypotheses: Type.Array(
      Type.Object({
        hypothesis_id: serviceId('hyp', 'The hypothesis.'),
        ...hypothesisFields,
        key: Type.String({ description: 'Identifies it in the project.' }),
      }),
      { description: 'The hypotheses drawn from it, as worded in this discovery.' },
    ),
    created_by: Type.Optional(by),
    created_at: time('When it was recorded.'),
  },
  { title: 'Discovery' },
)
export type Discovery = Static<typeof discoveryDocument>

/** In lists: counts instead of the observations, which may be long. */
export const discoverySummaryDocument = Type.Object(
  {
    id: serviceId('disc', 'The discovery.'),
    project: Type.String({ description: 'Key of the project.' }),
    untrusted,
    source: Type.Optional(shownSource),
    repository: Type.Optional(shownRepository),
    observation_count: Type.Integer({ description: 'Number of observations.' }),
    hypothesis_ids: Type.Array(serviceId('hyp', 'A hypothesis.'), { description: 'The hypotheses drawn from it.' }),
    created_by: Type.Optional(by),
    created_at: time('When it was recorded.'),
  },
  { title: 'DiscoverySummary' },
)
export type DiscoverySummary = Static<typeof discoverySummaryDocument>
