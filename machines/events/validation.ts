/** Validation of a project's gate health (SPEC 6.12). */
import { openObject, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'

const project = Type.String()

export const validationEvents = {
  validation_requested: engineEvent('6.12', "request to validate a project's gate health", openObject({ project }), {
    opensSpan: true,
    command: true,
  }),
  validation_completed: engineEvent(
    '6.12',
    'validation ended',
    openObject({
      project,
      success: Type.Boolean({ description: 'all required gates passed' }),
      results: Type.Array(
        openObject({
          name: Type.String(),
          passed: Type.Boolean(),
          required: Type.Boolean(),
          output: Type.String({ description: 'a snippet' }),
        }),
      ),
    }),
  ),
}
