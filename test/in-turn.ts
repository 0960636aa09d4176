/**
 * Runs test files one after the other in this process, each as `node FILE` would. `run.ts` starts it with files that
 * may share a process: half the time of a short file is Node.js, tap and our modules being loaded, and most of the rest
 * is code that runs before it is optimized. After each file it prints a comment, `# file PATH: COUNTS, SECONDS s`,
 * where COUNTS is JSON: the tests that ended, and what tap has counted meanwhile (it counts a test without checks only
 * when it reads the next one). Invariant: the next file is loaded when all tests of the one before are over.
 *
 *   node dist/test/in-turn.js FILE ...
 */
import asyncHooks from 'node:async_hooks'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { relative, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

// Tap names folders and snapshots after the command line when it is loaded: `node FILE`.
const files = process.argv.splice(2)
process.argv[1] = resolve(files[0]!)
const { default: tap } = await withoutHooks(() => import('tap'))
// It is for all tests of a process. Loaded by the first file that needs it, it would be for those after that one.
await import('./folders-last.ts')
let open = 0
let ended = 0
tap.on('subtestAdd', () => open++)
tap.on('subtestEnd', () => {
  open--
  ended++
})

for (const file of files) {
  const path = relative(process.cwd(), file)
  tap.testdirName = resolve('.tap/fixtures', path.replaceAll('/', '-'))
  const [before, endedBefore, from] = [{ ...tap.counts }, ended, performance.now()]
  const loading = import(pathToFileURL(file).href)
  // Else tap ends, in some cases, because it has nothing to do.
  tap.waitOn(loading)
  await loading
  while (open > 0) await once(tap, 'subtestEnd')
  // Tap counts most checks in the turn after that of the last test's end.
  await setImmediate()
  const counts = Object.entries(tap.counts).map(([name, count]) => [name, count - before[name as keyof typeof before]])
  const told = JSON.stringify({ tests: ended - endedBefore, ...Object.fromEntries(counts) })
  tap.comment(`file ${path}: ${told}, ${((performance.now() - from) / 1_000).toFixed(1)} s`)
}

/**
 * Tap follows every promise, timer and socket by a hook, to know to which test an error belongs that nobody caught; that
 * takes up to a tenth of the CPU. Loaded without hooks it does not: such an error ends the process, which fails the file.
 */
async function withoutHooks<T>(load: () => Promise<T>): Promise<T> {
  const { createHook } = asyncHooks
  asyncHooks.createHook = () => createHook({})
  syncBuiltinESMExports()
  const loaded = await load()
  asyncHooks.createHook = createHook
  syncBuiltinESMExports()
  return loaded
}
