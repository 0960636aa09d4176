/** What the service states about its tokens. Invariant: no payload holds a token or its hash. */
import { openObject, stringEnum, Type, timestamp } from '../schema.ts'
import { noSecrets, serviceEvent } from './event-type.ts'

const texts = Type.Optional(Type.Array(Type.String()))

const payload = openObject(
  {
    token_id: Type.String(),
    state: stringEnum(['active', 'revoked']),
    name: Type.Optional(Type.String()),
    roles: texts,
    rights: texts,
    projects: Type.Optional(Type.Union([stringEnum(['*']), Type.Array(Type.String())])),
    expires_at: Type.Optional(timestamp()),
    reason: Type.Optional(Type.String()),
  },
  { rules: [noSecrets] },
)

export const tokenEvents = {
  token_created: serviceEvent('own', 'a token was created', payload),
  token_revoked: serviceEvent('own', 'a token was revoked', payload),
}
