/** The TLS certificate of the service, as it is listed when somebody must see to it. */
import { type Static, Type } from '../schema.ts'

export const certificateDocument = Type.Object(
  {
    expires_at: Type.String({ format: 'date-time', description: 'When clients begin to refuse the service.' }),
  },
  { title: 'Certificate', description: 'The TLS certificate that the service loaded when it started.' },
)
export type Certificate = Static<typeof certificateDocument>
