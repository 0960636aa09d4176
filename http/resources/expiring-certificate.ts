/** The service's own certificate in the list of what needs a person, from two weeks before it expires. */
import { CERTIFICATE_SOON_MS, CERTIFICATE_URGENT_MS, RENEW_CERTIFICATE } from '../../machines/certificate.ts'
import type { Certificate } from '../../machines/documents/certificate.ts'
import { SYSTEM_PROJECT } from '../../machines/envelope.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { ServiceContext } from '../route.ts'
import type { GivenSection, Section } from '../sections.ts'

export const CERTIFICATE_REASON = 'certificate_expiring'
export const CERTIFICATE_ADVICE = `clients refuse the service from \`expires_at\` on: ${RENEW_CERTIFICATE}`

/**
 * The sections, and if the certificate expires soon its own: the first in its last three days, before that the last.
 * `at`: RFC 3339. A reader that sees only some projects is not told: it sees nothing of the service.
 */
export function withCertificate(
  { certificateEndMs: endMs }: ServiceContext,
  { projects }: Principal,
  at: string,
  sections: readonly Section[],
): readonly Section[] {
  const leftMs = endMs - Date.parse(at)
  if (leftMs >= CERTIFICATE_SOON_MS || projects !== '*') return sections
  const certificate: Certificate = { expires_at: new Date(endMs).toISOString() }
  const since = new Date(endMs - CERTIFICATE_SOON_MS).toISOString()
  const item = { kind: 'certificate', reason: CERTIFICATE_REASON, project: SYSTEM_PROJECT, since, certificate }
  const own: GivenSection = { name: CERTIFICATE_REASON, items: [item] }
  return leftMs < CERTIFICATE_URGENT_MS ? [own, ...sections] : [...sections, own]
}
