import { hash } from 'node:crypto'
import { canonical } from './canonical.ts'

/**
 * `sha256:` and the hash of a value's canonical JSON: names compiled briefs, fingerprints bodies, digests results, and
 * serves as a derived key.
 */
export function digestOf(value: unknown): string {
  return `sha256:${hash('sha256', canonical(value), 'hex')}`
}
