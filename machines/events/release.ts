/** Release lifecycle (SPEC 6.4). */
import { anyObject, nullable, openObject, stringEnum, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'

export const releaseEvents = {
  release_requested: engineEvent('6.4', 'decision to cut a patch release', anyObject(), {
    opensSpan: true,
    command: true,
  }),
  release_completed: engineEvent(
    '6.4',
    'release tag created and pushed',
    openObject({
      cve: Type.String({ description: 'advisory that prompted the release' }),
      release: Type.String({ description: 'release kind, such as patch' }),
      new_tag: nullable(Type.String({ description: "semantic-version tag extracted from the agent tool's output" })),
      success: Type.Boolean({ description: 'the agent tool invocation succeeded' }),
    }),
  ),
  release_pipeline_completed: engineEvent(
    '6.4',
    'the CI build/publish pipeline finished',
    openObject({
      status: stringEnum(['success', 'failure']),
      conclusion: Type.Optional(Type.String({ description: 'CI conclusion label' })),
    }),
  ),
}
