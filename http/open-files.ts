/**
 * Says in the log that the limit of open files is reached. The HTTP library reports nothing then: it accepts no
 * connection, so neither a probe nor a scraper is answered, and only the log is left to tell why.
 */
import type { Logger } from 'pino'
import { hasFreeDescriptors } from '../storage/files/free-descriptors.ts'
import type { Platform } from '../storage/platform.ts'

const LOOK_EVERY_MS = 2_000
/** While connections come and go at the limit a look may find room: so many in a row must, before it is told again. */
const LOOKS_WITH_ROOM = 30

/** `path`: an existing file or folder. Returns a function that ends it. */
export function tellOfOpenFiles(
  platform: Platform,
  log: Pick<Logger, 'warn'>,
  path: string,
  hasFree: typeof hasFreeDescriptors = hasFreeDescriptors,
): () => void {
  let withRoom = LOOKS_WITH_ROOM
  const look = (): void => {
    timer = platform.setTimer(look, LOOK_EVERY_MS)
    if (hasFree(path, 1)) {
      withRoom += 1
      return
    }
    if (withRoom >= LOOKS_WITH_ROOM)
      log.warn('EMFILE: as many files are open as the limit allows; no connection is accepted until others close')
    withRoom = 0
  }
  let timer = platform.setTimer(look, LOOK_EVERY_MS)
  return () => platform.clearTimer(timer)
}
