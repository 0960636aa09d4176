/** Now, as a route tells it or compares with it: RFC 3339, UTC, milliseconds. */
import type { Runtime } from '../runtime/api.ts'

export function utcNow({ runtime }: { readonly runtime: Pick<Runtime, 'nature'> }): string {
  return new Date(runtime.nature.wallMs()).toISOString()
}
