#!/usr/bin/env -S node --max-semi-space-size=64
/** The package's one binary. All it does is to give the process's streams and signals to the program. */
import { isatty } from 'node:tty'
import { EXIT } from './exit.ts'
import { run } from './program.ts'
import type { World } from './world.ts'

const LEFTOVERS_MS = 1_000
/** For how long signals behind one are the same wish: a hand that means a second one has seen what became of the first. */
const WISH_MS = 1_000

/** Node.js puts terminals back as they were on its way out, and aborts where one is gone (`node::ResetStdio`). */
const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))
let isHungUp = false
/** What the process ends with when its reader has seen enough. */
let readerGone: number = EXIT.ok
/** What a command does that goes on without its reader; undefined: the process ends with it. */
let onReaderGone: (() => void) | undefined

/** Resolves when somebody has asked a command to stop that takes such signals itself. */
let isAskedToStop = (): void => {}
const stop = new Promise<void>((resolve) => {
  isAskedToStop = resolve
})

/**
 * What is to hear each signal; the callback gets how many wishes to stop there were. One wish is often several signals: Ctrl-C in a
 * terminal goes to the whole group of processes, and npm, which is one of them, sends it on to what it has started; so does many
 * another that starts and watches processes. Counted one by one they would end at once what was asked to end in order.
 */
function counted(callback: (count: number) => void): () => void {
  let count = 0
  let isSameWish = false
  const endWish = (): void => {
    isSameWish = false
  }
  return () => {
    if (isSameWish) return
    isSameWish = true
    // What came while the process stood still is heard before the wish is over.
    setTimeout(() => setImmediate(endWish), WISH_MS).unref()
    count += 1
    callback(count)
  }
}

const world: World = {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  onStopSignal(callback) {
    const onSignal = counted((count) => {
      isAskedToStop()
      callback(count)
    })
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM'] as const) process.on(signal, onSignal)
    // A terminal that closes may tell so more than once, and late: the kernel does, and the shell. That is nobody's second word.
    process.on('SIGHUP', () => {
      if (!isHungUp) onSignal()
      isHungUp = true
    })
  },
  owesOutcome() {
    readerGone = EXIT.readerGone
  },
  outlive(onStop, onUnheard) {
    process.on('SIGTERM', onStop)
    onReaderGone = onUnheard
  },
  exit: (code) => process.exit(code),
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (onReaderGone !== undefined) {
    onReaderGone()
    return
  }
  // `intendant events | head` closes the pipe when it has seen enough: that is no failure. What it came to counts, if that is known.
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? readerGone)
  process.stderr.write(`intendant: standard output cannot be written: ${error.message}\n`)
  process.exit(EXIT.failed)
})
// Who read the log, or the terminal that showed it, may be gone: what is under way is brought to its end without it.
process.stderr.on('error', () => onReaderGone?.())

/** Resolves when all that was written has been taken by who reads it, or never will be. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

process.exitCode = await run(process.argv.slice(2), world)
// A slow reader gets all of it; who has asked for the end waits for no reader.
await Promise.race([stop, Promise.all([drained(process.stdout), drained(process.stderr)])])
if (isHungUp && hasTerminal) {
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
}
// Whatever a failed start has left open must not keep a dead service alive: its supervisor waits for the end.
setTimeout(() => process.exit(), LEFTOVERS_MS).unref()
