/** Summed usage of the agent sessions of a work item, a campaign or a project, for documents that show one of those. */
import type { Usage, UsageScope } from '../../machines/documents/usage.ts'
import { usageModule, usageRef } from '../../machines/usage.ts'
import type { Runtime } from '../api.ts'
import { readable } from '../reader.ts'

/**
 * `ref`: id of the item, name of the campaign, key of the project. Undefined if no session of it has ended, or the sum
 * cannot be read.
 */
export function usageOf(runtime: Runtime, scope: UsageScope, ref: string): Usage | undefined {
  const snapshot = readable(() => runtime.read(usageRef(scope, ref)))
  return snapshot === undefined ? undefined : (usageModule.document(snapshot) as Usage)
}
