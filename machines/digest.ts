import { hash } from 'node:crypto'
import { canonical } from './canonical.ts'

/**
 * `sha256:` and the hash of a value's canonical JSON: what a compiled brief is named by, fingerprints of bodies,
 * digests of results, derived keys.
 */
export function digestOf(value: unknown): string {
  return `sha256:${hash('sha256', canonical(value), 'hex')}`
}
