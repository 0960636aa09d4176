/**
 * The compiled brief: what a digest names. Created once, by the brief's own message, and never changed or forgotten, so
 * that whoever holds a digest can always read what it stands for.
 */
import { assign, setup } from 'xstate'
import { COMPILED_BRIEF_SCHEMA_VERSION, type CompiledBrief } from '../documents/compiled-brief.ts'
import { projectEnvelope } from '../envelope.ts'
import {
  type By,
  declaredActions,
  type Fact,
  type MachineModule,
  type Message,
  type MessageBody,
  type SnapshotOf,
} from '../machine.ts'
import type { Artifact } from './compiler.ts'

interface CompiledBriefContext extends Artifact {
  readonly formation_brief_id: string
  readonly project: string
  readonly compiled_by?: By | undefined
  readonly compiled_at: string
}

/** From the formation brief, whose own event states the compile. */
interface CreateCompiledBrief extends MessageBody, CompiledBriefContext {
  readonly type: 'create'
}

/** Lets a reader wait for a `create` that is still on its way: it is answered after that. */
interface LookAtCompiledBrief extends MessageBody {
  readonly type: 'look'
}

export type CompiledBriefBody = CreateCompiledBrief | LookAtCompiledBrief
type CompiledBriefMessage = Message<CompiledBriefBody>

const DIGEST_PREFIX = 'sha256:'
const ID_DIGITS = 32

/** The digest covers the brief's id, so no two briefs share one. */
export function compiledBriefId(digest: string): string {
  return `cbrief_${digest.slice(DIGEST_PREFIX.length, DIGEST_PREFIX.length + ID_DIGITS)}`
}

const compiledBriefMachine = setup({
  types: { context: {} as CompiledBriefContext, events: {} as CompiledBriefMessage, emitted: {} as Fact },
  actions: {
    ...declaredActions,
    create: assign(({ event }) => {
      const { formation_brief_id, project, digest, snapshot, prompt_pack, compiled_by, compiled_at } =
        event as Message<CreateCompiledBrief>
      const by = compiled_by === undefined ? {} : { compiled_by }
      return { formation_brief_id, project, digest, snapshot, prompt_pack, ...by, compiled_at }
    }),
  },
}).createMachine({
  id: 'compiled_brief',
  initial: 'absent',
  context: {} as CompiledBriefContext,
  states: {
    absent: { on: { create: { target: 'frozen', actions: 'create' } } },
    frozen: {},
  },
})

function document({ context }: SnapshotOf<CompiledBriefContext>): CompiledBrief {
  const { formation_brief_id, project, digest, snapshot, prompt_pack, compiled_by, compiled_at } = context
  return {
    schema_version: COMPILED_BRIEF_SCHEMA_VERSION,
    formation_brief_id,
    project,
    digest,
    snapshot,
    prompt_pack,
    ...(compiled_by === undefined ? {} : { compiled_by: { ...compiled_by } }),
    compiled_at,
  }
}

export const compiledBriefModule: MachineModule<CompiledBriefContext, CompiledBriefBody> = {
  kind: 'compiled_brief',
  version: 1,
  machine: compiledBriefMachine,
  migrations: {},
  internal: ['create', 'look'],
  repeats: ({ value }) => (value === 'absent' ? undefined : 'there'),
  refusal: () => undefined,
  envelope: ({ project }) => ({ ...projectEnvelope(project), throttle: 'dry_run' }),
  terms: ({ context }) => [{ index: 'brief', value: context.formation_brief_id, order: context.compiled_at }],
  deadlineStates: [],
  deadlines: () => [],
  // Its brief's events state what it is.
  testimony: {
    idMember: 'digest',
    types: new Set(),
    aspects: () => [],
    claims: () => ({}),
    held: () => ({}),
    madeAt: () => undefined,
  },
  document,
}
