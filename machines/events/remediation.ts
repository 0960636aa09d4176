/** Vulnerability remediation and release tag audit (SPEC 6.3, 6.15). */
import { anyObject, openObject, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'

const cve = Type.String({ description: 'advisory identifier' })

export const remediationEvents = {
  scan_requested: engineEvent('6.3', 'request to scan a project for known vulnerabilities', anyObject(), {
    opensSpan: true,
    command: true,
  }),
  vulnerability_detected: engineEvent(
    '6.3',
    'vulnerability found or injected from outside',
    openObject({
      cve,
      vulnerable: Type.Boolean({ description: 'project is affected' }),
      dirty: Type.Optional(Type.Boolean({ description: 'main branch still contains it' })),
    }),
  ),
  release_tag_audited: engineEvent(
    '6.3',
    'latest release tag scanned for it',
    openObject({
      cve,
      vulnerable: Type.Boolean({ description: 'release tag is affected' }),
      dirty: Type.Optional(Type.Boolean({ description: 'forwarded from upstream for routing' })),
    }),
  ),
  main_branch_audited: engineEvent(
    '6.3',
    'main branch checked for it',
    openObject({ cve, dirty: Type.Boolean({ description: 'true when still present on main' }) }),
  ),
  remediation_started: engineEvent('6.3', 'automated fix attempt began', anyObject(), { opensSpan: true }),
  remediation_completed: engineEvent(
    '6.3',
    'fix attempt ended, successfully or not',
    openObject({ cve, success: Type.Boolean({ description: 'fix applied successfully' }) }),
  ),
}
