/**
 * How often a server makes the disk flush: its calls, written down by strace while it works. A write to a
 * descriptor opened with O_DSYNC is a flush like the others (LMDB ends its commits with one).
 *
 * strace stops a thread at the calls it records and at no other (`--seccomp-bpf`), so that a lone client sees
 * nearly the usual server; under many clients commits become longer and fewer.
 */
import { execFileSync } from 'node:child_process'

const FLUSHES = ['fsync', 'fdatasync', 'msync'] as const
const WRITES = ['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2'] as const

/** What stands before a server's command so that its flushes are written to `file`. */
export function recorded(file: string): readonly string[] {
  const calls = [...FLUSHES, 'pwrite64', 'pwritev', 'pwritev2'].join(',')
  return ['strace', '-f', '--seccomp-bpf', '-qq', '-s', '0', '-e', 'signal=none', '-e', `trace=${calls}`, '-o', file]
}

export function canRecord(): boolean {
  try {
    return execFileSync('strace', ['-h'], { encoding: 'utf8' }).includes('--seccomp-bpf')
  } catch {
    return false
  }
}

const LINE = /^(\d+) +(?:(\w+)\((\d+)?|<\.\.\. (\w+) resumed>)/

/**
 * Flushes in lines of such a file. A call that was interrupted in the writing stands on two lines and counts once,
 * by its first.
 * @param descriptors those on which a write is a flush, by thread.
 */
export function countFlushes(lines: string, descriptors: ReadonlyMap<number, ReadonlySet<number>>): number {
  let count = 0
  for (const line of lines.split('\n')) {
    const [, thread, call, descriptor] = LINE.exec(line) ?? []
    if (call === undefined) continue
    if (FLUSHES.some((name) => name === call)) {
      if (!line.includes('MS_ASYNC')) count++
    } else if (WRITES.some((name) => name === call)) {
      if (descriptors.get(Number(thread))?.has(Number(descriptor))) count++
    }
  }
  return count
}
