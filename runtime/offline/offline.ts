/**
 * Opens a home without a service, for work that needs it exclusively (restore, import). The instance lock keeps a
 * running service out. Load this module only when needed: it brings in the native libraries.
 */
import { modules } from '../../machines/index.ts'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { systemPlatform } from '../../storage/platform.ts'
import type { Runtime } from '../api.ts'
import { silentLogger } from '../log.ts'
import { createRuntime } from '../runtime.ts'
import type { Settings } from '../settings.ts'
import { upgradeIndexes } from '../upgrade.ts'

/** Opens the whole actor system for the duration of `use`; nothing falls due meanwhile. A failed commit rejects. */
export async function withRuntime<T>(settings: Settings, use: (runtime: Runtime) => Promise<T>): Promise<T> {
  const journal = await openDiskJournal({ ...settings, onFailure: () => {} })
  await upgradeIndexes(journal, modules, silentLogger)
  let fail = (_: Error): void => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const runtime = createRuntime(journal, settings, {
    platform: systemPlatform,
    log: silentLogger,
    modules,
    onFatal: (error) => fail(error),
    isOffline: true,
  })
  try {
    return await Promise.race([use(runtime), failed])
  } finally {
    await runtime.close()
  }
}
