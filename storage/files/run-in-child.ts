/**
 * Runs work in a process of its own, because it cannot be interrupted within this one or would block it. The child can
 * be killed at any moment, and does not outlive its parent.
 */
import { type StdioOptions, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Characters of output kept. */
const WORDS_MAX = 16_000

/** Signals to a whole process group, as from systemd or a terminal, are for the parent, which ends the child. */
const FOR_ANOTHER = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const

/**
 * Resolves to the child's standard output, and settles only when the child has ended. Rejects when aborted, or with
 * `failed` and the child's standard error.
 */
export function runInChild(script: URL, args: readonly string[], failed: string, signal: AbortSignal): Promise<string> {
  // This process's own options are not for the child: a debugger would stop it.
  const { NODE_OPTIONS: _, ...env } = process.env
  return new Promise((resolve, reject) => {
    // The child's standard input closes when this process ends, however it ends; then the child ends too.
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe']
    const child = spawn(process.execPath, [fileURLToPath(script), ...args], {
      env,
      stdio,
      signal,
      killSignal: 'SIGKILL',
    })
    const words = { out: '', err: '' }
    let failure: Error | undefined
    child.on('error', (error) => {
      failure ??= error
      // It was never started, so there is no `close`.
      if (child.pid === undefined) reject(error)
    })
    child.on('close', (code, by) => {
      const end = words.err.trim() || `its process ended with ${by ?? code}`
      if (code === 0) resolve(words.out)
      else reject(failure ?? new Error(`${failed}: ${end}`))
    })
    // If no file descriptors are left, the child has none of the three streams.
    child.stdin?.on('error', () => {})
    const hear = (of: keyof typeof words) => (text: string) => {
      words[of] = (words[of] + text).slice(0, WORDS_MAX)
    }
    child.stdout?.setEncoding('utf8').on('data', hear('out'))
    child.stderr?.setEncoding('utf8').on('data', hear('err'))
  })
}

/** The child's side: does the work, and reports its result or failure. */
export async function childMain(work: (args: readonly string[]) => Promise<string>): Promise<never> {
  for (const signal of FOR_ANOTHER) process.on(signal, () => {})
  // An exit would wait for LMDB's copy, or break under it.
  const end = () => process.kill(process.pid, 'SIGKILL')
  process.stdin.on('end', end).on('error', end).resume()
  const [said, code] = await work(process.argv.slice(2)).then(
    (text) => [text, 0] as const,
    (error: Error) => [error.message, 1] as const,
  )
  const stream = code === 0 ? process.stdout : process.stderr
  await new Promise((resolve) => stream.write(said, resolve))
  process.exit(code)
}
