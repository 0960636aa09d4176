/**
 * What the test files of one process came to, by what it printed (`in-turn.ts`). Invariant: a file passes only if it
 * says itself that its tests are over and none has failed, and the last one only if the process has ended well, too.
 */
import { relative } from 'node:path'

/** Tap's last line, once all tests of the process are over. */
const SUM = /^# \{ total: .*\}$/gm
/** How `in-turn.ts` ends a file: its path, its counts as JSON, its seconds. */
const FILE_END = /^# file (\S+): (\{.*\}), ([\d.]+) s$/gm
/** How tap tells of a test that is skipped as a whole. */
const SKIPPED = /^ok \d+ - .* # SKIP/m
export const COUNTS = ['total', 'pass', 'fail', 'skip', 'todo'] as const
export type Counts = Record<(typeof COUNTS)[number], number>

export interface Result {
  readonly file: string
  readonly output: string
  readonly counts: Counts
  readonly hasPassed: boolean
  readonly seconds: string
}

/**
 * The results of the files, in their order. A file that ended in the middle of its checks has failed, whatever it had
 * counted until then, and so have those after it. If all passed, but the process did not end well (`hasEndedWell`: its
 * exit code was 0, and it left nothing behind), the last has failed.
 */
export function resultsIn(output: string, files: readonly string[], hasEndedWell: boolean): Result[] {
  const ends = [...output.matchAll(FILE_END)]
  let from = 0
  const results = files.map((name, i) => {
    const file = relative(process.cwd(), name)
    const end = ends.find(([, path]) => path === file)
    const isLast = i === files.length - 1
    const told = JSON.parse(end?.[2] ?? '{}')
    const counts = Object.fromEntries(COUNTS.map((count) => [count, told[count] ?? 0])) as Counts
    const own = output.slice(from, isLast ? undefined : end?.index)
    from = end === undefined ? output.length : end.index + end[0].length
    // A test that is skipped does not begin, and is counted when tap reads the next one.
    const hasTests = told.tests > 0 || (end !== undefined && SKIPPED.test(own))
    return { file, output: own, counts, hasPassed: hasTests && counts.fail === 0, seconds: end?.[3] ?? '?' }
  })
  // What tap had not counted yet when the last file was over.
  const sum = [...output.matchAll(SUM)].at(-1)?.[0]
  const { counts } = results.at(-1)!
  if (sum !== undefined)
    for (const name of COUNTS) {
      const all = Number(new RegExp(` ${name}: (\\d+)`).exec(sum)?.[1] ?? 0)
      counts[name] += all - results.reduce((counted, result) => counted + result.counts[name], 0)
    }
  const isWhole = hasEndedWell && sum !== undefined
  const hasFault = results.some((result) => !result.hasPassed)
  return results.map((result, i) => {
    const { counts } = result
    const hasEnded = isWhole || hasFault || i < files.length - 1
    const hasPassed = result.hasPassed && counts.fail === 0 && hasEnded
    if (!hasPassed && counts.fail === 0) counts.fail = 1
    return { ...result, hasPassed }
  })
}
