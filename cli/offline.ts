/**
 * A home opened without a service: what only the command line does while nothing else may (restore, import). The
 * instance lock holds a running service off. Loaded only by the commands that need it, since it brings the native
 * libraries.
 */
import { modules } from '../machines/index.ts'
import type { Runtime } from '../runtime/api.ts'
import { silentLogger } from '../runtime/log.ts'
import { createRuntime } from '../runtime/runtime.ts'
import type { Settings } from '../runtime/settings.ts'
import { upgradeIndexes } from '../runtime/upgrade.ts'
import { realNature } from '../storage/nature.ts'
import { openDiskJournal } from '../storage/open-journal.ts'

/** Opens the whole actor system for the time of `use`. A failed commit rejects. */
export async function withRuntime<T>(settings: Settings, use: (runtime: Runtime) => Promise<T>): Promise<T> {
  const journal = await openDiskJournal({ ...settings, onFailure: () => {} })
  await upgradeIndexes(journal, modules, silentLogger)
  let fail = (_: Error): void => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const runtime = createRuntime(journal, settings, {
    nature: realNature,
    log: silentLogger,
    modules,
    onFatal: (error) => fail(error),
  })
  try {
    return await Promise.race([use(runtime), failed])
  } finally {
    await runtime.close()
  }
}
