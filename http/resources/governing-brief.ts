/** What a run is for, from its formation brief: the request itself only names its entry event. */
import type { FormationBriefContext } from '../../machines/formation-brief/context.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { type Static, Type } from '../../machines/schema.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { readable } from '../../runtime/reader.ts'
import type { ServiceContext } from '../route.ts'

export const governedBy = Type.Object(
  {
    id: Type.String({ description: 'The formation brief.' }),
    title: Type.Optional(Type.String({ description: 'Its title.' })),
    objective: Type.String({ description: 'Its objective, as it reads now.' }),
  },
  { title: 'GoverningBrief', description: 'The formation brief that the run follows.' },
)

/** Undefined if the run follows none, or one that cannot be read. */
export function governingBrief(
  { runtime }: ServiceContext,
  { context }: SnapshotOf<RunRequestContext>,
): Static<typeof governedBy> | undefined {
  const id = context.asked.brief?.id
  const brief: SnapshotOf<FormationBriefContext> | undefined =
    id === undefined ? undefined : readable(() => runtime.read({ kind: 'formation_brief', id }))
  if (brief === undefined) return undefined
  const { title, mission } = brief.context.sections
  return { id: brief.context.id, ...(title === undefined ? {} : { title }), objective: mission.objective }
}
