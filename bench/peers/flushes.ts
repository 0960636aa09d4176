/**
 * How often a server makes the disk flush: its system calls, recorded by strace while it works. A write to a
 * descriptor opened with O_DSYNC counts as a flush (LMDB ends its commits with one).
 *
 * strace stops a thread only at the calls it records (`--seccomp-bpf`), so a lone client sees nearly the usual server;
 * under many clients commits become longer and fewer.
 */
import { execFileSync } from 'node:child_process'

const FLUSHES = ['fsync', 'fdatasync', 'msync'] as const
const WRITES = ['write', 'writev', 'pwrite64', 'pwritev', 'pwritev2'] as const

/** Put before a server's command, to record its flushes in `file`. */
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
 * Counts flushes in lines of such a file. A call whose output was interrupted takes two lines and counts once, by the
 * first.
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
