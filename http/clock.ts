/** The current time as routes show and compare it: RFC 3339, UTC, milliseconds. */
import type { Runtime } from '../runtime/api.ts'

export function utcNow({ runtime }: { readonly runtime: Pick<Runtime, 'platform'> }): string {
  return new Date(runtime.platform.wallMs()).toISOString()
}
